package optest

import (
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

func TestRope(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		name                   string
		B, T, H, D, rotated    int
		offset                 int
		interleaved, axes, low bool
	}{
		{name: "half pairs", B: 2, T: 5, H: 3, D: 64, rotated: 64},
		{name: "partial", B: 1, T: 7, H: 2, D: 80, rotated: 32},
		{name: "interleaved", B: 2, T: 4, H: 2, D: 16, rotated: 16, interleaved: true},
		{name: "interleaved partial at the end", B: 2, T: 4, H: 2, D: 24, rotated: 8, offset: 16, interleaved: true},
		{name: "odd head", B: 2, T: 3, H: 3, D: 7, rotated: 6},
		{name: "odd half", B: 1, T: 3, H: 2, D: 10, rotated: 10},
		{name: "odd offset", B: 1, T: 3, H: 2, D: 9, rotated: 6, offset: 3, interleaved: true},
		{name: "three axes", B: 2, T: 5, H: 2, D: 32, rotated: 32, axes: true},
		{name: "bf16", B: 2, T: 5, H: 2, D: 32, rotated: 16, low: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			p := nn.RopeParams{Theta: 10000, HeadDim: c.rotated, MaxPositions: 64}
			raw := map[string]any{}
			if c.axes {
				raw["mrope_section"], raw["mrope_interleaved"] = []any{8.0, 4.0, 4.0}, true
			}
			p, err := nn.NewRopeParams(p, raw)
			if err != nil {
				t.Fatal(err)
			}
			table := nn.NewRopeTable(p)
			t.Cleanup(table.Release)
			storage, tol := gpu.F32, 3e-7
			if c.low {
				storage, tol = gpu.BF16, 8e-3
			}
			x := normals(rng, c.B, c.T, c.H, c.D)
			in := upload(t, d, storage, x)
			rows := 1
			if c.axes {
				rows = 3
			}
			pos := make([]int, rows*c.B*c.T)
			for i := range pos {
				pos[i] = rng.IntN(60)
			}
			b := &nn.Batch{B: c.B, T: c.T, S: 60, Pos: uploadInts(t, d, pos, len(pos))}
			r := recorder(d, storage)
			cs := gpu.Tensor{}
			if c.axes {
				cs = r.RopeTableAxes(b, table, b.Pos)
			} else {
				cs = r.RopeTable(b, table)
			}
			a := nn.RopeAttrs{Interleaved: c.interleaved, Offset: c.offset}
			y := r.Rope(in, cs, a)
			a.Inverse = true
			back := r.Rope(in, cs, a)
			run(t, r)

			angles := ropeAngles(table, pos, c.B, c.T)
			near(t, "angles", download(t, d, cs), angles, 0)
			for _, inverse := range []bool{false, true} {
				call := &refrun.Call{In: []*refrun.Array{x, angles},
					Attr: map[string]any{
						"interleaved": c.interleaved,
						"offset":      c.offset,
						"inverse":     inverse,
					}}
				want, err := refrun.Kernels()["rope"](call)
				if err != nil {
					t.Fatal(err)
				}
				got := y
				if inverse {
					got = back
				}
				near(t, "rope", download(t, d, got), want[0], tol)
			}
		})
	}
}

// ropeAngles looks the angles up as the kernel does.
func ropeAngles(table *nn.RopeTable, pos []int, B, T int) *refrun.Array {
	half := table.Half()
	all, axes := table.Angles(60, 64), table.Params.Axes()
	out := &refrun.Array{Shape: []int{B, T, 2 * half}, Data: make([]float64, B*T*2*half)}
	for n := range B * T {
		for i := range 2 * half {
			p := pos[n]
			if len(pos) > B*T {
				p = pos[int(axes[i%half])*B*T+n]
			}
			out.Data[n*2*half+i] = float64(all[p*2*half+i])
		}
	}
	return out
}
