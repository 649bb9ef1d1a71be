package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// reach records p, in pieces where an operand is larger than one binding reaches: weights are split by their rows,
// activations by theirs. Splitting K adds the pieces up in f32, in order.
func (r *Recorder) reach(p product) {
	limit := r.info().MaxStorageBufferRange
	big := func(t gpu.Tensor) bool { return t.Bytes() > limit }
	add := p.add.Valid() && big(p.add)
	switch {
	case !big(p.a) && !big(p.b) && !big(p.c) && !add:
		r.splitK(p)
	case p.batch > 1:
		r.reachBatch(p)
	case big(p.c) || add || big(p.a) && !p.ta:
		r.reachM(p, limit)
	case big(p.b) && p.tb:
		r.reachN(p, limit)
	default:
		r.reachK(p, limit)
	}
}

// A stored is a tensor of which pieces of rows are to be bound.
type stored struct {
	t    gpu.Tensor
	cols int
}

// rowsWithin is the largest number of rows of which every tensor's piece fits one binding and after which the next piece
// begins aligned; a multiple of 64 where that fits, which keeps windows aligned for the kernels' wide loads. It is 0, and the
// recorder's error, when not even the least aligned piece fits.
func (r *Recorder) rowsWithin(limit int64, tensors ...stored) int {
	n, step := math.MaxInt, 1
	for _, s := range tensors {
		row := s.cols * s.t.Type.Size()
		n = min(n, int(limit)/row)
		step = lcm(step, lcm(row, int(r.info().MinOffsetAlign))/row)
	}
	if wide := lcm(step, 64); n >= wide {
		return n / wide * wide
	}
	if n = n / step * step; n == 0 {
		r.failf("%d rows of %v are more than the %d bytes that one binding reaches on %s", step, tensors[0].t, limit,
			r.info().Name)
	}
	return n
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// reachBatch records one product of a batch at a time.
func (r *Recorder) reachBatch(p product) {
	sizeA, sizeB := p.m*p.k, p.k*p.n
	a, b := p.a.Reshape(-1, sizeA), p.b.Reshape(-1, sizeB)
	c := p.c.Reshape(p.batch, p.m*p.n)
	for i := range p.batch {
		q := p
		q.batch, q.inner, q.aOuter, q.aInner, q.bOuter, q.bInner = 1, 1, 0, 0, 0, 0
		ia := (i/p.inner*p.aOuter + i%p.inner*p.aInner) / sizeA
		ib := (i/p.inner*p.bOuter + i%p.inner*p.bInner) / sizeB
		q.a, q.b, q.c = a.Slice(ia, ia+1), b.Slice(ib, ib+1), c.Slice(i, i+1)
		if p.add.Valid() {
			q.add = p.add.Reshape(p.batch, p.m*p.n).Slice(i, i+1)
		}
		r.reach(q)
	}
}

// reachM records pieces of the rows of C, and of A where its rows are those of C.
func (r *Recorder) reachM(p product, limit int64) {
	tensors := []stored{{p.c, p.ldc}}
	if p.add.Valid() {
		tensors = append(tensors, stored{p.add, p.ldc})
	}
	if !p.ta {
		tensors = append(tensors, stored{p.a, p.lda})
	}
	step := r.rowsWithin(limit, tensors...)
	if step == 0 {
		return
	}
	for m := 0; m < p.m; m += step {
		q := p
		q.m = min(step, p.m-m)
		q.c = rows(p.c, p.m, p.ldc, m, q.m)
		if p.add.Valid() {
			q.add = rows(p.add, p.m, p.ldc, m, q.m)
		}
		if p.ta {
			q.offA += m
		} else {
			q.a = rows(p.a, p.m, p.lda, m, q.m)
		}
		r.reach(q)
	}
}

// reachN records pieces of the columns of C, which are rows of B [N K].
func (r *Recorder) reachN(p product, limit int64) {
	step := r.rowsWithin(limit, stored{p.b, p.k})
	if step == 0 {
		return
	}
	for n := 0; n < p.n; n += step {
		q := p
		q.n = min(step, p.n-n)
		q.b = rows(p.b, p.n, p.k, n, q.n)
		q.offC += n
		if p.bias.Valid() {
			q.bias = p.bias.Slice(n, n+q.n)
		}
		r.reach(q)
	}
}

// reachK records pieces of K, which are rows of B [K N] or of A [K M]; each adds to the f32 sum of those before.
func (r *Recorder) reachK(p product, limit int64) {
	if p.tb {
		r.failf("matmul: %v by %v, both stored transposed: A has more than the %d bytes that one binding reaches", p.a, p.b,
			limit)
		return
	}
	tensors := []stored{{p.b, p.n}}
	if p.ta {
		tensors = append(tensors, stored{p.a, p.lda})
	}
	step := r.rowsWithin(limit, tensors...)
	if step == 0 {
		return
	}
	sum := p.c
	if p.c.Type != gpu.F32 {
		sum = r.Alloc(gpu.F32, p.m, p.n)
	}
	for k := 0; k < p.k; k += step {
		q := p
		q.k, q.c = min(step, p.k-k), sum
		if sum.Type != p.c.Type {
			q.offC, q.ldc = 0, p.n
			q.bias, q.add, q.accumulate = gpu.Tensor{}, gpu.Tensor{}, false
		}
		if k > 0 {
			q.bias, q.add, q.accumulate = gpu.Tensor{}, gpu.Tensor{}, true
		}
		if p.ta {
			q.a = rows(p.a, p.k, p.lda, k, q.k)
		} else {
			q.offA += k
		}
		q.b = rows(p.b, p.k, p.n, k, q.k)
		r.reach(q)
	}
	if sum.Type != p.c.Type {
		r.join(p, sum, 1)
		r.Free(sum)
	}
}

// rows views n rows from row from on of t as a [total cols] matrix.
func rows(t gpu.Tensor, total, cols, from, n int) gpu.Tensor {
	return t.Reshape(total, cols).Slice(from, from+n)
}
