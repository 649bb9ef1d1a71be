package gguf

import "fmt"

// Type is the storage type of a tensor, with ggml's numbering.
type Type uint32

// The tensor types that a file may name. Numbers that are missing were removed from the format.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	Q8_K    Type = 15
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	I8      Type = 24
	I16     Type = 25
	I32     Type = 26
	I64     Type = 27
	F64     Type = 28
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
	Q1_0    Type = 41
)

// layout is how one block of a type lies in the file and how it becomes float32.
type layout struct {
	name     string
	elements int                             // values per block
	bytes    int                             // bytes per block
	decode   func(src []byte, dst []float32) // whole blocks; nil: the bytes can be read, the values not
}

// layoutOf returns the layout of t, or false for a number that no file may use.
//
// Source: ggml-common.h, block_* structs.
func layoutOf(t Type) (layout, bool) {
	switch t {
	case F32:
		return layout{"F32", 1, 4, decodeF32}, true
	case F16:
		return layout{"F16", 1, 2, decodeF16}, true
	case BF16:
		return layout{"BF16", 1, 2, decodeBF16}, true
	case F64:
		return layout{"F64", 1, 8, decodeF64}, true
	case I8:
		return layout{"I8", 1, 1, decodeI8}, true
	case I16:
		return layout{"I16", 1, 2, decodeI16}, true
	case I32:
		return layout{"I32", 1, 4, nil}, true
	case I64:
		return layout{"I64", 1, 8, nil}, true
	case Q4_0:
		return layout{"Q4_0", 32, 18, decodeQ4_0}, true
	case Q4_1:
		return layout{"Q4_1", 32, 20, decodeQ4_1}, true
	case Q5_0:
		return layout{"Q5_0", 32, 22, decodeQ5_0}, true
	case Q5_1:
		return layout{"Q5_1", 32, 24, decodeQ5_1}, true
	case Q8_0:
		return layout{"Q8_0", 32, 34, decodeQ8_0}, true
	case MXFP4:
		return layout{"MXFP4", 32, 17, decodeMXFP4}, true
	case IQ4_NL:
		return layout{"IQ4_NL", 32, 18, decodeIQ4NL}, true
	case NVFP4:
		return layout{"NVFP4", 64, 36, decodeNVFP4}, true
	case Q1_0:
		return layout{"Q1_0", 128, 18, nil}, true
	}
	return superLayoutOf(t)
}

// superLayoutOf is layoutOf for the types with blocks of 256 values.
func superLayoutOf(t Type) (layout, bool) {
	switch t {
	case Q2_K:
		return layout{"Q2_K", 256, 84, decodeQ2K}, true
	case Q3_K:
		return layout{"Q3_K", 256, 110, decodeQ3K}, true
	case Q4_K:
		return layout{"Q4_K", 256, 144, decodeQ4K}, true
	case Q5_K:
		return layout{"Q5_K", 256, 176, decodeQ5K}, true
	case Q6_K:
		return layout{"Q6_K", 256, 210, decodeQ6K}, true
	case Q8_K:
		return layout{"Q8_K", 256, 292, decodeQ8K}, true
	case IQ4_XS:
		return layout{"IQ4_XS", 256, 136, decodeIQ4XS}, true
	case TQ1_0:
		return layout{"TQ1_0", 256, 54, decodeTQ1}, true
	case TQ2_0:
		return layout{"TQ2_0", 256, 66, decodeTQ2}, true
	case IQ2_XXS:
		return layout{"IQ2_XXS", 256, 66, decodeIQ2XXS}, true
	case IQ2_XS:
		return layout{"IQ2_XS", 256, 74, decodeIQ2XS}, true
	case IQ2_S:
		return layout{"IQ2_S", 256, 82, decodeIQ2S}, true
	case IQ3_XXS:
		return layout{"IQ3_XXS", 256, 98, decodeIQ3XXS}, true
	case IQ3_S:
		return layout{"IQ3_S", 256, 110, decodeIQ3S}, true
	case IQ1_S:
		return layout{"IQ1_S", 256, 50, decodeIQ1S}, true
	case IQ1_M:
		return layout{"IQ1_M", 256, 56, decodeIQ1M}, true
	}
	return layout{}, false
}

// String returns ggml's name of the type, or "type 77" for an unknown number.
func (t Type) String() string {
	if l, ok := layoutOf(t); ok {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Block returns how many values share a block and how many bytes the block takes; zeros for an unknown type.
func (t Type) Block() (elements, bytes int) {
	l, _ := layoutOf(t)
	return l.elements, l.bytes
}

// Readable reports whether Dequantize and File.Float32 can turn the type into float32: all but I32 and I64,
// whose values need not fit, and Q1_0.
func (t Type) Readable() bool {
	l, ok := layoutOf(t)
	return ok && l.decode != nil
}

// unknownType says why a file may not use t.
func unknownType(t Type) error {
	switch t {
	case 4, 5, 31, 32, 33, 36, 37, 38:
		return fmt.Errorf("tensor type %d was removed from the format; "+
			"convert the model again with a current converter", uint32(t))
	case 9:
		return fmt.Errorf("tensor type 9 (Q8_1) is an intermediate of matrix products and has no stored form")
	}
	return fmt.Errorf("unknown tensor type %d", uint32(t))
}
