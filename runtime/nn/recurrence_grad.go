package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// LinearRecurrenceGrad returns the gradients of LinearRecurrence.
func (r *Recorder) LinearRecurrenceGrad(b *Batch, q, k, v, g, dy gpu.Tensor) (dq, dk, dv, dg gpu.Tensor) {
	c := r.recurrence(b, q, k, v, g, gpu.Tensor{})
	if c == nil {
		return
	}
	_, dv = c.backValues(dy)
	dq, dk, dg = c.backKeys(v, gpu.Tensor{}, dy)
	return dq, dk, dv, dg
}

// DeltaRecurrenceGrad returns the gradients of DeltaRecurrence.
func (r *Recorder) DeltaRecurrenceGrad(b *Batch, q, k, v, g, beta, rest, dy gpu.Tensor) (dq, dk, dv, dg, dbeta gpu.Tensor) {
	c := r.recurrence(b, q, k, v, g, beta)
	if c == nil {
		return
	}
	du, dv := c.backValues(dy)
	dq, dk, dg = c.backKeys(rest, du, dy)
	dbeta = r.rowDot(du, rest)
	r.Free(du)
	return dq, dk, dv, dg, dbeta
}

// rowDot is the product of a and b summed over the last dimension.
func (r *Recorder) rowDot(a, b gpu.Tensor) gpu.Tensor {
	y := r.Alloc(gpu.F32, a.Shape[:len(a.Shape)-1]...)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.RowDot, ceilDiv(y.Len(), lanes), words(lanes), words(a.Rows(), a.Cols()), a, b, y)
	return y
}

// backValues goes through the tokens backwards, a column of the state an invocation.
func (c *recurrence) backValues(dy gpu.Tensor) (du, dv gpu.Tensor) {
	r := c.r
	dv = r.Alloc(gpu.F32, c.v.Shape...)
	if c.delta {
		du = r.Alloc(gpu.F32, c.v.Shape...)
	}
	state := r.Alloc(gpu.F32, c.b.B, c.h, c.n, c.p)
	step := c.stepFor(2*ceilDiv(c.n, 4) + 2)
	c.spansBack(step, func(from, to int) {
		r.Dispatch(&r.K.RecurrenceBackValues, [3]int{ceilDiv(c.p, c.lanesP), c.h, c.b.B},
			[]uint32{uint32(c.lanesP), uint32(ceilDiv(c.n, 4)), flag(c.m > 1), flag(c.delta), flag(to < c.b.T), flag(c.n%4 == 0),
				flag(r.unrolled(c.n))},
			words(c.b.T, from, to, c.h, c.hk, c.n, c.p, c.m), c.q, c.k, dy, c.g, c.beta, c.b.Seg, state, du, dv)
	})
	r.Free(state)
	return du, dv
}

// spansBack is spans from the last piece to the first.
func (c *recurrence) spansBack(step int, f func(from, to int)) {
	for from := (c.b.T - 1) / step * step; from >= 0; from -= step {
		f(from, min(from+step, c.b.T))
	}
}

// backKeys computes the gradients of queries, keys and decays, a row of the state an invocation. u are the values that were
// added to the state (the delta rule's without beta), du their gradients. States are kept at the borders of chunks of about
// sqrt(T) tokens and computed again inside of one.
func (c *recurrence) backKeys(u, du, dy gpu.Tensor) (dq, dk, dg gpu.Tensor) {
	r, T, size := c.r, c.b.T, c.b.B*c.h*c.p*c.n
	full := []int{c.b.B, T, c.h, c.n}
	dq, dk, dg = r.Alloc(gpu.F32, full...), r.Alloc(gpu.F32, full...), r.Alloc(gpu.F32, full...)
	step := min(c.stepFor(2*ceilDiv(c.p, 4)+2), int(math.Ceil(math.Sqrt(float64(T)))))
	borders := make([]gpu.Tensor, ceilDiv(T, step))
	for i := range borders {
		borders[i] = r.Alloc(gpu.F32, size)
	}
	s := pass{q: dy, k: u, v: c.k, hk: c.h, hv: c.hk, n: c.p, p: c.n, scaled: c.delta}
	if c.m > 1 {
		s.decay = 2
	}
	r.Fill(borders[0], 0)
	c.spans(step, func(from, to int) {
		var after gpu.Tensor
		if i := from/step + 1; i < len(borders) {
			after = borders[i]
		}
		c.forward(s, from, to, borders[from/step], after, dq, gpu.Tensor{})
	})
	scratch, state := r.Alloc(gpu.F32, step, size), r.Alloc(gpu.F32, size)
	c.spansBack(step, func(from, to int) {
		r.Dispatch(&r.K.RecurrenceBackKeys, [3]int{ceilDiv(c.n, c.lanesN), c.h, c.b.B},
			[]uint32{uint32(c.lanesN), uint32(ceilDiv(c.p, 4)), flag(c.m > 1), flag(c.delta), flag(to < T), flag(c.p%4 == 0),
				flag(r.unrolled(c.p))},
			words(T, from, to, c.h, c.hk, c.n, c.p, size), c.q, c.k, u, du, dy, c.g, c.beta, c.b.Seg,
			borders[from/step], scratch, state, dk, dg)
		r.Free(borders[from/step])
	})
	r.Free(scratch, state)
	return c.overGroups(dq), c.overGroups(dk), c.overRows(dg)
}

// overGroups sums over the heads that share keys.
func (c *recurrence) overGroups(x gpu.Tensor) gpu.Tensor {
	if c.h == c.hk || c.r.Err() != nil {
		return x
	}
	y := c.r.SumBack(x.Reshape(c.b.B*c.b.T, c.hk, c.h/c.hk, c.n), SumBackAttrs{Like: []int{c.b.B * c.b.T, c.hk, 1, c.n}})
	c.r.Free(x)
	return y.Reshape(c.q.Shape...)
}

// overRows sums over the rows of the state that share a decay.
func (c *recurrence) overRows(x gpu.Tensor) gpu.Tensor {
	if c.m > 1 || c.n == 1 || c.r.Err() != nil {
		return x
	}
	y := c.r.SumBack(x, SumBackAttrs{Like: c.g.Shape})
	c.r.Free(x)
	return y
}
