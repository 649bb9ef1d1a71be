package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// reach records p, in pieces where an operand is larger than one binding reaches: weights are split by their rows,
// activations by theirs. Splitting K adds the pieces up in f32, in order.
func (r *Recorder) reach(p product) {
	limit, big := r.info().MaxStorageBufferRange, r.big
	add := p.add.Valid() && big(p.add)
	switch {
	case !big(p.a) && !big(p.b) && !big(p.c) && !add:
		r.chains(p)
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

// big reports whether one binding does not reach all of t.
func (r *Recorder) big(t gpu.Tensor) bool { return t.Bytes() > r.info().MaxStorageBufferRange }

// longestChain is the largest number of products that are added one to the next. The rounding error of such a chain grows
// with the root of its length, and where matrix units truncate even with the length, so longer sums are made of pieces.
const longestChain = 8192

// chains records p with sums of at most longestChain.
func (r *Recorder) chains(p product) {
	n := (p.k + longestChain - 1) / longestChain
	if n == 1 {
		r.splitK(p)
		return
	}
	r.sumPieces(p, ((p.k+n-1)/n+63)/64*64, func(q product, _ int) { r.splitK(q) })
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

// reachK records pieces of K. What the pieces are rows of is split by rows, what they are columns of by windows.
func (r *Recorder) reachK(p product, limit int64) {
	var tensors []stored
	if p.ta {
		tensors = append(tensors, stored{p.a, p.lda})
	}
	if !p.tb {
		tensors = append(tensors, stored{p.b, p.ldb})
	}
	step := r.rowsWithin(limit, tensors...)
	if step == 0 {
		return
	}
	r.sumPieces(p, step, func(q product, k int) {
		if p.ta {
			q.a, q.offA = rows(p.a, p.k, p.lda, k, q.k), p.offA
		}
		if !p.tb {
			q.b, q.offB = rows(p.b, p.k, p.ldb, k, q.k), p.offB
		}
		r.reach(q)
	})
}

// sumPieces records p in pieces of step of K, each by record, which is told where the piece begins. Every piece is a window
// of the operands and adds to the f32 sum of those before.
func (r *Recorder) sumPieces(p product, step int, record func(q product, k int)) {
	sum := p.c
	if p.c.Type != gpu.F32 {
		sum = r.Alloc(gpu.F32, p.batch, p.m, p.n)
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
		q.offA, q.offB = p.offA+k, p.offB+k*p.ldb
		if p.ta {
			q.offA = p.offA + k*p.lda
		}
		if p.tb {
			q.offB = p.offB + k
		}
		record(q, k)
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
