package optest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// sequences makes a batch of B rows of T tokens: padding, then two packed sequences.
func sequences(t *testing.T, d *gpu.Device, B, T int) (*nn.Batch, *refrun.Batch) {
	seg := make([]int, B*T)
	for i := range seg {
		seg[i] = min(1+i%T/(T/2+1), 2)
		if i%T < i/T {
			seg[i] = 0
		}
	}
	return &nn.Batch{B: B, T: T, S: T, Seg: uploadInts(t, d, seg, B, T)}, &refrun.Batch{B: B, T: T, S: T, Seg: seg}
}

func uploads(t *testing.T, d *gpu.Device, typ gpu.DType, in []*refrun.Array) []gpu.Tensor {
	x := make([]gpu.Tensor, len(in))
	for i, a := range in {
		x[i] = upload(t, d, typ, a)
	}
	return x
}

// agree compares downloaded results with a reference.
func agree(t *testing.T, d *gpu.Device, op string, c *refrun.Call, got []gpu.Tensor, tol float64) {
	t.Helper()
	want, err := refrun.Kernels()[op](c)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range got {
		near(t, op, download(t, d, g), want[i], tol)
	}
}

func negative(a *refrun.Array, scale float64) *refrun.Array {
	for i, v := range a.Data {
		a.Data[i] = -scale * math.Abs(v)
	}
	return a
}

func scaled(a *refrun.Array, by float64) *refrun.Array {
	for i := range a.Data {
		a.Data[i] *= by
	}
	return a
}

func TestRecurrence(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		name             string
		B, T, G, H, N, P int
		M                int
		delta, low       bool
	}{
		{name: "odd", B: 2, T: 7, G: 1, H: 3, N: 3, P: 5, M: 1},
		{name: "decay a row", B: 2, T: 17, G: 2, H: 4, N: 6, P: 9, M: 6},
		{name: "delta", B: 2, T: 17, G: 1, H: 2, N: 8, P: 12, M: 1, delta: true},
		{name: "delta, decay a row", B: 1, T: 10, G: 2, H: 2, N: 7, P: 3, M: 7, delta: true},
		{name: "bf16", B: 1, T: 9, G: 1, H: 2, N: 8, P: 8, M: 1, delta: true, low: true},
		{name: "more steps than one dispatch may loop", B: 1, T: 1000, G: 1, H: 1, N: 128, P: 4, M: 1},
		{name: "one token", B: 3, T: 1, G: 1, H: 1, N: 4, P: 4, M: 4, delta: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 5))
			typ := gpu.F32
			if c.low {
				typ = gpu.BF16
			}
			keys, values := []int{c.B, c.T, c.G, c.N}, []int{c.B, c.T, c.H, c.P}
			in := []*refrun.Array{normals(rng, keys...), scaled(normals(rng, keys...), 1/math.Sqrt(float64(c.N))),
				normals(rng, values...), negative(normals(rng, c.B, c.T, c.H, c.M), 0.3)}
			op := "linear_recurrence"
			if c.delta {
				op = "delta_recurrence"
				in = append(in, negative(normals(rng, c.B, c.T, c.H), -0.5))
			}
			dy := normals(rng, values...)
			x := uploads(t, d, typ, append(in[:len(in):len(in)], dy))
			b, ref := sequences(t, d, c.B, c.T)
			r := recorder(d, typ)
			var y, g []gpu.Tensor
			if c.delta {
				a, rest := r.DeltaRecurrence(b, x[0], x[1], x[2], x[3], x[4])
				dq, dk, dv, dg, dbeta := r.DeltaRecurrenceGrad(b, x[0], x[1], x[2], x[3], x[4], rest, x[5])
				y, g = []gpu.Tensor{a, rest}, []gpu.Tensor{dq, dk, dv, dg, dbeta}
			} else {
				dq, dk, dv, dg := r.LinearRecurrenceGrad(b, x[0], x[1], x[2], x[3], x[4])
				y, g = []gpu.Tensor{r.LinearRecurrence(b, x[0], x[1], x[2], x[3])}, []gpu.Tensor{dq, dk, dv, dg}
			}
			run(t, r)
			agree(t, d, op, &refrun.Call{In: in, Batch: ref}, y, 2e-6)
			agree(t, d, op+"_grad", &refrun.Call{In: append(in[:len(in):len(in)], dy), Batch: ref}, g, 4e-6)
		})
	}
}

func TestSelectiveScan(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		name          string
		B, T, G, C, N int
	}{{"odd", 2, 7, 1, 5, 3}, {"groups", 2, 17, 2, 9, 8}, {"long", 1, 300, 1, 3, 16}, {"one token", 2, 1, 1, 4, 4}} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 6))
			x, k := []int{c.B, c.T, c.G, c.C}, []int{c.B, c.T, c.G, c.N}
			in := []*refrun.Array{normals(rng, x...), negative(normals(rng, x...), -0.2), negative(normals(rng, c.G, c.C, c.N), 1),
				normals(rng, k...), normals(rng, k...), normals(rng, x...)}
			u := uploads(t, d, gpu.F32, in)
			b, ref := sequences(t, d, c.B, c.T)
			r := recorder(d, gpu.F32)
			y := r.SelectiveScan(b, u[0], u[1], u[2], u[3], u[4])
			dx, ddt, da, db, dc := r.SelectiveScanGrad(b, u[0], u[1], u[2], u[3], u[4], u[5])
			run(t, r)
			agree(t, d, "selective_scan", &refrun.Call{In: in[:5], Batch: ref}, []gpu.Tensor{y}, 2e-6)
			agree(t, d, "selective_scan_grad", &refrun.Call{In: in, Batch: ref}, []gpu.Tensor{dx, ddt, da, db, dc}, 4e-6)
		})
	}
}

// TestRecurrenceSteps: tokens fed in pieces through the states give what one pass gives.
func TestRecurrenceSteps(t *testing.T) {
	d := device(t)
	rng := rand.New(rand.NewPCG(11, 7))
	const T, N, P, K = 9, 4, 6, 4
	q, k := normals(rng, 1, T, 1, N), scaled(normals(rng, 1, T, 1, N), 0.4)
	v, g := normals(rng, 1, T, 2, P), negative(normals(rng, 1, T, 2, 1), 0.2)
	beta, w := negative(normals(rng, 1, T, 2), -0.5), normals(rng, 2*P, 1, K)
	alloc := nn.NewStateAlloc(d, gpu.F32, 1, T)
	t.Cleanup(alloc.Release)
	conv, state := alloc.Fixed(K-1, 2*P), alloc.Fixed(2, N, P)
	if err := alloc.Err(); err != nil {
		t.Fatal(err)
	}
	weight := &nn.Param{Name: "w", Shape: w.Shape, Value: upload(t, d, gpu.F32, w)}
	ref := &refrun.Batch{B: 1, T: T, S: T}
	want, _ := refrun.Kernels()["causal_conv"](&refrun.Call{In: []*refrun.Array{{Shape: []int{1, T, 2 * P}, Data: v.Data}, w, nil}, Batch: ref})
	want2, _ := refrun.Kernels()["delta_recurrence"](&refrun.Call{In: []*refrun.Array{q, k, v, g, beta}, Batch: ref})
	part := func(a *refrun.Array, from, to int) gpu.Tensor {
		w := len(a.Data) / T
		shape := append([]int{1, to - from}, a.Shape[2:]...)
		return upload(t, d, gpu.F32, &refrun.Array{Shape: shape, Data: append([]float64(nil), a.Data[from*w:to*w]...)})
	}
	for _, p := range [][2]int{{0, 2}, {2, 3}, {3, 8}, {8, 9}} {
		n := p[1] - p[0]
		ones := make([]int, n)
		for i := range ones {
			ones[i] = 1
		}
		b := &nn.Batch{B: 1, T: n, S: n, Seg: uploadInts(t, d, ones, 1, n)}
		r := recorder(d, gpu.F32)
		x := part(v, p[0], p[1])
		c := r.CausalConvStep(b, &conv, weight, nil, x.Reshape(1, n, 2*P), nn.CausalConvAttrs{Width: K})
		y, _ := r.DeltaRecurrenceStep(b, &state, part(q, p[0], p[1]), part(k, p[0], p[1]), x, part(g, p[0], p[1]), part(beta, p[0], p[1]))
		run(t, r)
		cut := func(a *refrun.Array) *refrun.Array {
			return &refrun.Array{Shape: []int{n * 2 * P}, Data: a.Data[p[0]*2*P : p[1]*2*P]}
		}
		near(t, "convolution", download(t, d, c), cut(want[0]), 1e-6)
		near(t, "recurrence", download(t, d, y), cut(want2[0]), 1e-6)
	}
}

// TestScanSteps: the scans without a delta rule give in pieces, through their states, what they give in one pass.
func TestScanSteps(t *testing.T) {
	d := device(t)
	const T, G, H, N, P = 11, 1, 3, 4, 5
	part := func(a *refrun.Array, from, to int) gpu.Tensor {
		w := len(a.Data) / T
		return upload(t, d, gpu.F32, &refrun.Array{Shape: append([]int{1, to - from}, a.Shape[2:]...), Data: a.Data[from*w : to*w]})
	}
	for _, c := range []struct {
		op    string
		state []int
		in    func(rng *rand.Rand) []*refrun.Array
		step  func(r *nn.Recorder, b *nn.Batch, st *nn.State, u []gpu.Tensor) gpu.Tensor
	}{
		{"linear_recurrence", []int{H, N, P}, func(rng *rand.Rand) []*refrun.Array {
			return []*refrun.Array{normals(rng, 1, T, G, N), scaled(normals(rng, 1, T, G, N), 0.4), normals(rng, 1, T, H, P),
				negative(normals(rng, 1, T, H, 1), 0.2)}
		}, func(r *nn.Recorder, b *nn.Batch, st *nn.State, u []gpu.Tensor) gpu.Tensor {
			return r.LinearRecurrenceStep(b, st, u[0], u[1], u[2], u[3])
		}},
		{"selective_scan", []int{G, N, P}, func(rng *rand.Rand) []*refrun.Array {
			return []*refrun.Array{normals(rng, 1, T, G, P), negative(normals(rng, 1, T, G, P), -0.2), negative(normals(rng, G, P, N), 1),
				normals(rng, 1, T, G, N), normals(rng, 1, T, G, N)}
		}, func(r *nn.Recorder, b *nn.Batch, st *nn.State, u []gpu.Tensor) gpu.Tensor {
			return r.SelectiveScanStep(b, st, u[0], u[1], u[2], u[3], u[4])
		}},
	} {
		t.Run(c.op, func(t *testing.T) {
			in := c.in(rand.New(rand.NewPCG(11, 9)))
			want, err := refrun.Kernels()[c.op](&refrun.Call{In: in, Batch: &refrun.Batch{B: 1, T: T, S: T}})
			if err != nil {
				t.Fatal(err)
			}
			alloc := nn.NewStateAlloc(d, gpu.F32, 1, T)
			t.Cleanup(alloc.Release)
			state := alloc.Fixed(c.state...)
			if err := alloc.Err(); err != nil {
				t.Fatal(err)
			}
			width := len(want[0].Data) / T
			for _, p := range [][2]int{{0, 3}, {3, 4}, {4, 5}, {5, 11}} {
				n := p[1] - p[0]
				seg := make([]int, n)
				for i := range seg {
					seg[i] = 1
				}
				var u []gpu.Tensor
				for _, a := range in {
					if a.Shape[0] == 1 && len(a.Shape) > 3 { // the rest has no tokens
						u = append(u, part(a, p[0], p[1]))
					} else {
						u = append(u, upload(t, d, gpu.F32, a))
					}
				}
				r := recorder(d, gpu.F32)
				y := c.step(r, &nn.Batch{B: 1, T: n, S: n, Seg: uploadInts(t, d, seg, 1, n)}, &state, u)
				run(t, r)
				near(t, c.op, download(t, d, y), &refrun.Array{Shape: []int{n * width}, Data: want[0].Data[p[0]*width : p[1]*width]}, 2e-6)
			}
		})
	}
}

func TestCausalConv(t *testing.T) {
	d := device(t)
	rng := rand.New(rand.NewPCG(11, 8))
	in := []*refrun.Array{normals(rng, 2, 45, 5), normals(rng, 5, 1, 4), normals(rng, 5), normals(rng, 2, 45, 5)}
	u := uploads(t, d, gpu.F32, in)
	grad := func(shape ...int) gpu.Tensor { return upload(t, d, gpu.F32, normals(rng, shape...)) }
	w := &nn.Param{Name: "w", Shape: in[1].Shape, Value: u[1], Grad: grad(5, 1, 4)}
	bias := &nn.Param{Name: "b", Shape: in[2].Shape, Value: u[2], Grad: grad(5)}
	b, ref := sequences(t, d, 2, 45)
	r := recorder(d, gpu.F32)
	y := r.CausalConv(b, w, bias, u[0], nn.CausalConvAttrs{Width: 4})
	dx := r.CausalConvGrad(b, w, bias, u[0], u[3], nn.CausalConvGradAttrs{Width: 4})
	run(t, r)
	agree(t, d, "causal_conv", &refrun.Call{In: in[:3], Batch: ref}, []gpu.Tensor{y}, 1e-6)
	agree(t, d, "causal_conv_grad", &refrun.Call{In: in, Batch: ref}, []gpu.Tensor{dx, w.Grad, bias.Grad}, 2e-6)
}
