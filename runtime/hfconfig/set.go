package hfconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Set replaces the value of a key of this object, or adds the key at its end, and changes no other byte of
// the text. value is anything that encoding/json writes. Files of the same document see the change.
//
// Errors: this object is absent, or value has no JSON form.
func (f *File) Set(key string, value any) error {
	if f.root == nil {
		return fmt.Errorf("%s: %q is missing, so %q cannot be set in it", f.doc.name,
			strings.TrimSuffix(f.path, "."), key)
	}
	indent := f.indent()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if indent != "" {
		enc.SetIndent(indent, "  ")
	}
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("%s: %q: %w", f.doc.name, f.path+key, err)
	}
	text := strings.TrimRight(b.String(), "\n")
	if n := f.root.get(key); n != nil {
		return f.splice(n.from, n.to, text)
	}
	quoted, err := json.Marshal(key)
	if err != nil {
		return err
	}
	text = string(quoted) + ": " + text
	if indent != "" {
		text = "\n" + indent + text
	}
	if k := len(f.root.members); k > 0 {
		end := f.root.members[k-1].value.to
		if indent == "" {
			text = " " + text
		}
		return f.splice(end, end, ","+text)
	}
	return f.splice(f.root.from+1, f.root.from+1, text)
}

// indent returns the white space before the object's first key, "" when it is on the line of the brace.
func (f *File) indent() string {
	t := f.doc.text
	for i := f.root.from + 1; i < f.root.to; i++ {
		switch t[i] {
		case '\n':
			j := i + 1
			for j < f.root.to && (t[j] == ' ' || t[j] == '\t') {
				j++
			}
			return string(t[i+1 : j])
		case ' ', '\t', '\r':
		default:
			return ""
		}
	}
	return ""
}

// splice replaces text[from:to] and reads the document anew, keeping this File's place in it.
func (f *File) splice(from, to int, with string) error {
	text := append(append(append([]byte(nil), f.doc.text[:from]...), with...), f.doc.text[to:]...)
	tree, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.doc.name, err)
	}
	move(f.doc.tree, tree)
	f.doc.text = text
	return nil
}

// move makes the nodes of old, which Files point to, into those of fresh where both have the same keys.
func move(old, fresh *node) {
	for i, m := range fresh.members {
		if o := old.get(m.key); o != nil && o.kind == objectKind && m.value.kind == objectKind {
			move(o, m.value)
			fresh.members[i].value = o
		}
	}
	*old = *fresh
}
