package model

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// storageType is how a parameter is kept on the device. Only matrices with rows of a multiple of four
// elements are stored in 16 bits: kernels read words of two or four, and vectors are too small to matter.
func storageType(p *nn.Param, weights gpu.DType) gpu.DType {
	if p.Index {
		return gpu.I32
	}
	if p.Wide || weights == gpu.F32 || len(p.Shape) < 2 || p.Shape[len(p.Shape)-1]%4 != 0 {
		return gpu.F32
	}
	return weights
}

// diskType is the safetensors type of a floating-point storage type.
func diskType(t gpu.DType) safetensors.DType {
	switch t {
	case gpu.BF16:
		return safetensors.BF16
	case gpu.F16:
		return safetensors.F16
	case gpu.I32:
		return safetensors.I32
	}
	return safetensors.F32
}

func isInt(t safetensors.DType) bool {
	switch t {
	case safetensors.I64, safetensors.I32, safetensors.I16, safetensors.I8,
		safetensors.U64, safetensors.U32, safetensors.U16, safetensors.U8, safetensors.Bool:
		return true
	}
	return false
}

// toStorage converts elements of a checkpoint to a storage type. The result is raw itself when nothing
// changes.
//
// Errors: a value that the storage type cannot hold (integers beyond 32 bits, 16-bit floats that overflow).
func toStorage(raw []byte, from safetensors.DType, to gpu.DType) ([]byte, error) {
	target := diskType(to)
	if from == target {
		return raw, nil
	}
	if to == gpu.I32 {
		return toI32(raw, from)
	}
	n := len(raw) * 8 / from.Bits()
	out := make([]byte, n*to.Size())
	return out, inChunks(n, func(at, n int) error {
		v := make([]float32, n)
		if err := safetensors.Widen(from, raw[at*from.Bits()/8:(at+n)*from.Bits()/8], v); err != nil {
			return err
		}
		if to == gpu.F16 {
			if err := overflow(v); err != nil {
				return err
			}
		}
		return safetensors.Narrow(target, v, out[at*to.Size():(at+n)*to.Size()])
	})
}

// overflow wants finite values to stay finite in F16.
func overflow(values []float32) error {
	for _, v := range values {
		if a := math.Abs(float64(v)); a >= 65520 && !math.IsInf(a, 0) {
			return fmt.Errorf("value %g does not fit F16 (at most 65504): use BF16 or F32 storage", v)
		}
	}
	return nil
}

func toI32(raw []byte, from safetensors.DType) ([]byte, error) {
	size := from.Bits() / 8
	n := len(raw) / size
	out := make([]byte, 4*n)
	for i := range n {
		v, ok := integerAt(raw[i*size:], from)
		if !ok || v < math.MinInt32 || v > math.MaxInt32 {
			return nil, fmt.Errorf("element %d of an integer table does not fit 32 bits", i)
		}
		binary.LittleEndian.PutUint32(out[4*i:], uint32(int32(v)))
	}
	return out, nil
}

// integerAt reads one element; ok is false when it exceeds int64.
func integerAt(b []byte, t safetensors.DType) (v int64, ok bool) {
	switch t {
	case safetensors.I64:
		return int64(binary.LittleEndian.Uint64(b)), true
	case safetensors.U64:
		u := binary.LittleEndian.Uint64(b)
		return int64(u), u <= math.MaxInt64
	case safetensors.I32:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case safetensors.U32:
		return int64(binary.LittleEndian.Uint32(b)), true
	case safetensors.I16:
		return int64(int16(binary.LittleEndian.Uint16(b))), true
	case safetensors.U16:
		return int64(binary.LittleEndian.Uint16(b)), true
	case safetensors.I8:
		return int64(int8(b[0])), true
	}
	return int64(b[0]), true
}

// fromStorage converts a parameter's values back to the type of the checkpoint. orig are the elements that it
// was loaded from, nil for a new parameter: an element whose value is still what loading made of it keeps its
// bits, so a model that was not trained, or widened and narrowed, is saved exactly.
func fromStorage(values []byte, stored gpu.DType, orig []byte, to safetensors.DType) ([]byte, error) {
	if diskType(stored) == to {
		return values, nil
	}
	if orig == nil {
		return narrow(values, stored, to)
	}
	loaded, err := toStorage(orig, to, stored)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(loaded, values) {
		return orig, nil
	}
	out, err := narrow(values, stored, to)
	if err != nil {
		return nil, err
	}
	width, size := to.Bits()/8, stored.Size()
	for i := range len(out) / width {
		if bytes.Equal(loaded[i*size:(i+1)*size], values[i*size:(i+1)*size]) {
			copy(out[i*width:(i+1)*width], orig[i*width:(i+1)*width])
		}
	}
	return out, nil
}

// narrow converts stored values to a type of the checkpoint.
func narrow(values []byte, stored gpu.DType, to safetensors.DType) ([]byte, error) {
	if stored == gpu.I32 {
		return nil, fmt.Errorf("changed integers are not written as %s", to)
	}
	n := len(values) / stored.Size()
	out := make([]byte, n*to.Bits()/8)
	return out, inChunks(n, func(at, n int) error {
		v := make([]float32, n)
		if err := safetensors.Widen(diskType(stored), values[at*stored.Size():(at+n)*stored.Size()],
			v); err != nil {
			return err
		}
		return safetensors.Narrow(to, v, out[at*to.Bits()/8:(at+n)*to.Bits()/8])
	})
}
