package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// parallelFrom is the number of values from which the work is shared between processors; below it the
// goroutines would cost more than they save.
const parallelFrom = 1 << 18

// Dequantize turns whole blocks of type t into float32. src must hold exactly the blocks of len(dst) values.
//
// The result has the bits of ggml's reference: every product and sum is rounded to float32 on its own, on all
// processors.
func Dequantize(t Type, src []byte, dst []float32) error {
	l, ok := layoutOf(t)
	if !ok {
		return unknownType(t)
	}
	if l.decode == nil {
		return fmt.Errorf("values of type %s cannot be read; convert the model to another type, for example "+
			"Q8_0 or F16", l.name)
	}
	if len(dst)%l.elements != 0 {
		return fmt.Errorf("%d values are no multiple of the %d values of a %s block", len(dst), l.elements,
			l.name)
	}
	if want := len(dst) / l.elements * l.bytes; len(src) != want {
		return fmt.Errorf("%d values of type %s take %d bytes, got %d", len(dst), l.name, want, len(src))
	}
	if len(dst) < parallelFrom {
		l.decode(src, dst)
		return nil
	}
	blocks := len(dst) / l.elements
	share := (blocks + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for first := 0; first < blocks; first += share {
		last := min(first+share, blocks)
		all.Go(func() {
			l.decode(src[first*l.bytes:last*l.bytes], dst[first*l.elements:last*l.elements])
		})
	}
	all.Wait()
	return nil
}

func decodeF32(src []byte, dst []float32) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(src []byte, dst []float32) {
	for i := range dst {
		dst[i] = half(src[2*i:])
	}
}

func decodeBF16(src []byte, dst []float32) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}

func decodeF64(src []byte, dst []float32) {
	for i := range dst {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

func decodeI8(src []byte, dst []float32) {
	for i := range dst {
		dst[i] = float32(int8(src[i]))
	}
}

func decodeI16(src []byte, dst []float32) {
	for i := range dst {
		dst[i] = float32(int16(binary.LittleEndian.Uint16(src[2*i:])))
	}
}

// half reads an IEEE 754 binary16 number. Every value, NaN payloads included, is exact in float32.
func half(b []byte) float32 {
	h := uint32(binary.LittleEndian.Uint16(b))
	sign, exp, frac := h>>15<<31, h>>10&31, h&0x3ff
	switch exp {
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case 0: // zero and subnormals: frac * 2^-24, exact
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
