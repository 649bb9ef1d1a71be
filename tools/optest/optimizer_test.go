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

// adamState is the float64 counterpart of a parameter with its moments.
type adamState struct{ p, g, m, v []float64 }

// step is AdamW as its paper writes it, with decoupled decay.
func (s *adamState) step(h nn.Hyper, norm float64, decay float64) {
	clip := 1.0
	if h.MaxNorm > 0 {
		clip = min(1, h.MaxNorm/(norm+1e-6))
	}
	c1, c2 := 1-math.Pow(h.Beta1, float64(h.Step)), 1-math.Pow(h.Beta2, float64(h.Step))
	for i := range s.p {
		g := clip * h.GradScale * s.g[i]
		s.p[i] *= 1 - h.LR*decay
		s.m[i] = h.Beta1*s.m[i] + (1-h.Beta1)*g
		s.v[i] = h.Beta2*s.v[i] + (1-h.Beta2)*g*g
		s.p[i] -= h.LR * (s.m[i] / c1) / (math.Sqrt(s.v[i]/c2) + h.Eps)
	}
}

// optimizerSetup is two parameters, one without decay, with their state on the device and in float64.
type optimizerSetup struct {
	params  []*nn.Param
	moments []nn.Moments
	states  []*adamState
	hyper   gpu.Tensor
}

func newOptimizer(t *testing.T, d *gpu.Device, typ gpu.DType) *optimizerSetup {
	o := &optimizerSetup{}
	rnd := rand.New(rand.NewPCG(21, 1))
	zero := func(shape []int) gpu.Tensor {
		return upload(t, d, gpu.F32, &refrun.Array{Shape: shape, Data: make([]float64, product(shape))})
	}
	for i, shape := range [][]int{{37, 11}, {5}, {64, 64}} {
		value, grad := normals(rnd, shape...), normals(rnd, shape...)
		p := param(t, d, fmt.Sprint("p", i), typ, value)
		p.Grad = upload(t, d, gpu.F32, grad)
		m := nn.Moments{M: zero(shape), V: zero(shape), NoDecay: i == 1}
		if typ != gpu.F32 {
			m.Master = upload(t, d, gpu.F32, value)
		}
		o.params, o.moments = append(o.params, p), append(o.moments, m)
		n := len(value.Data)
		o.states = append(o.states, &adamState{value.Data, grad.Data, make([]float64, n), make([]float64, n)})
	}
	var err error
	if o.hyper, err = d.AllocHost(gpu.F32, nn.HyperWords); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Release(o.hyper) })
	return o
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func TestAdamW(t *testing.T) {
	d := device(t)
	for _, typ := range []gpu.DType{gpu.F32, gpu.BF16, gpu.F16} {
		t.Run(typ.String(), func(t *testing.T) {
			o := newOptimizer(t, d, typ)
			r := recorder(d, typ)
			norm := r.GradNorm(o.params, o.hyper)
			r.AdamW(o.params, o.moments, o.hyper, norm)
			rec, err := r.Finish()
			if err != nil {
				t.Fatal(err)
			}
			defer rec.Close()
			for step := 1; step <= 3; step++ {
				h := nn.Hyper{LR: 1e-2, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.1, Step: step, MaxNorm: 3, GradScale: 0.5}
				if err := d.Write(o.hyper, h.Words()); err != nil {
					t.Fatal(err)
				}
				if err := rec.Run(); err != nil {
					t.Fatal(err)
				}
				square := 0.0
				for _, s := range o.states {
					for _, g := range s.g {
						square += g * g
					}
				}
				want := 0.5 * math.Sqrt(square)
				for i, s := range o.states {
					decay := h.Decay
					if o.moments[i].NoDecay {
						decay = 0
					}
					s.step(h, want, decay)
				}
			}
			for i, s := range o.states {
				master := o.params[i].Value
				if typ != gpu.F32 {
					master = o.moments[i].Master
					near(t, "value", download(t, d, o.params[i].Value), &refrun.Array{Data: s.p}, sumTolerance(0, typ))
				}
				near(t, "master", download(t, d, master), &refrun.Array{Data: s.p}, 4e-7)
				near(t, "m", download(t, d, o.moments[i].M), &refrun.Array{Data: s.m}, 1e-6)
				near(t, "v", download(t, d, o.moments[i].V), &refrun.Array{Data: s.v}, 1e-6)
			}
		})
	}
}

// TestAdamWNotFinite: one infinite or NaN gradient leaves every parameter and moment as it was.
func TestAdamWNotFinite(t *testing.T) {
	d := device(t)
	for _, bad := range []float64{math.Inf(1), math.NaN()} {
		o := newOptimizer(t, d, gpu.F32)
		g := &refrun.Array{Shape: o.params[1].Shape, Data: []float64{0, bad, 0, 0, 0}}
		o.params[1].Grad = upload(t, d, gpu.F32, g)
		h := nn.Hyper{LR: 1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Step: 1}
		if err := d.Write(o.hyper, h.Words()); err != nil {
			t.Fatal(err)
		}
		r := recorder(d, gpu.F32)
		norm := r.GradNorm(o.params, o.hyper)
		r.AdamW(o.params, o.moments, o.hyper, norm)
		run(t, r)
		if got := download(t, d, norm); got[1] != 1 {
			t.Errorf("gradient %g: norm is %v, want the flag 1", bad, got)
		}
		for i, s := range o.states {
			near(t, "value", download(t, d, o.params[i].Value), &refrun.Array{Data: s.p}, 0)
		}
	}
}
