package verify

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/gpu"
)

func TestBounds(t *testing.T) {
	e := boundsOf(referenceErrors{Logits: 1e-6, Left: 2e-6, Loss: 1e-9, Grads: 1e-8, GradScale: 1, AdamW2: 1e-8,
		Train8: 1e-6}, gpu.F32)
	tests := []struct {
		name      string
		got, want float64
	}{
		{"ulp 1", ulp(1), 0x1p-23}, {"ulp just under 2", ulp(-1.999), 0x1p-23}, {"ulp 2", ulp(2), 0x1p-22},
		{"ulp 0", ulp(0), math.SmallestNonzeroFloat32}, {"ulp huge", ulp(1e300), math.Inf(1)},
		{"logits by the reference", e.logits(1), 4e-6}, {"logits by spacing", e.logits(100),
			4 * 0x1p-17},
		{"left", e.left(1), 8e-6}, {"loss", e.loss(4), 4 * 0x1p-21}, {"grads", e.grads(),
			0x1p-20},
		{"parameters", e.params(1), 2e-7}, {"large parameters", e.params(5), 0x1p-21}, {"losses",
			e.losses(), 1e-4},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s is %g, want %g", tt.name, tt.got, tt.want)
		}
	}
}

// TestRoundedBounds: with 16-bit storage the unit roundoff rules, and decoded tokens are not judged.
func TestRoundedBounds(t *testing.T) {
	for _, tt := range []struct {
		storage gpu.DType
		u       float64
	}{{gpu.BF16, 0x1p-8}, {gpu.F16, 0x1p-11}} {
		b := boundsOf(referenceErrors{GradScale: 0.25}, tt.storage)
		got := []float64{b.logits(2), b.left(2), b.loss(3), b.grads(), b.losses(), b.params(1)}
		want := []float64{32 * tt.u, 32 * tt.u, 48 * tt.u, 16 * tt.u, 16 * tt.u, min(32*tt.u, 4e-3)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.storage, diff)
		}
	}
	at := func(v []float64) { v[3] += 0.01; v[1] -= 2.4 }
	res := verifyToy(t, makeFixture(t), &toy{broken: map[string]func([]float64){"gen": at}}, Options{Storage: gpu.BF16})
	if c := res.Checks["generate"]; !c.Pass || c.Note != "tokens are not judged with 16-bit storage" {
		t.Errorf("%+v", c)
	}
}
