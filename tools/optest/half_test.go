package optest

import (
	"math"
	"testing"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// narrow rounds v to a 16-bit type, ties to even.
func narrow(typ gpu.DType, v float32) uint16 {
	if typ == gpu.BF16 {
		return bf16(v)
	}
	return f16(v)
}

// widen is the value of a 16-bit word.
func widen(typ gpu.DType, w uint16) float64 {
	if typ == gpu.BF16 {
		return float64(math.Float32frombits(uint32(w) << 16))
	}
	sign, e, m := 1.0, int(w>>10&31), float64(w&1023)
	if w&0x8000 != 0 {
		sign = -1
	}
	switch {
	case e == 31 && m == 0:
		return math.Inf(int(sign))
	case e == 31:
		return math.NaN()
	case e == 0:
		return sign * math.Ldexp(m, -24)
	}
	return sign * math.Ldexp(1024+m, e-25)
}

func f16(v float32) uint16 {
	sign := uint16(math.Float32bits(v) >> 16 & 0x8000)
	a := math.Abs(float64(v))
	switch {
	case math.IsNaN(a):
		return sign | 0x7e00
	case a >= 65520:
		return sign | 0x7c00
	case a < math.Ldexp(1, -14):
		return sign | uint16(math.RoundToEven(math.Ldexp(a, 24))) // 1024 is the smallest normal number
	}
	e := math.Ilogb(a)
	m := uint16(math.RoundToEven(math.Ldexp(a, 10-e))) // 1024..2048
	return sign | (uint16(e+14)<<10 + m)
}

func TestHalf(t *testing.T) {
	for w := range 1 << 16 {
		v := widen(gpu.F16, uint16(w))
		if math.IsNaN(v) {
			continue
		}
		if got := f16(float32(v)); got != uint16(w) {
			t.Fatalf("f16 word %#04x is %g, which narrows to %#04x", w, v, got)
		}
	}
	for _, c := range []struct {
		in   float32
		want uint16
	}{{1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02}, {65519, 0x7bff}, {65520, 0x7c00}, {-1.0 / (1 << 25), 0x8000}} {
		if got := f16(c.in); got != c.want {
			t.Errorf("f16(%g) = %#04x, want %#04x", c.in, got, c.want)
		}
	}
}
