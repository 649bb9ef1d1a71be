package optest

import (
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

func TestCacheAppend(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		name          string
		B, T, S, K, E int
		base          int // -1: no base
		from, to      gpu.DType
		tol           float64
	}{
		{name: "first", B: 2, T: 3, S: 8, K: 2, E: 4, base: -1},
		{name: "later", B: 2, T: 3, S: 8, K: 2, E: 4, base: 4},
		{name: "odd width", B: 3, T: 2, S: 5, K: 1, E: 7, base: 2},
		{name: "past the end", B: 2, T: 4, S: 6, K: 1, E: 8, base: 4},
		{name: "to bf16", B: 2, T: 1, S: 6, K: 2, E: 8, base: 3, to: gpu.BF16, tol: 4e-3},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			state, x := normals(rng, c.B, c.S, c.K, c.E), normals(rng, c.B, c.T, c.K, c.E)
			st, in := upload(t, d, c.to, state), upload(t, d, c.from, x)
			b := &nn.Batch{B: c.B, T: c.T, S: c.S}
			if c.base >= 0 {
				b.Base = uploadInts(t, d, []int{c.base}, 1)
			}
			r := recorder(d, c.from)
			r.CacheAppend(b, st, in)
			run(t, r)
			want := &refrun.Array{Shape: state.Shape, Data: append([]float64(nil), state.Data...)}
			w := c.K * c.E
			for row := range c.B * c.T {
				if at := max(c.base, 0) + row%c.T; at < c.S {
					copy(want.Data[(row/c.T*c.S+at)*w:][:w], x.Data[row*w:][:w])
				}
			}
			near(t, "state", download(t, d, st), want, c.tol)
		})
	}
}
