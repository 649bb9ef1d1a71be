package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// A recurrence is what the recurrence kernels need to know: q, k [B, T, HK, N], v [B, T, H, P], log decays g [B, T, H, 1 or N]
// and, for the delta rule, beta [B, T, H]. The state of a head is N x P.
type recurrence struct {
	r                *Recorder
	b                *Batch
	q, k, v, g, beta gpu.Tensor
	h, hk, n, p, m   int
	delta            bool
	lanesP, lanesN   int
}

func (r *Recorder) recurrence(b *Batch, q, k, v, g, beta gpu.Tensor) *recurrence {
	if r.Err() != nil {
		return nil
	}
	c := &recurrence{r: r, b: b, q: q, k: k, v: v, g: g, beta: beta, h: v.Dim(2), hk: q.Dim(2), n: q.Dim(3), p: v.Dim(3),
		m: g.Dim(3), delta: beta.Valid()}
	switch {
	case c.hk == 0 || c.h%c.hk != 0:
		r.failf("recurrence with %d heads of values and %d of keys: want a multiple", c.h, c.hk)
	case c.m != 1 && c.m != c.n:
		r.failf("recurrence with %d decays a head, want 1 or one for each of %d rows of the state", c.m, c.n)
	case max(c.n, c.p) > 1024:
		r.failf("recurrence with a state of %dx%d a head, want at most 1024 rows and columns", c.n, c.p)
	}
	if r.Err() != nil {
		return nil
	}
	c.lanesP, c.lanesN = r.columnLanes(c.p), r.columnLanes(c.n)
	return c
}

// columnLanes is the workgroup for n columns: whole subgroups, at most 64 lanes.
func (r *Recorder) columnLanes(n int) int {
	s := int(r.info().SubgroupSize)
	return max(s, min(ceilDiv(n, s)*s, 64/s*s))
}

// unrolled: loops over so long a column have a constant length, so that it stays in registers. CPU drivers would spend
// seconds on compiling them.
func (r *Recorder) unrolled(n int) bool { return !r.info().IsCPU && n <= 128 }

// maxTrips bounds the iterations of one invocation: CPU drivers stop loops silently after 65,535.
const maxTrips = 50000

// spans calls f for the tokens in pieces of at most step, in order.
func (c *recurrence) spans(step int, f func(from, to int)) {
	for from := 0; from < c.b.T; from += step {
		f(from, min(from+step, c.b.T))
	}
}

// stepFor is how many tokens a dispatch may go through when each costs so many iterations.
func (c *recurrence) stepFor(trips int) int { return max(1, min(c.b.T, maxTrips/trips)) }

// pass is one run of the forward kernel: over columns of the state, or with the roles of keys and values swapped.
type pass struct {
	q, k, v       gpu.Tensor // q, k of hk heads and n elements, v of hv heads and p elements
	hk, hv, n, p  int
	decay         uint32
	delta, scaled bool
}

func (c *recurrence) forward(s pass, from, to int, before, after, y, rest gpu.Tensor) {
	lanes := c.r.columnLanes(s.p)
	c.r.Dispatch(&c.r.K.Recurrence, [3]int{ceilDiv(s.p, lanes), c.h, c.b.B},
		[]uint32{uint32(lanes), uint32(ceilDiv(s.n, 4)), s.decay, flag(s.delta), flag(s.scaled), flag(before.Valid()), flag(after.Valid()),
			flag(s.n%4 == 0), flag(c.r.unrolled(s.n))},
		words(c.b.T, from, to, c.h, s.hk, s.hv, s.n, s.p, c.m), s.q, s.k, s.v, c.g, c.beta, c.b.Seg, before, after, y, rest)
}

func words(v ...int) []uint32 {
	w := make([]uint32, len(v))
	for i, x := range v {
		w[i] = uint32(x)
	}
	return w
}

// run is the forward pass; state, when valid, is where it starts and what it leaves.
func (c *recurrence) run(state gpu.Tensor) (y, rest gpu.Tensor) {
	r := c.r
	s := pass{q: c.q, k: c.k, v: c.v, hk: c.hk, hv: c.h, n: c.n, p: c.p, decay: flag(c.m > 1), delta: c.delta}
	y = r.Alloc(gpu.F32, c.v.Shape...)
	if c.delta {
		rest = r.Alloc(gpu.F32, c.v.Shape...)
	}
	step := c.stepFor(2*ceilDiv(c.n, 4) + 2)
	carry, own := state, false
	if !carry.Valid() && step < c.b.T {
		carry, own = r.Alloc(gpu.F32, c.b.B, c.h, c.n, c.p), true
	}
	c.spans(step, func(from, to int) {
		before := carry
		if own && from == 0 {
			before = gpu.Tensor{}
		}
		c.forward(s, from, to, before, carry, y, rest)
	})
	if own {
		r.Free(carry)
	}
	return y, rest
}

// LinearRecurrence returns y = q . S for the state S = exp(g) S + k v of every token: F32 [B, T, H, P].
func (r *Recorder) LinearRecurrence(b *Batch, q, k, v, g gpu.Tensor) gpu.Tensor {
	return r.LinearRecurrenceStep(b, &State{}, q, k, v, g)
}

// LinearRecurrenceStep continues from the state and leaves the state after the last token.
func (r *Recorder) LinearRecurrenceStep(b *Batch, st *State, q, k, v, g gpu.Tensor) gpu.Tensor {
	c := r.recurrence(b, q, k, v, g, gpu.Tensor{})
	if c == nil {
		return gpu.Tensor{}
	}
	y, _ := c.run(st.t)
	return y
}

// DeltaRecurrence is LinearRecurrence whose values are corrected by what the state already holds under the key:
// S = exp(g) S + k beta (v - k . exp(g) S). rest is the difference in the parentheses, for the backward pass.
func (r *Recorder) DeltaRecurrence(b *Batch, q, k, v, g, beta gpu.Tensor) (y, rest gpu.Tensor) {
	return r.DeltaRecurrenceStep(b, &State{}, q, k, v, g, beta)
}

// DeltaRecurrenceStep continues from the state and leaves the state after the last token.
func (r *Recorder) DeltaRecurrenceStep(b *Batch, st *State, q, k, v, g, beta gpu.Tensor) (y, rest gpu.Tensor) {
	c := r.recurrence(b, q, k, v, g, beta)
	if c == nil {
		return
	}
	return c.run(st.t)
}
