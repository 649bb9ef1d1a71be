package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// Tensor is a row-major array in memory that a device can reach: a view of a storage. Copying a Tensor
// copies the view, not the data. The zero Tensor is "no tensor": bound to a kernel it becomes a small dummy
// buffer.
type Tensor struct {
	Type  DType
	Shape []int

	st  *storage
	off int64 // bytes from the start of the storage
	err error // what went wrong when the view was made; the next use reports it
}

// storageKind tells where the bytes of a storage live and who owns them.
type storageKind uint8

const (
	persistent storageKind = iota // a region of a device-local block
	hostMapped                    // a region of a mapped host block
	planned                       // a region of a recorder's plan
)

// storage is the memory behind one or more tensors.
type storage struct {
	dev   *Device
	kind  storageKind
	name  string // for messages; "" until somebody names it
	typ   DType
	shape []int // as allocated, for messages
	bytes int64 // rounded up to allocAlign

	block *block // persistent and host: the block; planned: nil until Finish
	at    int64  // byte offset in the block or planned block
	dead  bool   // released

	rec      *Recorder // planned: the owner
	slot     int       // planned: index of the planned block
	refs     int       // planned
	born     int       // planned: event numbers of Alloc and of the last Free (-1 = never)
	died     int
	lastWork string // planned: kernel that touched it last, for messages
}

// Valid reports whether t is a tensor at all: false for the zero Tensor and on an errored recorder.
func (t Tensor) Valid() bool { return t.st != nil }

// Len returns the number of elements.
func (t Tensor) Len() int {
	if t.Shape == nil && t.st == nil {
		return 0
	}
	return product(t.Shape)
}

// Bytes returns the bytes of the elements, without padding.
func (t Tensor) Bytes() int64 { return int64(t.Len()) * int64(t.Type.Size()) }

// Rows returns the product of all dimensions but the last: 1 for a vector.
func (t Tensor) Rows() int {
	if len(t.Shape) == 0 {
		return 1
	}
	return product(t.Shape[:len(t.Shape)-1])
}

// Cols returns the last dimension: 1 for a scalar.
func (t Tensor) Cols() int {
	if len(t.Shape) == 0 {
		return 1
	}
	return t.Shape[len(t.Shape)-1]
}

// Dim returns dimension i; negative i counts from the end. A dimension that does not exist is 0.
func (t Tensor) Dim(i int) int {
	if i < 0 {
		i += len(t.Shape)
	}
	if i < 0 || i >= len(t.Shape) {
		return 0
	}
	return t.Shape[i]
}

// Reshape returns a view of the same elements with other dimensions; one of them may be -1 and is then
// computed. A wrong element count is reported by the next operation that uses the view.
func (t Tensor) Reshape(dims ...int) Tensor {
	n, hole := 1, -1
	shape := append([]int(nil), dims...)
	for i, d := range dims {
		switch {
		case d == -1 && hole < 0:
			hole = i
		case d < 0:
			return t.fail("Reshape(%v) of %v: dimensions must not be negative, and -1 may stand once", dims, t)
		default:
			n *= d
		}
	}
	if hole >= 0 {
		if n == 0 || t.Len()%n != 0 {
			return t.fail("Reshape(%v) of %v: %d elements cannot be split by %d", dims, t, t.Len(), n)
		}
		shape[hole] = t.Len() / n
		n = t.Len()
	}
	if n != t.Len() {
		return t.fail("Reshape(%v) of %v: %d elements wanted, the tensor has %d", dims, t, n, t.Len())
	}
	t.Shape = shape
	return t
}

// Slice returns rows from to to-1 of dimension 0 as a view. Kernels can bind it only when it begins at a
// multiple of the device's MinOffsetAlign bytes. A wrong range is reported by the next operation that uses
// the view.
func (t Tensor) Slice(from, to int) Tensor {
	if len(t.Shape) == 0 || from < 0 || to < from || to > t.Shape[0] {
		return t.fail("Slice(%d, %d) of %v: outside dimension 0", from, to, t)
	}
	shape := append([]int(nil), t.Shape...)
	shape[0] = to - from
	t.off += int64(from) * int64(product(t.Shape[1:])) * int64(t.Type.Size())
	t.Shape = shape
	return t
}

// As returns a view of the same bytes with another element type; the last dimension changes with the
// element size.
func (t Tensor) As(typ DType) Tensor {
	if len(t.Shape) == 0 || typ.Size() == 0 || t.Cols()*t.Type.Size()%typ.Size() != 0 {
		return t.fail("As(%v) of %v: rows do not divide into such elements", typ, t)
	}
	shape := append([]int(nil), t.Shape...)
	shape[len(shape)-1] = t.Cols() * t.Type.Size() / typ.Size()
	t.Shape, t.Type = shape, typ
	return t
}

// Named gives the memory behind t a name for error messages and returns t.
func (t Tensor) Named(name string) Tensor {
	if t.st != nil {
		t.st.name = name
	}
	return t
}

// String gives type, shape and name: "F32[2 3] model.norm.weight".
func (t Tensor) String() string {
	if t.st == nil && t.Shape == nil {
		return "no tensor"
	}
	s := t.Type.String() + shapeString(t.Shape)
	if t.st != nil && t.st.name != "" {
		s += " " + t.st.name
	}
	return s
}

func (t Tensor) fail(format string, args ...any) Tensor {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
	return t
}

// span returns the byte range of the view in its storage, the end rounded up so that kernels may touch
// whole 16-byte words past an odd end.
func (t Tensor) span() (from, to int64) {
	to = t.off + (t.Bytes()+15)&^15
	return t.off, min(to, t.st.bytes)
}

func (s *storage) String() string {
	text := s.typ.String() + shapeString(s.shape)
	switch {
	case s.name != "":
		text += " " + s.name
	case s.lastWork != "":
		text += " (last used by " + s.lastWork + ")"
	}
	return text
}

func shapeString(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// allocAlign is the alignment and granularity of every allocation: the largest
// minStorageBufferOffsetAlignment that Vulkan allows, so that whole tensors can always be bound.
const allocAlign = 256

// shapeBytes returns the rounded bytes of a new tensor, or an error for a bad type, shape or an absurd
// size.
func shapeBytes(t DType, dims []int) (int64, error) {
	size := int64(t.Size())
	if size == 0 {
		return 0, fmt.Errorf("unknown element type %v", t)
	}
	const limit = int64(1) << 46
	for _, d := range dims {
		if d < 0 {
			return 0, fmt.Errorf("%v%s: dimensions must not be negative", t, shapeString(dims))
		}
		if d > 0 && size > limit/int64(d) {
			return 0, fmt.Errorf("%v%s: larger than 64 TiB", t, shapeString(dims))
		}
		size *= int64(d)
	}
	return max(allocAlign, (size+allocAlign-1)&^(allocAlign-1)), nil
}
