package gguf

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

const (
	magic            = 0x46554747 // "GGUF", little endian
	defaultAlignment = 32
	maxDims          = 4 // GGML_MAX_DIMS
	minPairBytes     = 8 + 1 + 4 + 1
	minTensorBytes   = 8 + 1 + 4 + 4 + 8
)

// TensorInfo is one entry of the tensor index.
type TensorInfo struct {
	Name   string
	Type   Type
	Dims   []int  // row-major: slowest first, the last one contiguous; empty for a scalar
	Offset uint64 // from the start of the file that holds it
	Bytes  uint64
	file   int    // index into File.images
	entry  uint64 // where the index names it, for errors
}

// Elements returns the number of values: the product of Dims.
func (t TensorInfo) Elements() int {
	n := 1
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// image is one parsed file.
type image struct {
	path    string
	data    []byte
	version uint32
	align   uint64
	keys    []string
	meta    map[string]Value
	tensors []TensorInfo
}

// parse checks and indexes a whole file image; path is used in errors only.
func parse(path string, data []byte) (*image, error) {
	c := &cursor{path: path, data: data}
	im := &image{path: path, data: data, align: defaultAlignment, meta: map[string]Value{}}
	im.version = c.header()
	tensors := c.count(minTensorBytes, "tensor count")
	pairs := c.count(minPairBytes, "key-value count")
	for i := 0; i < pairs && c.err == nil; i++ {
		im.pair(c)
	}
	im.alignment(c)
	for i := 0; i < tensors && c.err == nil; i++ {
		im.tensors = append(im.tensors, c.tensor())
	}
	im.unique(c)
	im.place(c)
	if c.err != nil {
		return nil, c.err
	}
	return im, nil
}

// header reads magic and version and returns the version.
func (c *cursor) header() uint32 {
	m := c.u32("magic")
	if c.err == nil && m != magic {
		c.fail(0, "magic is %q, want \"GGUF\"; this is no GGUF file", c.data[:4])
	}
	v := c.u32("version")
	if c.err != nil || v == 2 || v == 3 {
		return v
	}
	switch s := bits.ReverseBytes32(v); {
	case v == 1:
		c.fail(4, "GGUF version 1 is not read; convert the model again (versions 2 and 3 are)")
	case s >= 1 && s < 1<<16:
		c.fail(4, "big-endian GGUF (version %d) is not read; convert the file to little endian", s)
	default:
		c.fail(4, "GGUF version %d is not read, want 2 or 3", v)
	}
	return v
}

// pair reads one key and its value.
func (im *image) pair(c *cursor) {
	at := c.pos
	key := c.name("key")
	t := ValueType(c.u32(fmt.Sprintf("value type of key %q", key)))
	if c.err != nil {
		return
	}
	if _, ok := im.meta[key]; ok {
		c.fail(at, "key %q occurs twice", key)
		return
	}
	im.keys = append(im.keys, key)
	im.meta[key] = c.value(key, t, 0)
}

// alignment takes general.alignment, which must be a power of two.
func (im *image) alignment(c *cursor) {
	const key = "general.alignment"
	v, ok := im.meta[key]
	if c.err != nil || !ok {
		return
	}
	a, ok := v.any.(uint32)
	if !ok {
		c.err = v.mismatch("uint32")
		return
	}
	if a == 0 || a&(a-1) != 0 {
		c.err = fmt.Errorf("%s: key %q is %d, want a power of two", im.path, key, a)
		return
	}
	im.align = uint64(a)
}

// tensor reads one index entry; Offset is still relative to the start of the data.
func (c *cursor) tensor() TensorInfo {
	t := TensorInfo{entry: c.pos}
	t.Name = c.name("tensor name")
	at := c.pos
	n := c.u32(fmt.Sprintf("dimension count of tensor %q", t.Name))
	if c.err == nil && n > maxDims {
		c.fail(at, "tensor %q has %d dimensions, want at most %d", t.Name, n, maxDims)
	}
	elements := uint64(1)
	for i := uint32(0); i < n && c.err == nil; i++ {
		at := c.pos
		d := c.u64(fmt.Sprintf("dimension %d of tensor %q", i, t.Name))
		hi, lo := bits.Mul64(elements, d)
		if hi != 0 || lo > math.MaxInt || d > math.MaxInt {
			c.fail(at, "tensor %q has more than %d values (dimension %d is %d)", t.Name, math.MaxInt, i, d)
			break
		}
		elements = lo
		t.Dims = append(t.Dims, int(d))
	}
	slices.Reverse(t.Dims)
	at = c.pos
	t.Type = Type(c.u32(fmt.Sprintf("type of tensor %q", t.Name)))
	t.Offset = c.u64(fmt.Sprintf("offset of tensor %q", t.Name))
	if c.err == nil {
		c.size(&t, elements, at)
	}
	return t
}

// size sets t.Bytes from its type and number of values; at is where the type stands.
func (c *cursor) size(t *TensorInfo, elements, at uint64) {
	l, ok := layoutOf(t.Type)
	if !ok {
		c.fail(at, "tensor %q: %v", t.Name, unknownType(t.Type))
		return
	}
	row := 1
	if len(t.Dims) > 0 {
		row = t.Dims[len(t.Dims)-1]
	}
	if row%l.elements != 0 {
		c.fail(t.entry, "tensor %q of type %s has rows of %d values, want a multiple of %d",
			t.Name, l.name, row, l.elements)
		return
	}
	hi, lo := bits.Mul64(elements/uint64(l.elements), uint64(l.bytes))
	if hi != 0 || lo > math.MaxInt {
		c.fail(t.entry, "tensor %q of type %s and shape %v is larger than %d bytes",
			t.Name, l.name, t.Dims, math.MaxInt)
		return
	}
	t.Bytes = lo
}

// unique refuses two tensors of one name.
func (im *image) unique(c *cursor) {
	seen := make(map[string]uint64, len(im.tensors))
	for _, t := range im.tensors {
		if first, ok := seen[t.Name]; ok && c.err == nil {
			c.fail(t.entry, "tensor %q occurs twice, first at byte %d", t.Name, first)
		}
		seen[t.Name] = t.entry
	}
}

// place turns relative offsets into file offsets and checks that each tensor lies, aligned, inside the
// file and beside the others.
func (im *image) place(c *cursor) {
	if c.err != nil || len(im.tensors) == 0 {
		return
	}
	start := (c.pos + im.align - 1) &^ (im.align - 1)
	size := uint64(len(im.data))
	if start > size {
		c.fail(c.pos, "tensor data starts at byte %d, and the file ends at %d", start, size)
		return
	}
	for i := range im.tensors {
		t := &im.tensors[i]
		if t.Offset%im.align != 0 {
			c.fail(t.entry, "tensor %q has offset %d, want a multiple of the alignment %d",
				t.Name, t.Offset, im.align)
			return
		}
		if t.Offset > size-start || t.Bytes > size-start-t.Offset {
			c.fail(t.entry, "tensor %q (offset %d, %d bytes) ends outside the file, whose data part has "+
				"%d bytes; the file is cut short or damaged", t.Name, t.Offset, t.Bytes, size-start)
			return
		}
		t.Offset += start
	}
	im.overlap(c)
}

// overlap refuses tensors that share bytes. Tensors without values take no place.
func (im *image) overlap(c *cursor) {
	order := make([]TensorInfo, 0, len(im.tensors))
	for _, t := range im.tensors {
		if t.Bytes > 0 {
			order = append(order, t)
		}
	}
	slices.SortFunc(order, func(a, b TensorInfo) int {
		if a.Offset < b.Offset {
			return -1
		}
		if a.Offset > b.Offset {
			return 1
		}
		return 0
	})
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		if a.Offset+a.Bytes > b.Offset {
			c.fail(b.entry, "tensors %q (bytes %d to %d) and %q (bytes %d to %d) overlap",
				a.Name, a.Offset, a.Offset+a.Bytes, b.Name, b.Offset, b.Offset+b.Bytes)
			return
		}
	}
}
