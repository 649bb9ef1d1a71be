package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Widen converts raw little-endian elements of a floating-point type to float32. F64 is rounded to the
// nearest float32 (ties to even); all other types are exact.
//
// Errors: a type that is not floating-point, a raw length that does not match dst.
func Widen(t DType, raw []byte, dst []float32) error {
	if !t.Float() {
		return fmt.Errorf("element type %s has no float32 reading", t)
	}
	if want := len(dst) * t.Bits() / 8; len(raw) != want {
		return fmt.Errorf("%d bytes for %d elements of %s, want %d", len(raw), len(dst), t, want)
	}
	switch t {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	case F16:
		for i := range dst {
			dst[i] = FromF16(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case F64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:])))
		}
	default:
		table := eightBit(t)
		for i := range dst {
			dst[i] = table[raw[i]]
		}
	}
	return nil
}

// Narrow converts float32 values to raw little-endian elements of F32, F64, F16 or BF16, rounding to nearest,
// ties to even, as a checkpoint of that type is written.
func Narrow(t DType, src []float32, dst []byte) error {
	if want := len(src) * t.Bits() / 8; len(dst) != want {
		return fmt.Errorf("%d bytes for %d elements of %s, want %d", len(dst), len(src), t, want)
	}
	switch t {
	case F32:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case BF16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], ToBF16(v))
		}
	case F16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], ToF16(v))
		}
	case F64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(v)))
		}
	default:
		return fmt.Errorf("float32 values are not written as %s (F32, F64, F16 and BF16 are)", t)
	}
	return nil
}

// ToBF16 rounds to the nearest bfloat16, ties to even. A NaN stays a NaN.
func ToBF16(v float32) uint16 {
	b := math.Float32bits(v)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// FromF16 widens an IEEE half.
func FromF16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	v := float32(frac) * (1.0 / (1 << 24))
	return math.Float32frombits(math.Float32bits(v) | sign)
}

// ToF16 rounds to the nearest IEEE half, ties to even; beyond its range to infinity. A NaN stays a NaN.
func ToF16(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	a := b & 0x7fffffff
	switch {
	case a > 0x7f800000:
		return sign | 0x7e00 | uint16(a>>13&0x1ff)
	case a >= 0x477ff000: // 65520, the first value that rounds to infinity
		return sign | 0x7c00
	case a >= 0x38800000: // 2^-14, the smallest normal half
		return sign | uint16((a-(112<<23)+0xfff+a>>13&1)>>13)
	case a < 0x33000000: // under 2^-25: nearest is zero (2^-25 itself ties to even, zero)
		return sign
	}
	frac, shift := a&0x7fffff|0x800000, 126-a>>23
	half, rest := frac>>shift, frac&(1<<shift-1)
	if rest > 1<<(shift-1) || rest == 1<<(shift-1) && half&1 == 1 {
		half++
	}
	return sign | uint16(half)
}

// eightBit returns the float32 value of each byte of an 8-bit floating-point type.
//
// E4M3 (FN) has one NaN per sign and no infinity; E5M2 is IEEE-like; the FNUZ forms have a bias one larger,
// one zero, and 0x80 as their only NaN. Source: arXiv:2209.05433, arXiv:2206.02915.
func eightBit(t DType) *[256]float32 {
	mant, bias, ieee, uz := 3, 7, false, false
	switch t {
	case F8E5M2:
		mant, bias, ieee = 2, 15, true
	case F8E4M3UZ:
		bias, uz = 8, true
	case F8E5M2UZ:
		mant, bias, uz = 2, 16, true
	}
	var table [256]float32
	for i := range table {
		table[i] = smallFloat(i, mant, bias, ieee, uz)
	}
	return &table
}

func smallFloat(b, mant, bias int, ieee, uz bool) float32 {
	exp, frac := (b&0x7f)>>mant, b&(1<<mant-1)
	top := 1<<(7-mant) - 1
	var v float64
	switch {
	case uz && b == 0x80, ieee && exp == top && frac != 0, !ieee && !uz && b&0x7f == 0x7f:
		return float32(math.NaN())
	case ieee && exp == top:
		v = math.Inf(1)
	case exp == 0:
		v = math.Ldexp(float64(frac), 1-bias-mant)
	default:
		v = math.Ldexp(float64(frac|1<<mant), exp-bias-mant)
	}
	if b >= 0x80 {
		v = math.Copysign(v, -1)
	}
	return float32(v)
}
