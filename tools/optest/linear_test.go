package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// param makes a parameter with an f32 gradient full of NaN, so that an element that is not written shows.
func param(t testing.TB, d *gpu.Device, name string, typ gpu.DType, a *refrun.Array) *nn.Param {
	t.Helper()
	if a == nil {
		return nil
	}
	nan := make([]float32, len(a.Data))
	for i := range nan {
		nan[i] = float32(math.NaN())
	}
	grad, err := d.Alloc(gpu.F32, a.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Release(grad) })
	if err := d.Write(grad, nan); err != nil {
		t.Fatal(err)
	}
	return &nn.Param{Name: name, Shape: a.Shape, Value: upload(t, d, typ, a), Grad: grad}
}

func TestLinear(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		lead    []int
		in, out int
		bias    bool
		weights gpu.DType
		act     gpu.DType
	}{
		{[]int{2, 3}, 5, 7, true, gpu.F32, gpu.F32},
		{[]int{1, 1}, 64, 96, false, gpu.F32, gpu.F32},
		{[]int{3, 11}, 36, 20, true, gpu.F32, gpu.F32},
		{[]int{700}, 8, 12, true, gpu.F32, gpu.F32},
		{[]int{2, 33}, 70, 34, true, gpu.BF16, gpu.BF16},
		{[]int{2, 33}, 64, 34, true, gpu.F16, gpu.F32},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, uint64(c.in)))
			in := []*refrun.Array{normals(rnd, append(append([]int{}, c.lead...), c.in)...), normals(rnd, c.out, c.in), nil,
				normals(rnd, append(append([]int{}, c.lead...), c.out)...)}
			if c.bias {
				in[2] = normals(rnd, c.out)
			}
			x, dy := upload(t, d, c.act, in[0]), upload(t, d, c.act, in[3])
			l := &nn.Linear{Weight: param(t, d, "weight", c.weights, in[1]), Bias: param(t, d, "bias", c.weights, in[2])}
			extra := normals(rnd, in[0].Shape...)
			r := recorder(d, c.act)
			y := r.Linear(l, x)
			dx := r.LinearGrad(l, x, dy, gpu.Tensor{})
			into := upload(t, d, c.act, extra)
			r.LinearGrad(l, x, dy, into) // the second use: every gradient doubles
			run(t, r)

			call := &refrun.Call{In: in}
			want, err := refrun.Kernels()["linear"](call)
			if err != nil {
				t.Fatal(err)
			}
			grads, err := refrun.Kernels()["linear_grad"](call)
			if err != nil {
				t.Fatal(err)
			}
			rows := len(in[0].Data) / c.in
			near(t, "y", download(t, d, y), want[0], sumTolerance(c.in, c.act))
			near(t, "dx", download(t, d, dx), grads[0], sumTolerance(c.out, c.act))
			for i := range extra.Data {
				extra.Data[i] += grads[0].Data[i]
			}
			near(t, "dx added", download(t, d, into), extra, sumTolerance(c.out, c.act))
			for i, p := range []*nn.Param{l.Weight, l.Bias} {
				if p == nil {
					continue
				}
				for j := range grads[i+1].Data {
					grads[i+1].Data[j] *= 2
				}
				near(t, p.Name, download(t, d, p.Grad), grads[i+1], sumTolerance(rows, gpu.F32))
			}
		})
	}
}

// TestAdapter compares a linear layer with an adapter to one whose weight holds the adapter's product.
func TestAdapter(t *testing.T) {
	d := device(t)
	const rows, in, out, rank, scale = 13, 12, 20, 3, 0.5
	rnd := rand.New(rand.NewPCG(5, 99))
	w, a, b := normals(rnd, out, in), normals(rnd, rank, in), normals(rnd, out, rank)
	x, dy := normals(rnd, rows, in), normals(rnd, rows, out)
	l := &nn.Linear{Weight: param(t, d, "weight", gpu.F32, w)}
	l.Weight.Frozen = true
	ad := &nn.Adapter{A: param(t, d, "A", gpu.F32, a), B: param(t, d, "B", gpu.F32, b), Scale: scale}
	l.Adapters = []*nn.Adapter{ad}
	tx, tdy := upload(t, d, gpu.F32, x), upload(t, d, gpu.F32, dy)
	r := recorder(d, gpu.F32)
	y := r.Linear(l, tx)
	dx := r.LinearGrad(l, tx, tdy, gpu.Tensor{})
	run(t, r)

	merged := &refrun.Array{Shape: w.Shape, Data: append([]float64(nil), w.Data...)}
	for o := range out {
		for i := range in {
			for k := range rank {
				merged.Data[o*in+i] += scale * b.Data[o*rank+k] * a.Data[k*in+i]
			}
		}
	}
	call := &refrun.Call{In: []*refrun.Array{x, merged, nil, dy}}
	want, _ := refrun.Kernels()["linear"](call)
	grads, _ := refrun.Kernels()["linear_grad"](call)
	near(t, "y", download(t, d, y), want[0], 1e-6)
	near(t, "dx", download(t, d, dx), grads[0], 1e-6)
	da := &refrun.Array{Shape: a.Shape, Data: make([]float64, len(a.Data))}
	db := &refrun.Array{Shape: b.Shape, Data: make([]float64, len(b.Data))}
	for o := range out { // d(merged) = scale * (db a + b da)
		for i := range in {
			for k := range rank {
				db.Data[o*rank+k] += scale * grads[1].Data[o*in+i] * a.Data[k*in+i]
				da.Data[k*in+i] += scale * grads[1].Data[o*in+i] * b.Data[o*rank+k]
			}
		}
	}
	near(t, "dA", download(t, d, ad.A.Grad), da, 1e-6)
	near(t, "dB", download(t, d, ad.B.Grad), db, 1e-6)
}

func TestSumRows(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		rows, cols int
		typ        gpu.DType
	}{{1, 1, gpu.F32}, {7, 5, gpu.F32}, {1000, 33, gpu.F32}, {300, 576, gpu.F32}, {65, 6, gpu.BF16}, {65, 6, gpu.F16}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			a := normals(rand.New(rand.NewPCG(6, uint64(c.rows))), c.rows, c.cols)
			x := upload(t, d, c.typ, a)
			p := param(t, d, "sum", gpu.F32, &refrun.Array{Shape: []int{c.cols}, Data: make([]float64, c.cols)})
			r := recorder(d, gpu.F32)
			r.SumRows(x, p)
			r.SumRows(x, p)
			run(t, r)
			want, _ := refrun.Kernels()["sum_rows"](&refrun.Call{In: []*refrun.Array{a}})
			for i := range want[0].Data {
				want[0].Data[i] *= 2
			}
			near(t, "sum", download(t, d, p.Grad), want[0], sumTolerance(c.rows, gpu.F32))
		})
	}
}
