package verify

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vulcast/vulcast/runtime/safetensors"
)

// TestProjectedBounds: errors of at most b an element, of any pattern, stay within the bounds of the six
// numbers.
func TestProjectedBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		b := 1e-3
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = rapid.Float64Range(-1, 1).Draw(t, "x")
			y[i] = x[i] + rapid.SampledFrom([]float64{-b, 0, b}).Draw(t, "e")
		}
		p, q, s := project(1, "t", x), project(1, "t", y), scales(n)
		for k := range p {
			if d := math.Abs(p[k] - q[k]); d > b*s[k]*(1+1e-9) {
				t.Fatalf("number %d is off by %g, bound %g", k, d, b*s[k])
			}
		}
	})
}

func TestProject(t *testing.T) {
	x := []float64{3, -4}
	got := project(1, "t", x)
	if got[0] != 4 || got[1] != 5 {
		t.Errorf("maximum %g, norm %g", got[0], got[1])
	}
	for _, p := range got[2:] {
		if a := math.Abs(p); a != 1 && a != 7 {
			t.Errorf("projection %g of 3, -4", p)
		}
	}
	if project(1, "t", x) == project(1, "u", x) && project(2, "t", x) == project(1, "t", x) {
		t.Error("neither name nor seed matter")
	}
}

// TestShrink: a small fixture passes as the whole one does, and finds what is wrong.
func TestShrink(t *testing.T) {
	dir := makeFixture(t)
	small := filepath.Join(t.TempDir(), "toy", "tiny")
	if err := Shrink(dir, small); err != nil {
		t.Fatal(err)
	}
	res := verifyToy(t, small, &toy{}, Options{})
	if !res.Pass || !res.Projected || res.Checks["grads"].Note != "projected" {
		t.Errorf("%s %+v", res, res.Checks["grads"])
	}
	bad := func(v []float64) { v[1] += 1e-4 }
	res = verifyToy(t, small, &toy{broken: map[string]func([]float64){"grads": bad, "updated": bad}},
		Options{})
	if g, a := res.Checks["grads"], res.Checks["adamw2"]; g.Pass || a.Pass || !strings.HasPrefix(g.Worst,
		"w ") {
		t.Errorf("%+v %+v", g, a)
	}
	again := filepath.Join(t.TempDir(), "again")
	if err := Shrink(small, again); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"grads", "expect", "model", "adamw2"} {
		a, _ := os.ReadFile(filepath.Join(small, name+".safetensors"))
		b, _ := os.ReadFile(filepath.Join(again, name+".safetensors"))
		if string(a) != string(b) || len(a) == 0 {
			t.Errorf("%s changed when shrunk twice", name)
		}
	}
	if f, err := Load(small); err != nil || f.has("logits") || !f.has("logits64") {
		t.Error("the reference's own logits should be left out, and only they")
	}
}

func TestProjectedErrors(t *testing.T) {
	dir := makeFixture(t)
	D := safetensors.F64
	six := tensor("w", D, []int{6}, 0, 0, 0, 0, 0, 0)
	for _, tt := range []struct {
		name string
		meta map[string]string
		list []safetensors.Tensor
		want string
	}{
		{"count", map[string]string{"projections": "5", "seed": "1"}, []safetensors.Tensor{six},
			`PATH: "5" projections a tensor, want 4`},
		{"seed", map[string]string{"projections": "4"}, []safetensors.Tensor{six},
			`PATH: the seed of the projections is "", want a number`},
		{"size", map[string]string{"projections": "4", "seed": "1"}, []safetensors.Tensor{tensor("w", D,
			[]int{2}, 0, 0)},
			`PATH: tensor w has 2 numbers, want 6`},
	} {
		if _, err := safetensors.Write(dir, tt.list, safetensors.Options{Base: "grads",
			Metadata: tt.meta}); err != nil {
			t.Fatal(err)
		}
		res := verifyToy(t, dir, &toy{}, Options{Checks: []string{"grads"}})
		got := strings.ReplaceAll(res.Checks["grads"].Error, filepath.Join(dir, "grads.safetensors"), "PATH")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
