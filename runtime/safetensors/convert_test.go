package safetensors

import (
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestHalvesRoundTrip widens and narrows every 16-bit pattern.
func TestHalvesRoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		v := FromF16(h)
		if back := ToF16(v); back != h && v == v {
			t.Fatalf("f16 %#04x -> %g -> %#04x", h, v, back)
		}
		w := math.Float32frombits(uint32(h) << 16)
		if back := ToBF16(w); back != h && w == w {
			t.Fatalf("bf16 %#04x -> %g -> %#04x", h, w, back)
		}
		if v != v && FromF16(ToF16(v)) == FromF16(ToF16(v)) || w != w && ToBF16(w)&0x7fff <= 0x7f80 {
			t.Fatalf("%#04x: a NaN became a number", h)
		}
	}
}

// TestHalvesNearest compares rounding with the nearest of the neighbours, ties to even.
func TestHalvesNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		if v != v {
			return
		}
		h := ToF16(v)
		got := float64(FromF16(h))
		for _, n := range []uint16{h - 1, h + 1} {
			o := FromF16(n)
			if o != o || n&0x8000 != h&0x8000 {
				continue
			}
			near := func(x float64) float64 { // infinity counts as the value after the largest
				if math.IsInf(x, 0) {
					x = math.Copysign(65536, x)
				}
				return math.Abs(float64(v) - x)
			}
			if math.IsInf(float64(v), 0) {
				continue
			}
			if d, e := near(got), near(float64(o)); e < d || e == d && h&1 == 1 && e != 0 {
				t.Fatalf("%g became %#04x = %g, but %g is nearer", v, h, got, o)
			}
		}
		b := ToBF16(v)
		if d := math.Abs(float64(math.Float32frombits(uint32(b)<<16)) - float64(v)); d > math.Abs(float64(v))/256 &&
			!math.IsInf(float64(math.Float32frombits(uint32(b)<<16)), 0) && math.Abs(float64(v)) > 1e-37 {
			t.Fatalf("%g became bf16 %#04x, off by %g", v, b, d)
		}
	})
}

func TestEightBit(t *testing.T) {
	nan := float32(math.NaN())
	tests := []struct {
		dtype DType
		in    byte
		want  float32
	}{
		{F8E4M3, 0x00, 0}, {F8E4M3, 0x38, 1}, {F8E4M3, 0x7e, 448}, {F8E4M3, 0xfe, -448}, {F8E4M3, 0x7f, nan},
		{F8E4M3, 0xff, nan}, {F8E4M3, 0x01, 1.0 / 512},
		{F8E5M2, 0x3c, 1}, {F8E5M2, 0x7b, 57344}, {F8E5M2, 0x7c, float32(math.Inf(1))}, {F8E5M2, 0x7d, nan},
		{F8E5M2, 0xfc, float32(math.Inf(-1))}, {F8E5M2, 0x01, 1.0 / 65536},
		{F8E4M3UZ, 0x40, 1}, {F8E4M3UZ, 0x7f, 240}, {F8E4M3UZ, 0x80, nan}, {F8E4M3UZ, 0xff, -240},
		{F8E5M2UZ, 0x40, 1}, {F8E5M2UZ, 0x7f, 57344}, {F8E5M2UZ, 0x80, nan},
	}
	for _, tt := range tests {
		var got [1]float32
		if err := Widen(tt.dtype, []byte{tt.in}, got[:]); err != nil {
			t.Fatal(err)
		}
		if got[0] != tt.want && (got[0] == got[0] || tt.want == tt.want) {
			t.Errorf("%s %#02x is %g, want %g", tt.dtype, tt.in, got[0], tt.want)
		}
	}
}

func TestWidenNarrow(t *testing.T) {
	src := []float32{0, 1, -1.5, 0.25, 1024, float32(math.Inf(-1))}
	for _, d := range []DType{F32, F64, F16, BF16} {
		raw := make([]byte, len(src)*d.Bits()/8)
		if err := Narrow(d, src, raw); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(src))
		if err := Widen(d, raw, got); err != nil {
			t.Fatal(err)
		}
		for i := range src {
			if got[i] != src[i] {
				t.Errorf("%s: %g came back as %g", d, src[i], got[i])
			}
		}
	}
	var one [1]float32
	f64 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(1+0x1p-24)) // a tie: to even, 1
	if err := Widen(F64, f64, one[:]); err != nil || one[0] != 1 {
		t.Errorf("1+2^-24 became %v, %v", one[0], err)
	}
}

func TestConvertErrors(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"int", Widen(I64, make([]byte, 8), make([]float32, 1)).Error(),
			"element type I64 has no float32 reading"},
		{"scale", Widen(F8E8M0, make([]byte, 1), make([]float32, 1)).Error(),
			"element type F8_E8M0 has no float32 reading"},
		{"size", Widen(F16, make([]byte, 3), make([]float32, 2)).Error(),
			"3 bytes for 2 elements of F16, want 4"},
		{"narrow size", Narrow(F16, make([]float32, 2), make([]byte, 3)).Error(),
			"3 bytes for 2 elements of F16, want 4"},
		{"narrow type", Narrow(F8E4M3, make([]float32, 1), make([]byte, 1)).Error(),
			"float32 values are not written as F8_E4M3 (F32, F64, F16 and BF16 are)"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: error %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
