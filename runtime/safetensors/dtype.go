package safetensors

import "fmt"

// DType is an element type as the format spells it.
type DType string

// The element types of the format.
const (
	Bool     DType = "BOOL"
	F4       DType = "F4"
	F6E2M3   DType = "F6_E2M3"
	F6E3M2   DType = "F6_E3M2"
	U8       DType = "U8"
	I8       DType = "I8"
	F8E5M2   DType = "F8_E5M2"
	F8E4M3   DType = "F8_E4M3"
	F8E8M0   DType = "F8_E8M0"
	F8E4M3UZ DType = "F8_E4M3FNUZ"
	F8E5M2UZ DType = "F8_E5M2FNUZ"
	I16      DType = "I16"
	U16      DType = "U16"
	F16      DType = "F16"
	BF16     DType = "BF16"
	I32      DType = "I32"
	U32      DType = "U32"
	F32      DType = "F32"
	C64      DType = "C64"
	F64      DType = "F64"
	I64      DType = "I64"
	U64      DType = "U64"
)

// layout says how many bits an element takes, and the place of its type in a file: writers put types of a
// higher rank first, so that every tensor starts at a multiple of its element size.
type layout struct {
	bits int
	rank int
}

// layoutOf returns the layout of a known type.
func layoutOf(t DType) (layout, bool) {
	switch t {
	case F4:
		return layout{4, 1}, true
	case F6E2M3:
		return layout{6, 2}, true
	case F6E3M2:
		return layout{6, 3}, true
	case Bool:
		return layout{8, 0}, true
	case U8:
		return layout{8, 4}, true
	case I8:
		return layout{8, 5}, true
	case F8E5M2:
		return layout{8, 6}, true
	case F8E4M3:
		return layout{8, 7}, true
	case F8E8M0:
		return layout{8, 8}, true
	case F8E4M3UZ:
		return layout{8, 9}, true
	case F8E5M2UZ:
		return layout{8, 10}, true
	case I16:
		return layout{16, 11}, true
	case U16:
		return layout{16, 12}, true
	case F16:
		return layout{16, 13}, true
	case BF16:
		return layout{16, 14}, true
	case I32:
		return layout{32, 15}, true
	case U32:
		return layout{32, 16}, true
	case F32:
		return layout{32, 17}, true
	case C64:
		return layout{64, 18}, true
	case F64:
		return layout{64, 19}, true
	case I64:
		return layout{64, 20}, true
	case U64:
		return layout{64, 21}, true
	}
	return layout{}, false
}

// Known reports whether t is an element type of the format.
func (t DType) Known() bool { _, ok := layoutOf(t); return ok }

// Float reports whether Widen can read t as float32: floating-point types of 8 bits and more that are not
// scales.
func (t DType) Float() bool {
	switch t {
	case F64, F32, F16, BF16, F8E4M3, F8E5M2, F8E4M3UZ, F8E5M2UZ:
		return true
	}
	return false
}

// Bits returns the bits of one element; 0 when t is not a type of the format.
func (t DType) Bits() int { l, _ := layoutOf(t); return l.bits }

// Bytes returns the size of n elements.
//
// Errors: an unknown type, a negative or too large count, elements that do not fill whole bytes.
func (t DType) Bytes(n int64) (int64, error) {
	l, ok := layoutOf(t)
	if !ok {
		return 0, fmt.Errorf("element type %q is not one of the format", string(t))
	}
	const most = int64(1)<<62 - 1
	if n < 0 || n > most/int64(l.bits) {
		return 0, fmt.Errorf("%d elements of %s are more than a file can hold", n, t)
	}
	bits := n * int64(l.bits)
	if bits%8 != 0 {
		return 0, fmt.Errorf("%d elements of %s do not fill whole bytes", n, t)
	}
	return bits / 8, nil
}
