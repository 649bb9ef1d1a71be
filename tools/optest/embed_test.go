package optest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
)

func TestEmbed(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		vocab, width, rows int
		typ                gpu.DType
		padding            int
	}{
		{11, 5, 40, gpu.F32, -1}, {100, 64, 33, gpu.F32, 3}, {7, 8, 1, gpu.F32, -1}, {50, 66, 90, gpu.BF16, -1},
		{50, 64, 90, gpu.F16, 0}, {3, 576, 200, gpu.F32, -1},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(9, uint64(c.vocab)))
			table, dy := normals(rnd, c.vocab, c.width), normals(rnd, c.rows, c.width)
			index := &refrun.Array{Shape: []int{c.rows}, Data: make([]float64, c.rows)}
			ints := make([]int, c.rows)
			for i := range ints {
				ints[i] = rnd.IntN(c.vocab)
				index.Data[i] = float64(ints[i])
			}
			p := param(t, d, "table", c.typ, table)
			tokens, tdy := uploadInts(t, d, ints, c.rows), upload(t, d, c.typ, dy)
			r := recorder(d, c.typ)
			y := r.Embed(p, tokens)
			r.EmbedGradPadded(p, tokens, tdy, c.padding)
			run(t, r)
			call := &refrun.Call{In: []*refrun.Array{table, index, dy}, Attr: map[string]any{"padding": c.padding}}
			want, err := refrun.Kernels()["embed"](call)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "y", download(t, d, y), want[0], 0)
			grad, _ := refrun.Kernels()["embed_grad"](call)
			near(t, "grad", download(t, d, p.Grad), grad[0], sumTolerance(c.rows, gpu.F32))
		})
	}
}

// TestEmbedOutside: indices outside the table give zeros and touch no gradient.
func TestEmbedOutside(t *testing.T) {
	d := device(t)
	table := normals(rand.New(rand.NewPCG(9, 1)), 4, 8)
	p := param(t, d, "table", gpu.F32, table)
	tokens := uploadInts(t, d, []int{-1, 4, 2, 1 << 30}, 4)
	dy := upload(t, d, gpu.F32, normals(rand.New(rand.NewPCG(9, 2)), 4, 8))
	r := recorder(d, gpu.F32)
	y := r.Embed(p, tokens)
	r.EmbedGrad(p, tokens, dy)
	run(t, r)
	got, want := download(t, d, y), make([]float64, 32)
	copy(want[16:24], table.Data[16:24])
	near(t, "y", got, &refrun.Array{Data: want}, 0)
	for i, g := range download(t, d, p.Grad) {
		if i/8 != 2 && g != 0 {
			t.Errorf("gradient of row %d is %g, want 0", i/8, g)
		}
	}
}
