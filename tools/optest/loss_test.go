package optest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

func TestCrossEntropy(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		rows, vocab int
		scale       float64 // of the logits
		typ         gpu.DType
	}{
		{1, 2, 1, gpu.F32}, {5, 7, 3, gpu.F32}, {9, 1000, 10, gpu.F32}, {3, 50257, 5, gpu.F32}, {2, 49152, 1, gpu.F32},
		{6, 130, 4, gpu.BF16}, {6, 130, 4, gpu.F16}, {4, 33, 60, gpu.F32},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(13, uint64(c.vocab)))
			x := normals(rnd, c.rows, c.vocab)
			for i := range x.Data {
				x.Data[i] *= c.scale
			}
			labels, array := make([]int, c.rows), &refrun.Array{Shape: []int{c.rows}, Data: make([]float64, c.rows)}
			for i := range labels {
				labels[i] = rnd.IntN(c.vocab)
				if i%4 == 3 {
					labels[i] = nn.Ignored
				}
				array.Data[i] = float64(labels[i])
			}
			logits := upload(t, d, c.typ, x)
			scale := &refrun.Array{Shape: []int{1}, Data: []float64{0.125}}
			b := &nn.Batch{LossScale: upload(t, d, gpu.F32, scale)}
			lab := uploadInts(t, d, labels, c.rows)
			r := recorder(d, c.typ)
			loss, lse := r.CrossEntropy(b, logits, lab)
			sum := r.Total(loss)
			dx := r.CrossEntropyGrad(b, logits, lab, lse)
			inPlace := r.CrossEntropyGradInPlace(b, logits, lab, lse)
			run(t, r)

			call := &refrun.Call{In: []*refrun.Array{x, array}, Batch: &refrun.Batch{LossScale: 0.125}}
			want, err := refrun.Kernels()["cross_entropy"](call)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "loss", download(t, d, loss), want[0], 1e-6)
			parts := download(t, d, lse)
			for i := range c.rows {
				parts[i] = parts[2*i] + parts[2*i+1]
			}
			near(t, "lse", parts[:c.rows], want[1], 3e-7)
			total := 0.0
			for _, v := range want[0].Data {
				total += v
			}
			near(t, "total", download(t, d, sum), &refrun.Array{Data: []float64{total}}, 1e-6)
			grad, _ := refrun.Kernels()["cross_entropy_grad"](call)
			near(t, "dlogits", download(t, d, dx), grad[0], sumTolerance(100, c.typ))
			near(t, "dlogits in place", download(t, d, inPlace), grad[0], sumTolerance(100, c.typ))
		})
	}
}

func TestTotal(t *testing.T) {
	d := device(t)
	for _, n := range []int{1, 3, 100, 4099, 70001} {
		a := normals(rand.New(rand.NewPCG(14, uint64(n))), n)
		x := upload(t, d, gpu.F32, a)
		r := recorder(d, gpu.F32)
		sum := r.Total(x)
		run(t, r)
		want, abs := 0.0, 0.0
		for _, v := range a.Data {
			want += v
			abs += max(v, -v)
		}
		got := download(t, d, sum)[0]
		if e := got - want; max(e, -e) > 1e-7*abs {
			t.Errorf("%d elements: %g, want %g", n, got, want)
		}
	}
}
