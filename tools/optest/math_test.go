package optest

import (
	"math"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// samples spans the floats of both signs evenly in their logarithm, with the special values and finer steps
// in +-20.
func samples() []float32 {
	x := []float32{
		0,
		float32(math.Copysign(0, -1)),
		float32(math.Inf(1)),
		float32(math.Inf(-1)),
		math.MaxFloat32,
		-math.MaxFloat32,
		1e-45,
		-1e-45,
		1e-40,
		1,
		-1,
		0.5,
		88.7,
		88.8,
		-87.4,
		-103.9,
		-104.1,
	}
	for u := uint32(1 << 20); u < 0x7f800000; u += 99991 {
		v := math.Float32frombits(u)
		x = append(x, v, -v)
	}
	for v := float32(-20); v < 20; v += 0.00191 {
		x = append(x, v)
	}
	return x
}

func elementary(t *testing.T, name string, x []float32, exponent float32) []float32 {
	t.Helper()
	d := device(t)
	in, err := d.Alloc(gpu.F32, len(x))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release(in)
	if err := d.Write(in, x); err != nil {
		t.Fatal(err)
	}
	r := recorder(d, gpu.F32)
	out := r.Elementary(name, in, exponent)
	run(t, r)
	y := make([]float32, len(x))
	if err := d.Read(out, y); err != nil {
		t.Fatal(err)
	}
	return y
}

// ulps is |got - want| in units of want's float32 spacing; results that may be flushed to zero and overflows
// count as 0.
func ulps(got float32, want float64) float64 {
	const tiny = 1.1754944e-38
	w := float32(want)
	switch {
	case math.IsNaN(want):
		if got != got {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(float64(w), 0):
		if got == w || math.Abs(float64(got)) > 3.4e38 && (got > 0) == (w > 0) {
			return 0
		}
		return math.Inf(1)
	case math.Abs(want) < tiny:
		if math.Abs(float64(got)) <= 1.01*tiny {
			return 0
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, e-24)
}

func TestElementary(t *testing.T) {
	cdf := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	for _, c := range []struct {
		name     string
		f        func(float64) float64
		from, to float64
		most     float64 // ulp
	}{
		{"exp", math.Exp, math.Inf(-1), math.Inf(1), 1.5},
		{"exp_neg", math.Exp, -86.9, 0, 1.5},
		{"expm1", math.Expm1, math.Inf(-1), math.Inf(1), 2},
		{"log", math.Log, -1, math.Inf(1), 1.5},
		{"log1p", math.Log1p, -2, math.Inf(1), 2},
		{"sigmoid", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -87, math.Inf(1), 3},
		{"softplus", func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, -87, math.Inf(1), 2.5},
		{"tanh", math.Tanh, math.Inf(-1), math.Inf(1), 2},
		{"erf", math.Erf, math.Inf(-1), math.Inf(1), 2},
		{"erfc", math.Erfc, math.Inf(-1), 9, 5},
		{"normal_cdf", cdf, math.Inf(-1), math.Inf(1), 5},
		{"sin", math.Sin, -30, 30, 2},
		{"cos", math.Cos, -30, 30, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x []float32
			for _, v := range samples() {
				if float64(v) >= c.from && float64(v) <= c.to && !(v != 0 && math.Abs(float64(v)) < 1e-36) {
					x = append(x, v)
				}
			}
			worst, at := 0.0, float32(0)
			for i, y := range elementary(t, c.name, x, 0) {
				if e := ulps(y, c.f(float64(x[i]))); e > worst {
					worst, at = e, x[i]
				}
			}
			t.Logf("%d points, worst %.2f ulp at %g", len(x), worst, at)
			if worst > c.most {
				t.Errorf("worst %g ulp at %g, want at most %g", worst, at, c.most)
			}
		})
	}
}

func TestPow(t *testing.T) {
	for _, e := range []float32{0, 1, 2, 3, -1, 0.5, 0.1, 3.1, -17.25, 80} {
		var x []float32
		for _, v := range samples() {
			if v >= 1.2e-38 || v == 0 && !math.Signbit(float64(v)) {
				x = append(x, v)
			}
		}
		worst, at := 0.0, float32(0)
		for i, y := range elementary(t, "pow", x, e) {
			if u := ulps(y, math.Pow(float64(x[i]), float64(e))); u > worst {
				worst, at = u, x[i]
			}
		}
		t.Logf("exponent %g: worst %.2f ulp at %g", e, worst, at)
		if worst > 2.5 {
			t.Errorf("exponent %g: %g ulp at %g", e, worst, at)
		}
	}
}

// TestActivations bounds the error by half the float32 spacing at f, or at the terms that a small f is the
// sum of.
func TestActivations(t *testing.T) {
	var x []float32
	for v := float32(-30); v < 30; v += 0.00137 {
		x = append(x, v)
	}
	x = append(x, 1e-30, -1e-30, 1000, -1000, 1e30, -1e30)
	for _, name := range nn.ActivationNames() {
		f, grad, err := refrun.Activation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			kind string
			f    func(float64) float64
			term float64
		}{{"act:", f, 1e-3}, {"act_grad:", grad, 0.25}} {
			worst, at := 0.0, float32(0)
			for i, y := range elementary(t, c.kind+name, x, 0) {
				want := c.f(float64(x[i]))
				if math.IsInf(float64(float32(want)), 0) || math.IsNaN(want) {
					continue
				}
				unit := max(math.Abs(want), c.term*min(1, math.Abs(float64(x[i])))) * 0x1p-24
				if e := math.Abs(float64(y)-want) / max(unit, 1e-38); !(e <= worst) {
					worst, at = e, x[i]
				}
			}
			t.Logf("%s%s: worst %.1f half ulps at %g", c.kind, name, worst, at)
			if !(worst < 40) {
				t.Errorf("%s%s: worst %.3g half ulps at %g", c.kind, name, worst, at)
			}
		}
	}
}
