package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// MatmulOpts says how Matmul reads and finishes a product.
type MatmulOpts struct {
	TransA, TransB bool       // the operand is stored with its last two dimensions swapped
	Alpha          float32    // factor of the product; 0 means 1
	Add            gpu.Tensor // [..., M, N], added to the product; the zero Tensor adds nothing
	F32            bool       // store the result as f32 instead of r.Act
}

// Matmul returns alpha * a b + add for matrices in the last two dimensions:
//
//	a [..., M, K] (TransA: [..., K, M])   b [..., K, N] (TransB: [..., N, K])   result [..., M, N]
//
// The leading dimensions are equal, or 1, or missing in one operand, which is then used for all.
func (r *Recorder) Matmul(a, b gpu.Tensor, opt MatmulOpts) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	p, shape, err := batched(a, b, opt)
	if err != nil {
		r.Fail(err)
		return gpu.Tensor{}
	}
	p.c = r.Alloc(r.storage(opt.F32), shape...)
	r.product(p)
	return p.c
}

// storage is the type of a result: f32 on request, else that of activations.
func (r *Recorder) storage(f32 bool) gpu.DType {
	if f32 {
		return gpu.F32
	}
	return r.Act
}

// A product is one matrix product, or a batch of them, over stored operands:
//
//	C[M,N] = alpha * op(A)[M,K] op(B)[K,N] (+ bias[N]) (+ C) (+ add[M,N])
type product struct {
	a, b, c    gpu.Tensor
	bias, add  gpu.Tensor
	ta, tb     bool
	accumulate bool // add to what c holds
	alpha      float32
	m, n, k    int

	lda, ldb, ldc    int // length of a stored row: windows may be narrower
	offA, offB, offC int // first element of the windows

	batch, inner   int // number of products; b = outer*inner + i
	aOuter, aInner int // strides of the batch in elements
	bOuter, bInner int
}

// plain fills in the fields of a product of whole matrices without a batch.
func (p product) plain() product {
	p.batch, p.inner, p.lda, p.ldb, p.ldc = 1, 1, p.k, p.n, p.n
	if p.ta {
		p.lda = p.m
	}
	if p.tb {
		p.ldb = p.k
	}
	if p.alpha == 0 {
		p.alpha = 1
	}
	return p
}

// flops is the number of floating-point operations.
func (p *product) flops() int64 { return 2 * int64(p.m) * int64(p.n) * int64(p.k) * int64(p.batch) }

// batched makes the product of two stacks of matrices and the shape of its result.
func batched(a, b gpu.Tensor, opt MatmulOpts) (p product, shape []int, err error) {
	if len(a.Shape) < 2 || len(b.Shape) < 2 {
		return p, nil, fmt.Errorf("matmul: %v by %v: both need two dimensions or more", a, b)
	}
	p = product{a: a, b: b, add: opt.Add, ta: opt.TransA, tb: opt.TransB, alpha: opt.Alpha}
	p.m, p.k, p.n = a.Dim(-2), a.Dim(-1), b.Dim(-1)
	if p.ta {
		p.m, p.k = p.k, p.m
	}
	kb := b.Dim(-2)
	if p.tb {
		kb, p.n = p.n, kb
	}
	if kb != p.k {
		return p, nil, fmt.Errorf("matmul: %v by %v (transposed: %v, %v): inner dimensions %d and %d differ",
			a, b, p.ta, p.tb, p.k, kb)
	}
	p = p.plain()
	lead, err := p.broadcast(a.Shape[:len(a.Shape)-2], b.Shape[:len(b.Shape)-2])
	if err != nil {
		return p, nil, fmt.Errorf("matmul: %v by %v: %w", a, b, err)
	}
	shape = append(lead, p.m, p.n)
	if opt.Add.Valid() && !slices.Equal(opt.Add.Shape, shape) {
		return p, nil, fmt.Errorf("matmul: %v by %v: add is %v, want %v", a, b, opt.Add, shape)
	}
	return p, shape, nil
}

// broadcast joins the leading dimensions of a and b and sets the batch strides. The dimensions fold into at most two
// groups, within each of which an operand either repeats or does not.
func (p *product) broadcast(la, lb []int) (lead []int, err error) {
	type group struct {
		size         int
		usesA, usesB bool
	}
	n := max(len(la), len(lb))
	var groups []group
	for i := range n {
		da, db := dimFromEnd(la, n-i), dimFromEnd(lb, n-i)
		if da != db && da != 1 && db != 1 {
			return nil, fmt.Errorf("leading dimensions %v and %v neither agree nor are 1", la, lb)
		}
		d := max(da, db)
		lead = append(lead, d)
		g := group{d, da == d, db == d}
		switch last := len(groups) - 1; {
		case d == 1:
		case last >= 0 && groups[last].usesA == g.usesA && groups[last].usesB == g.usesB:
			groups[last].size *= d
		default:
			groups = append(groups, g)
		}
	}
	if len(groups) > 2 {
		return nil, fmt.Errorf("leading dimensions %v and %v alternate more than once in which operand repeats", la, lb)
	}
	stride := func(uses bool, elements int) int {
		if uses {
			return elements
		}
		return 0
	}
	sizeA, sizeB := p.m*p.k, p.k*p.n
	if len(groups) > 0 {
		g := groups[len(groups)-1]
		p.inner, p.batch = g.size, g.size
		p.aInner, p.bInner = stride(g.usesA, sizeA), stride(g.usesB, sizeB)
		if g.usesA {
			sizeA *= g.size
		}
		if g.usesB {
			sizeB *= g.size
		}
	}
	if len(groups) == 2 {
		p.batch *= groups[0].size
		p.aOuter, p.bOuter = stride(groups[0].usesA, sizeA), stride(groups[0].usesB, sizeB)
	}
	return lead, nil
}

func dimFromEnd(dims []int, fromEnd int) int {
	if fromEnd > len(dims) {
		return 1
	}
	return dims[len(dims)-fromEnd]
}

// product checks the storage, splits what one binding cannot reach, and records the kernels.
func (r *Recorder) product(p product) {
	if r.Err() != nil || p.m == 0 || p.n == 0 || p.batch == 0 {
		return
	}
	if p.k == 0 {
		r.failf("matmul: %v by %v: the inner dimension is 0", p.a, p.b)
		return
	}
	if p.c.Type.Size() == 2 && p.n%2 != 0 {
		r.failf("matmul: %v by %v gives rows of %d elements stored as %v; rows of 16-bit tensors must have even length: "+
			"use f32", p.a, p.b, p.n, p.c.Type)
		return
	}
	if p.accumulate && p.add.Valid() {
		r.failf("matmul: %v by %v: both accumulate and add", p.a, p.b)
		return
	}
	for _, t := range []gpu.Tensor{p.a, p.b, p.c} {
		if t.Len() > math.MaxUint32 {
			r.failf("matmul: %v has %d elements; kernels count to %d", t, t.Len(), uint32(math.MaxUint32))
			return
		}
	}
	r.reach(p)
}

// pushWords lays p out as the push constants of shaders/lib/product.glsl.
func (p *product) pushWords(splits, chunk int) []uint32 {
	cSplit, cBatch := 0, p.m*p.n
	if splits > 1 {
		cSplit, cBatch = p.m*p.n, splits*p.m*p.n
	}
	words := []uint32{}
	for _, v := range []int{p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.offA, p.offB, p.offC, p.aOuter, p.aInner, p.bOuter,
		p.bInner, cBatch, p.inner, splits, chunk, cSplit} {
		words = append(words, uint32(v))
	}
	return append(words, math.Float32bits(p.alpha))
}

// epilogue tells the kernel what to add: 1 bias, 2 the old C, 4 add.
func (p *product) epilogue() (bits uint32) {
	if p.bias.Valid() {
		bits |= 1
	}
	if p.accumulate {
		bits |= 2
	}
	if p.add.Valid() {
		bits |= 4
	}
	return bits
}

// aligned tells which stored rows may be read in words of four elements (1 A, 2 B, 4 C) and of eight (8 B, 16 A and B,
// 32 C).
func (p *product) aligned() (bits uint32) {
	whole := func(by int, values ...int) bool {
		for _, v := range values {
			if v%by != 0 {
				return false
			}
		}
		return true
	}
	innerA, innerB := p.k, p.k // the dimension that lies along a row
	if p.ta {
		innerA = p.m
	}
	if !p.tb {
		innerB = p.n
	}
	if whole(4, innerA, p.lda, p.offA, p.aOuter, p.aInner) {
		bits |= 1
	}
	if whole(4, innerB, p.ldb, p.offB, p.bOuter, p.bInner) {
		bits |= 2
	}
	if whole(4, p.n, p.ldc, p.offC) {
		bits |= 4
	}
	if whole(8, p.n, p.ldc, p.offC) {
		bits |= 32
	}
	if whole(8, innerB, p.ldb, p.offB, p.bOuter, p.bInner) {
		bits |= 8
		if whole(8, innerA, p.lda, p.offA, p.aOuter, p.aInner) {
			bits |= 16
		}
	}
	return bits
}
