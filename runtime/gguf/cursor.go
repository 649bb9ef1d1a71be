package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// maxKeyBytes is the format's limit on the length of a key; tensor names are held to it too.
const maxKeyBytes = 1<<16 - 1

// maxDepth bounds arrays of arrays, so that a file cannot exhaust the stack.
const maxDepth = 8

// cursor reads a file image from front to back. The first error sticks: later reads return zeros, so that a
// caller checks once per record. Positions in errors are byte offsets in the file.
type cursor struct {
	path string
	data []byte
	pos  uint64
	err  error
}

func (c *cursor) fail(at uint64, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: at byte %d: %s", c.path, at, fmt.Sprintf(format, args...))
	}
}

func (c *cursor) left() uint64 { return uint64(len(c.data)) - c.pos }

// take returns the next n bytes of the image itself, or nil after an error.
func (c *cursor) take(n uint64, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > c.left() {
		c.fail(c.pos, "%s wants %d bytes and the file has %d left; it is cut short or damaged", what, n,
			c.left())
		return nil
	}
	b := c.data[c.pos : c.pos+n]
	c.pos += n
	return b
}

func (c *cursor) u32(what string) uint32 {
	if b := c.take(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64(what string) uint64 {
	if b := c.take(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// text returns a copy of a length-prefixed string: the image goes away with Close.
func (c *cursor) text(what string) string {
	n := c.u64("length of " + what)
	return string(c.take(n, what))
}

// plainText is text without words for an error: vocabularies have hundreds of thousands of strings. It reads
// nothing where it returns false.
func (c *cursor) plainText() (s string, ok bool) {
	rest := c.data[c.pos:]
	if len(rest) < 8 {
		return "", false
	}
	n := binary.LittleEndian.Uint64(rest)
	if n > uint64(len(rest)-8) {
		return "", false
	}
	c.pos += 8 + n
	return string(rest[8 : 8+n]), true
}

// name returns a string that must be a name: 1 to maxKeyBytes bytes of UTF-8.
func (c *cursor) name(what string) string {
	at := c.pos
	s := c.text(what)
	switch {
	case c.err != nil:
	case s == "":
		c.fail(at, "%s is empty", what)
	case len(s) > maxKeyBytes:
		c.fail(at, "%s has %d bytes, want at most %d", what, len(s), maxKeyBytes)
	case !utf8.ValidString(s):
		c.fail(at, "%s %q is not UTF-8", what, s)
	}
	return s
}

// count returns a uint64 number of records of at least size bytes each, checked against what is left, so that
// no allocation is larger than a small multiple of the file.
func (c *cursor) count(size uint64, what string) int {
	at := c.pos
	n := c.u64(what)
	if c.err == nil && n > c.left()/size {
		c.fail(at, "%s is %d, and the %d bytes left hold at most %d", what, n, c.left(), c.left()/size)
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// value reads one value of type t for key.
func (c *cursor) value(key string, t ValueType, depth int) (v Value) {
	v = Value{Key: key, Type: t, path: c.path}
	at := c.pos
	if t == Array {
		c.array(&v, depth)
		return v
	}
	if t == String {
		v.any = c.text(fmt.Sprintf("value of key %q", key))
		return v
	}
	size := t.valueSize()
	if size == 0 {
		c.fail(at-4, "key %q has unknown value type %d, want 0 to 12", key, uint32(t))
		return v
	}
	if b := c.take(size, fmt.Sprintf("value of key %q", key)); b != nil {
		v.any = c.scalar(key, t, b, at)
	}
	return v
}

func (c *cursor) scalar(key string, t ValueType, b []byte, at uint64) any {
	le := binary.LittleEndian
	switch t {
	case Uint8:
		return b[0]
	case Int8:
		return int8(b[0])
	case Uint16:
		return le.Uint16(b)
	case Int16:
		return int16(le.Uint16(b))
	case Uint32:
		return le.Uint32(b)
	case Int32:
		return int32(le.Uint32(b))
	case Float32:
		return math.Float32frombits(le.Uint32(b))
	case Uint64:
		return le.Uint64(b)
	case Int64:
		return int64(le.Uint64(b))
	case Float64:
		return math.Float64frombits(le.Uint64(b))
	}
	if b[0] > 1 {
		c.fail(at, "key %q is a bool of value %d, want 0 or 1", key, b[0])
	}
	return b[0] == 1
}

// array reads element type, count and elements into v.
func (c *cursor) array(v *Value, depth int) {
	at := c.pos
	v.Elem = ValueType(c.u32(fmt.Sprintf("element type of key %q", v.Key)))
	if c.err != nil {
		return
	}
	size := v.Elem.valueSize()
	if size == 0 {
		c.fail(at, "key %q is an array of unknown value type %d, want 0 to 12", v.Key, uint32(v.Elem))
		return
	}
	if v.Elem == Array && depth >= maxDepth {
		c.fail(at, "key %q nests arrays deeper than %d", v.Key, maxDepth)
		return
	}
	n := c.count(size, fmt.Sprintf("length of array %q", v.Key))
	if c.err != nil {
		return
	}
	switch v.Elem {
	case Array:
		all := make([]Value, 0, min(n, 1024))
		for i := 0; i < n && c.err == nil; i++ {
			all = append(all, c.value(v.Key, Array, depth+1))
		}
		v.any = all
	case String:
		all := make([]string, 0, n)
		for i := 0; i < n && c.err == nil; i++ {
			s, ok := c.plainText()
			if !ok { // the same once more, for the error
				s = c.text(fmt.Sprintf("element %d of key %q", i, v.Key))
			}
			all = append(all, s)
		}
		v.any = all
	default:
		start := c.pos
		b := c.take(uint64(n)*size, fmt.Sprintf("array %q", v.Key))
		if c.err == nil {
			v.any = c.scalars(v, b, start)
		}
	}
}

// scalars converts the n elements in b; b has exactly n elements of v.Elem.
func (c *cursor) scalars(v *Value, b []byte, at uint64) any {
	le := binary.LittleEndian
	switch v.Elem {
	case Uint8:
		return each(b, 1, func(b []byte) uint8 { return b[0] })
	case Int8:
		return each(b, 1, func(b []byte) int8 { return int8(b[0]) })
	case Uint16:
		return each(b, 2, le.Uint16)
	case Int16:
		return each(b, 2, func(b []byte) int16 { return int16(le.Uint16(b)) })
	case Uint32:
		return each(b, 4, le.Uint32)
	case Int32:
		return each(b, 4, func(b []byte) int32 { return int32(le.Uint32(b)) })
	case Float32:
		return each(b, 4, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) })
	case Uint64:
		return each(b, 8, le.Uint64)
	case Int64:
		return each(b, 8, func(b []byte) int64 { return int64(le.Uint64(b)) })
	case Float64:
		return each(b, 8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) })
	}
	for i, x := range b {
		if x > 1 {
			c.fail(at+uint64(i), "element %d of key %q is a bool of value %d, want 0 or 1", i, v.Key, x)
			break
		}
	}
	return each(b, 1, func(b []byte) bool { return b[0] == 1 })
}

func each[T any](b []byte, size int, read func([]byte) T) []T {
	out := make([]T, len(b)/size)
	for i := range out {
		out[i] = read(b[i*size:])
	}
	return out
}
