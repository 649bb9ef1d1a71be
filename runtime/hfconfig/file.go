package hfconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// File is a configuration, or one object inside it. Getters never fail at once: what is missing or has the
// wrong type is noted, the zero value returned, and Err gives the list. Not for use by several goroutines at
// once.
type File struct {
	doc  *document
	root *node  // the object; nil when it is absent
	path string // of the object inside the document, "" or "text_config."

	over *File           // where the keys of from are looked up first
	from map[string]bool // nil for most

	fixed *node // an object whose keys win over those of root; nil for most
}

// document is what the Files of one text share.
type document struct {
	name string
	text []byte
	tree *node
	errs []error
	seen map[string]bool // errors already noted
	read map[string]bool // keys asked for and present
}

// Load reads config.json of a folder, or the named file.
func Load(path string) (*File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a configuration; name stands in its errors.
func Parse(name string, text []byte) (*File, error) {
	tree, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if tree.kind != objectKind {
		return nil, fmt.Errorf("%s: the document is %s, want an object", name, tree.describe())
	}
	d := &document{name: name, text: text, tree: tree, seen: map[string]bool{}, read: map[string]bool{}}
	return &File{doc: d, root: tree}, nil
}

// Name returns the name given to Parse, or the path.
func (f *File) Name() string { return f.doc.name }

// Err returns everything that the getters noted so far, each as `file: "key" is found, want wanted`.
func (f *File) Err() error { return errors.Join(f.doc.errs...) }

// Bytes returns the whole text, byte for byte as read but for what Set changed.
func (f *File) Bytes() []byte { return f.doc.text }

// Sub returns the object under a key, which may be nested ("a.b"); "" gives f itself. An object that is
// absent is noted once; its getters then return defaults and note nothing more.
func (f *File) Sub(key string) *File {
	if key == "" {
		return f
	}
	sub := &File{doc: f.doc, path: f.path + key + "."}
	n := f.find(key)
	switch {
	case f.root == nil:
	case n == nil:
		f.note(key, "missing", "an object")
	case n.kind != objectKind:
		f.note(key, n.describe(), "an object")
	default:
		sub.root = n
	}
	return sub
}

// SubOver is Sub, but the given keys are looked up in f itself first, and in the object only when f has none:
// for packages that decide a few things for the model inside them.
func (f *File) SubOver(key string, keys ...string) *File {
	sub := *f.Sub(key)
	sub.over, sub.from = f, map[string]bool{}
	for _, k := range keys {
		sub.from[k] = true
	}
	return &sub
}

// Fixed is f with the keys of another configuration in place of its own: for packages that hold some values
// fast, whatever their files say.
func (f *File) Fixed(values *File) *File {
	c := *f
	c.fixed = values.root
	return &c
}

// Has reports whether a key is there and not null.
func (f *File) Has(key string) bool { return f.find(key) != nil }

// Null reports whether none of the keys has a value but one is there as null: some models mean "none" by it
// where an absent key would mean their default.
func (f *File) Null(keys ...string) bool {
	if _, n := f.first(keys); n != nil || f.root == nil {
		return false
	}
	for _, k := range keys {
		n := f.root.get(k)
		if n == nil && strings.Contains(k, ".") {
			n = f.nested(strings.Split(k, "."))
		}
		if n != nil && n.kind == nullKind {
			return true
		}
	}
	return false
}

// Text reports whether the first of the keys that has a value holds a string: some keys hold a number or a word.
func (f *File) Text(keys ...string) bool {
	_, n := f.first(keys)
	return n != nil && n.kind == stringKind
}

// Keys returns the keys of the object, in order.
func (f *File) Keys() []string {
	if f.root == nil {
		return nil
	}
	keys := make([]string, len(f.root.members))
	for i, m := range f.root.members {
		keys[i] = m.key
	}
	return keys
}

// Fail notes an error about a key in the form of the getters: for values that only their user can judge.
func (f *File) Fail(key, found, wanted string) { f.note(key, found, wanted) }

// Unread returns the keys of this object that no getter of any File of the document has asked for, in order.
func (f *File) Unread() []string {
	var keys []string
	for _, k := range f.Keys() {
		if !f.doc.read[f.path+k] {
			keys = append(keys, k)
		}
	}
	return keys
}

// find returns the value under a key that may be nested; nil when absent or null. A key that contains a dot
// is tried as it stands first.
func (f *File) find(key string) *node {
	if f.fixed != nil {
		if n := f.fixed.get(key); n != nil {
			return n
		}
	}
	if f.from[key] {
		if n := f.over.find(key); n != nil {
			return n
		}
	}
	if f.root == nil {
		return nil
	}
	n := f.root.get(key)
	if n == nil && strings.Contains(key, ".") {
		n = f.nested(strings.Split(key, "."))
	}
	if n != nil {
		f.doc.read[f.path+key] = true
	}
	if n == nil || n.kind == nullKind {
		return nil
	}
	return n
}

// nested follows a path of keys; * is the first member of an object, of those that are alike.
func (f *File) nested(path []string) *node {
	n := f.root
	for i, key := range path {
		if key == "*" && n != nil && len(n.members) > 0 {
			key = n.members[0].key
		}
		if n = n.get(key); n != nil && i == 0 {
			f.doc.read[f.path+key] = true
		}
	}
	return n
}

// first returns the first key that is present.
func (f *File) first(keys []string) (string, *node) {
	for _, k := range keys {
		if n := f.find(k); n != nil {
			return k, n
		}
	}
	return "", nil
}

// note adds an error once.
func (f *File) note(key, found, wanted string) {
	f.noteKeys([]string{key}, found, wanted)
}

// noteKeys adds an error about the spellings of one key.
func (f *File) noteKeys(keys []string, found, wanted string) {
	quoted := make([]string, len(keys))
	for i, k := range keys {
		quoted[i] = fmt.Sprintf("%q", f.path+k)
	}
	err := fmt.Errorf("%s: %s is %s, want %s", f.doc.name, strings.Join(quoted, " or "), found, wanted)
	if !f.doc.seen[err.Error()] {
		f.doc.seen[err.Error()] = true
		f.doc.errs = append(f.doc.errs, err)
	}
}

// describe is a value for an error message: short ones as written.
func (n *node) describe() string {
	switch n.kind {
	case nullKind:
		return "null"
	case boolKind, numberKind:
		return n.text
	case stringKind:
		if len(n.text) > 40 {
			return fmt.Sprintf("%q...", n.text[:40])
		}
		return fmt.Sprintf("%q", n.text)
	case listKind:
		return fmt.Sprintf("a list of %d", len(n.list))
	}
	return "an object"
}
