package optest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// coopTypes are the 16-bit types that the device's matrix units take.
func coopTypes(d *gpu.Device) []gpu.DType {
	var all []gpu.DType
	for _, typ := range []gpu.DType{gpu.F16, gpu.BF16} {
		for _, s := range d.Info.CoopMat {
			if s.A == strings.ToLower(typ.String()) && s.C == "f32" && (typ == gpu.F16 || d.Info.BF16Coop) {
				all = append(all, typ)
				break
			}
		}
	}
	return all
}

// TestMatmulCoop has products with every edge: rows and columns past the last whole tile, parts of K that are no multiple of
// a step, splits of K, batches, and every tile that the device can run.
func TestMatmulCoop(t *testing.T) {
	d := device(t)
	types := coopTypes(d)
	if len(types) == 0 {
		t.Skip("the device has no cooperative matrices of 16-bit floats")
	}
	for _, typ := range types {
		for i, c := range []matmulCase{
			{m: 64, n: 64, k: 32},
			{m: 64, n: 64, k: 96},
			{m: 65, n: 72, k: 8},
			{m: 136, n: 136, k: 40, c: typ},
			{m: 200, n: 264, k: 72},
			{m: 100, n: 80, k: 2056, c: typ},
			{m: 72, n: 96, k: 1032, la: []int{3}, lb: []int{3}},
			{m: 72, n: 96, k: 64, la: []int{2, 2}, lb: []int{2, 1}, add: true},
			{m: 300, n: 520, k: 200},
		} {
			for layout := range 3 {
				c.ta, c.tb, c.a, c.b, c.seed = layout == 1, layout == 2, typ, typ, uint64(i)
				if c.ta {
					c.m = (c.m + 7) / 8 * 8
				}
				t.Run(fmt.Sprintf("%v %d layout %d", typ, i, layout), func(t *testing.T) { checkMatmul(t, d, "coop", c) })
			}
		}
	}
}

// TestAttentionCoop runs the kernels for matrix units over every kind of mask, logit and head width that they take.
func TestAttentionCoop(t *testing.T) {
	d := device(t)
	types := coopTypes(d)
	if len(types) == 0 {
		t.Skip("the device has no cooperative matrices of 16-bit floats")
	}
	cases := append([]attentionCase{
		{name: "width 128", B: 1, T: 70, S: 70, H: 2, K: 1, E: 128, V: 128, causal: true},
		{name: "width 80", B: 1, T: 100, S: 100, H: 2, K: 2, E: 80, V: 80, segs: true},
		{name: "long group", B: 2, T: 200, S: 200, H: 6, K: 2, E: 64, V: 64, causal: true, segs: true},
		{name: "prefix", B: 1, T: 40, S: 150, H: 4, K: 2, E: 64, V: 64, base: 77, causal: true, segs: true},
	}, attentionCases...)
	for _, typ := range types {
		for i, c := range cases {
			c.storage, c.family = typ, "coop"
			if c.E%16 != 0 || c.V%16 != 0 || c.E > 128 || c.V > 128 || c.T*c.H/c.K <= 8 || d.Info.IsCPU && i%4 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%v %s", typ, c.name), func(t *testing.T) { checkAttention(t, c) })
		}
	}
}
