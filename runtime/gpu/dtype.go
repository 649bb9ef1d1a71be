package gpu

import "strconv"

// DType is the element type of a tensor. The values are part of the kernel interface: specialization
// constant 100+b of a kernel holds the DType of binding b.
type DType uint8

// The element types. BF16 and F16 are storage formats; kernels compute in float32.
const (
	F32 DType = iota
	BF16
	F16
	I32
	U32
	U8
)

var dtypes = [...]struct {
	name string
	size int
}{{"F32", 4}, {"BF16", 2}, {"F16", 2}, {"I32", 4}, {"U32", 4}, {"U8", 1}}

// Size returns the bytes of one element, 0 for an unknown type.
func (t DType) Size() int {
	if int(t) >= len(dtypes) {
		return 0
	}
	return dtypes[t].size
}

// String returns the type's name: F32, BF16, F16, I32, U32 or U8.
func (t DType) String() string {
	if int(t) >= len(dtypes) {
		return "DType(" + strconv.Itoa(int(t)) + ")"
	}
	return dtypes[t].name
}
