package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// A selectiveScan is what the kernels need to know: x, dt [B, T, G, C], a [G, C, N], b and c [B, T, G, N].
type selectiveScan struct {
	r              *Recorder
	t              *Batch
	x, dt, a, b, c gpu.Tensor
	groups, ch, n  int
}

func (r *Recorder) selectiveScan(t *Batch, x, dt, a, b, c gpu.Tensor) *selectiveScan {
	if r.Err() != nil {
		return nil
	}
	s := &selectiveScan{r, t, x, dt, a, b, c, x.Dim(2), x.Dim(3), b.Dim(3)}
	if s.n > 256 {
		r.failf("selective scan with %d states a channel, want at most 256", s.n)
		return nil
	}
	return s
}

// SelectiveScan runs N states a channel over the tokens: h = exp(dt a) h + dt x b, y = c . h: F32 [B, T, G, C].
func (r *Recorder) SelectiveScan(t *Batch, x, dt, a, b, c gpu.Tensor) gpu.Tensor {
	return r.SelectiveScanStep(t, &State{}, x, dt, a, b, c)
}

// SelectiveScanStep continues from the state and leaves the state after the last token.
func (r *Recorder) SelectiveScanStep(t *Batch, st *State, x, dt, a, b, c gpu.Tensor) gpu.Tensor {
	s := r.selectiveScan(t, x, dt, a, b, c)
	if s == nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, x.Shape...)
	step := s.step(1)
	carry, own := st.t, false
	if !carry.Valid() && step < t.T {
		carry, own = r.Alloc(gpu.F32, t.B, s.groups, s.n, s.ch), true
	}
	for from := 0; from < t.T; from += step {
		before := carry
		if own && from == 0 {
			before = gpu.Tensor{}
		}
		s.forward(from, min(from+step, t.T), before, carry, y)
	}
	if own {
		r.Free(carry)
	}
	return y
}

// step is how many tokens a dispatch may go through when it loops so many times over the states.
func (s *selectiveScan) step(loops int) int {
	return max(1, min(s.t.T, maxTrips/(loops*ceilDiv(s.n, 4)+2)))
}

func (s *selectiveScan) forward(from, to int, before, after, y gpu.Tensor) {
	lanes := s.r.columnLanes(s.ch)
	s.r.Dispatch(&s.r.K.SelectiveScan, [3]int{ceilDiv(s.ch, lanes), s.groups, s.t.B},
		[]uint32{uint32(lanes), uint32(ceilDiv(s.n, 4)), flag(before.Valid()), flag(after.Valid()), flag(y.Valid()), flag(s.n%4 == 0),
			flag(s.r.unrolled(s.n))},
		words(s.t.T, from, to, s.groups, s.ch, s.n), s.x, s.dt, s.a, s.b, s.c, s.t.Seg, before, after, y)
}

// SelectiveScanGrad returns the gradients of SelectiveScan. States are kept at the borders of chunks of about sqrt(T) tokens
// and computed again inside of one; sums over channels and rows have a fixed order.
func (r *Recorder) SelectiveScanGrad(t *Batch, x, dt, a, b, c, dy gpu.Tensor) (dx, ddt, da, db, dc gpu.Tensor) {
	s := r.selectiveScan(t, x, dt, a, b, c)
	if s == nil {
		return
	}
	step := min(s.step(2), int(math.Ceil(math.Sqrt(float64(t.T)))))
	size := t.B * s.groups * s.n * s.ch
	borders := s.borders(step, size)
	lanes := int(r.info().SubgroupSize)
	parts := ceilDiv(s.ch, lanes)
	dx, ddt = r.Alloc(gpu.F32, x.Shape...), r.Alloc(gpu.F32, x.Shape...)
	rates := r.Alloc(gpu.F32, t.B, a.Len())
	keys, queries := r.Alloc(gpu.F32, parts, b.Len()), r.Alloc(gpu.F32, parts, b.Len())
	scratch, state := r.Alloc(gpu.F32, step, size), r.Alloc(gpu.F32, size)
	for from := (t.T - 1) / step * step; from >= 0; from -= step {
		to := min(from+step, t.T)
		r.Dispatch(&r.K.SelectiveScanGrad, [3]int{parts, s.groups, t.B},
			[]uint32{uint32(lanes), uint32(ceilDiv(s.n, 4)), flag(to < t.T), flag(s.n%4 == 0), flag(r.unrolled(s.n))},
			words(t.T, from, to, s.groups, s.ch, s.n, size), x, dt, a, b, c, dy, t.Seg, borders[from/step], scratch, state, rates,
			dx, ddt, keys, queries)
		r.Free(borders[from/step])
	}
	r.Free(scratch, state)
	return dx, ddt, r.sumParts(rates, a.Shape), r.sumParts(keys, b.Shape), r.sumParts(queries, c.Shape)
}

// borders computes the states before every chunk.
func (s *selectiveScan) borders(step, size int) []gpu.Tensor {
	borders := make([]gpu.Tensor, ceilDiv(s.t.T, step))
	for i := range borders {
		borders[i] = s.r.Alloc(gpu.F32, size)
	}
	s.r.Fill(borders[0], 0)
	for i := range borders[1:] {
		s.forward(i*step, (i+1)*step, borders[i], borders[i+1], gpu.Tensor{})
	}
	return borders
}

// sumParts sums the rows of parts to a tensor of the given shape and frees them.
func (r *Recorder) sumParts(parts gpu.Tensor, shape []int) gpu.Tensor {
	if parts.Rows() == 1 || r.Err() != nil {
		return parts.Reshape(shape...)
	}
	y := r.Alloc(gpu.F32, shape...)
	r.SumRowsInto(parts, y.Reshape(-1), false)
	r.Free(parts)
	return y
}
