package hfconfig

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	nullKind kind = iota
	boolKind
	numberKind
	stringKind
	listKind
	objectKind
)

// node is a value with its place in the text: text[from:to].
type node struct {
	kind     kind
	from, to int
	text     string   // of a string, unquoted; of a number, as written
	flag     bool     // of a bool
	list     []*node  // of a list
	members  []member // of an object, in order
}

type member struct {
	key   string
	value *node
}

// get returns the member of an object; nil when there is none.
func (n *node) get(key string) *node {
	if n == nil || n.kind != objectKind {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// maxDepth bounds nesting, so that a hostile file cannot exhaust the stack.
const maxDepth = 200

// parser is a reader of JSON that keeps positions.
type parser struct {
	text []byte
	at   int
}

// parse reads one document.
func parse(text []byte) (*node, error) {
	p := &parser{text: text}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("text is not UTF-8")
	}
	p.space()
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.bad("text after the document")
	}
	return n, nil
}

// bad returns an error with line and column.
func (p *parser) bad(format string, a ...any) error {
	line, col := 1, 1
	for _, b := range p.text[:min(p.at, len(p.text))] {
		col++
		if b == '\n' {
			line, col = line+1, 1
		}
	}
	return fmt.Errorf("line %d, column %d: %s", line, col, fmt.Sprintf(format, a...))
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.bad("nested deeper than %d", maxDepth)
	}
	n := &node{from: p.at}
	var err error
	switch c := p.peek(); {
	case c == '{':
		n.kind = objectKind
		err = p.object(n, depth)
	case c == '[':
		n.kind = listKind
		err = p.elements(n, depth)
	case c == '"':
		n.kind = stringKind
		n.text, err = p.quoted()
	default:
		err = p.word(n)
	}
	n.to = p.at
	return n, err
}

func (p *parser) object(n *node, depth int) error {
	p.at++
	seen := map[string]bool{}
	for first := true; ; first = false {
		p.space()
		if first && p.peek() == '}' {
			p.at++
			return nil
		}
		if p.peek() != '"' {
			return p.bad("want a quoted key or '}'")
		}
		key, err := p.quoted()
		if err != nil {
			return err
		}
		if seen[key] {
			return p.bad("key %q stands twice in one object", key)
		}
		seen[key] = true
		if p.space(); p.peek() != ':' {
			return p.bad("want ':' after key %q", key)
		}
		p.at++
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key, v})
		if done, err := p.separator('}'); done || err != nil {
			return err
		}
	}
}

func (p *parser) elements(n *node, depth int) error {
	p.at++
	if p.space(); p.peek() == ']' {
		p.at++
		return nil
	}
	for {
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.list = append(n.list, v)
		if done, err := p.separator(']'); done || err != nil {
			return err
		}
	}
}

// separator reads ',' or the closing byte.
func (p *parser) separator(end byte) (done bool, err error) {
	p.space()
	switch p.peek() {
	case end:
		p.at++
		return true, nil
	case ',':
		p.at++
		p.space()
		if p.peek() == end {
			return false, p.bad("',' before '%c'", end)
		}
		return false, nil
	}
	return false, p.bad("want ',' or '%c'", end)
}

func (p *parser) quoted() (string, error) {
	start := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			var s string
			if err := json.Unmarshal(p.text[start:p.at], &s); err != nil {
				p.at = start
				return "", p.bad("bad string: %v", err)
			}
			return s, nil
		}
	}
	p.at = start
	return "", p.bad("string without an end")
}

// word reads a number, true, false, null, NaN or an infinity.
func (p *parser) word(n *node) error {
	start := p.at
	for p.at < len(p.text) && wordByte(p.text[p.at]) {
		p.at++
	}
	n.text = string(p.text[start:p.at])
	switch n.text {
	case "null":
		n.kind = nullKind
	case "true", "false":
		n.kind, n.flag = boolKind, n.text == "true"
	case "NaN", "Infinity", "-Infinity":
		n.kind = numberKind
	default:
		n.kind = numberKind
		if !json.Valid(p.text[start:p.at]) {
			p.at = start
			if n.text == "" {
				return p.bad("want a value")
			}
			return p.bad("%q is no JSON value", n.text)
		}
	}
	return nil
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '-' || b == '+' ||
		b == '.' ||
		b == '_'
}

// float returns a number's value; ok is false when n is no number.
func (n *node) float() (v float64, ok bool) {
	text := ""
	switch {
	case n.kind == numberKind:
		text = n.text
	case n.kind == objectKind && len(n.members) == 1 && n.members[0].key == "__float__":
		text = n.members[0].value.text
	}
	switch text {
	case "":
		return 0, false
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// integer returns a whole number's value; 1e4 and 4096.0 count as whole.
func (n *node) integer() (int, bool) {
	if n.kind != numberKind {
		return 0, false
	}
	if i, err := strconv.ParseInt(n.text, 10, strconv.IntSize); err == nil {
		return int(i), true
	}
	v, ok := n.float()
	if !ok || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, false
	}
	return int(v), true
}

// any returns the value as encoding/json would, but numbers as int where whole and written without a
// fraction, else float64.
func (n *node) any() any {
	switch n.kind {
	case boolKind:
		return n.flag
	case stringKind:
		return n.text
	case numberKind:
		if i, err := strconv.ParseInt(n.text, 10, strconv.IntSize); err == nil {
			return int(i)
		}
		v, _ := n.float()
		return v
	case listKind:
		list := make([]any, len(n.list))
		for i, e := range n.list {
			list[i] = e.any()
		}
		return list
	case objectKind:
		if v, ok := n.float(); ok {
			return v
		}
		m := make(map[string]any, len(n.members))
		for _, e := range n.members {
			m[e.key] = e.value.any()
		}
		return m
	}
	return nil
}
