package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// Hyper are the numbers of one optimizer step. They travel in a small buffer, so that a recording serves all steps.
type Hyper struct {
	LR, Beta1, Beta2, Eps, Decay float64
	Step                         int     // 1 for the first step
	MaxNorm                      float64 // global gradient norm to clip to; 0 does not clip
	GradScale                    float64 // multiplier of the gradients: 1/loss scale; 0 means 1
}

// HyperWords is the length of the buffer: Alloc(gpu.F32, HyperWords).
const HyperWords = 16

// Words is the buffer's content: what the kernels need of h, computed in float64 (1 - beta2 alone would lose four digits
// in f32).
func (h Hyper) Words() []float32 {
	scale := h.GradScale
	if scale == 0 {
		scale = 1
	}
	w := make([]float32, HyperWords)
	bias1, bias2 := 1-math.Pow(h.Beta1, float64(h.Step)), 1-math.Pow(h.Beta2, float64(h.Step))
	for i, v := range []float64{h.LR / bias1, 1 - h.Beta1, 1 - h.Beta2, h.Beta2, math.Sqrt(bias2), h.Eps, h.LR * h.Decay,
		h.MaxNorm, scale} {
		w[i] = float32(v)
	}
	return w
}

// Moments are the optimizer's state of one parameter, all F32 of its length. Master holds the precise value when the
// parameter is stored in 16 bits and is the zero Tensor when it is stored as F32.
type Moments struct {
	M, V, Master gpu.Tensor
	NoDecay      bool    // weight decay does not apply
	Rate         float32 // factor of the learning rate; 0 means 1
}

// normGroups is the number of partial sums of n gradients: a piece of 64 KiB each, as far as there are 1024.
func normGroups(n int) int { return max(1, min(1024, n>>14)) }

// GradNorm returns F32 [2]: the Euclidean norm of the gradients of params together, times hyper's GradScale, and 1 if that is
// infinite or NaN, else 0. Frozen parameters are left out. The order of the additions depends on the shapes alone.
func (r *Recorder) GradNorm(params []*Param, hyper gpu.Tensor) (norm gpu.Tensor) {
	norm = r.Alloc(gpu.F32, 2)
	var pieces []gpu.Tensor
	total := 0
	for _, p := range params {
		if p.Frozen {
			continue
		}
		if !p.Grad.Valid() && r.Err() == nil {
			r.failf("%s: it has no gradient to take the norm of", p.Name)
		}
		r.eachFlat(p.Grad.Len(), 4, func(from, n int) {
			pieces = append(pieces, flat(p.Grad, from, n))
			total += ceilDiv(normGroups(n), 64) * 64 // a piece's sums begin where a kernel can bind them
		})
	}
	if r.Err() != nil {
		return norm
	}
	lanes := r.rowLanes(1 << 20)
	spec := []uint32{uint32(lanes), r.oneSubgroup(lanes)}
	parts := r.Alloc(gpu.F32, max(64, total))
	at := 0
	for _, g := range pieces {
		groups := normGroups(g.Len())
		room := ceilDiv(groups, 64) * 64
		// Empty groups fill the room with zeros.
		r.Dispatch(&r.K.SquareSums, [3]int{room, 1, 1}, spec,
			[]uint32{uint32(g.Len()), uint32(ceilDiv(ceilDiv(g.Len(), 4), groups))}, g, parts.Slice(at, at+room))
		at += room
	}
	if len(pieces) == 0 {
		r.Fill(parts, 0)
	}
	r.Dispatch(&r.K.GradNorm, [3]int{1, 1, 1}, spec, []uint32{uint32(parts.Len())}, parts, hyper, norm)
	r.Free(parts)
	return norm
}

// AdamW records one step for every parameter that is not frozen; moments[i] belongs to params[i]. hyper holds Hyper.Words.
// norm comes from GradNorm: gradients are clipped by it, and nothing changes when it is not finite; the zero Tensor does
// neither.
//
// Source: Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization; PyTorch's order of operations.
func (r *Recorder) AdamW(params []*Param, moments []Moments, hyper, norm gpu.Tensor) {
	if len(params) != len(moments) {
		r.failf("adamw: %d parameters and %d moments", len(params), len(moments))
		return
	}
	for i, p := range params {
		if !p.Frozen && r.Err() == nil {
			r.adamw(p, &moments[i], hyper, norm)
		}
	}
}

func (r *Recorder) adamw(p *Param, s *Moments, hyper, norm gpu.Tensor) {
	master, shadow := p.Value, gpu.Tensor{}
	if p.Value.Type != gpu.F32 {
		master, shadow = s.Master, p.Value
	}
	for _, t := range []gpu.Tensor{p.Grad, s.M, s.V, master} {
		if t.Type != gpu.F32 || t.Len() != p.Value.Len() {
			r.failf("adamw %s: value %v, gradient %v, moments %v and %v, master %v: all but the value must be f32 of its "+
				"length", p.Name, p.Value, p.Grad, s.M, s.V, s.Master)
			return
		}
	}
	decays, rate := float32(1), s.Rate
	if s.NoDecay {
		decays = 0
	}
	if rate == 0 {
		rate = 1
	}
	lanes := r.linearLanes()
	spec := []uint32{uint32(lanes), flag(shadow.Valid()), flag(norm.Valid())}
	kernel, quads := &r.K.Adamw, 2 // of a lane
	if r.wideWords() {
		kernel = &r.K.Adamw64
	}
	if r.info().IsCPU {
		quads = 32 // there every read of a hyperparameter costs as much as a quad
	}
	r.eachFlat(p.Value.Len(), 4, func(from, n int) {
		value := gpu.Tensor{}
		if shadow.Valid() {
			value = flat(shadow, from, n)
		}
		r.DispatchLinear(kernel, ((n+3)/4+lanes*quads-1)/(lanes*quads), spec,
			[]uint32{uint32(n), math.Float32bits(decays), math.Float32bits(rate), uint32(quads)},
			flat(p.Grad, from, n), flat(s.M, from, n), flat(s.V, from, n), flat(master, from, n), value, hyper, norm)
	})
}

// eachFlat calls do for ranges of n elements of size bytes that one binding reaches each.
func (r *Recorder) eachFlat(n, size int, do func(from, n int)) {
	step := max(256, int(r.info().MaxStorageBufferRange)/size/256*256)
	for from := 0; from < n; from += step {
		do(from, min(step, n-from))
	}
}

// flat views n elements of t from element from on.
func flat(t gpu.Tensor, from, n int) gpu.Tensor {
	if from == 0 && n == t.Len() {
		return t
	}
	return t.Reshape(-1).Slice(from, from+n)
}
