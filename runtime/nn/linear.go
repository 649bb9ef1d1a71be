package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// A Linear is a dense layer y = x W^T + b with W [out, in]; b may be nil.
type Linear struct {
	Weight   *Param
	Bias     *Param
	Adapters []*Adapter
	Module   string // dotted module name, for LoRA targets
	Tied     bool   // the weight belongs to another layer, such as the embedding
}

// An Adapter adds Scale * (x A^T) B^T to a Linear.
//
// Source: Hu et al. 2021, LoRA, section 4.1.
type Adapter struct {
	A     *Param // [rank, in]
	B     *Param // [out, rank]
	Scale float32

	// Dropout is the probability that an element of x is left out in training. Site tells the adapter's mask from others':
	// it is drawn again in the backward pass.
	Dropout float32
	Site    uint32
}

// LinearOpts changes where LinearWith puts its result.
type LinearOpts struct {
	F32 bool       // store y as f32 instead of r.Act
	Add gpu.Tensor // [..., out], added in the epilogue (a residual); the zero Tensor adds nothing
}

// Linear returns y [..., out] for x [..., in].
func (r *Recorder) Linear(l *Linear, x gpu.Tensor) gpu.Tensor {
	return r.LinearWith(l, x, LinearOpts{})
}

// LinearWith is Linear with options.
func (r *Recorder) LinearWith(l *Linear, x gpu.Tensor, opt LinearOpts) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	if !r.checkLinear(l, "x", x, 1) {
		return gpu.Tensor{}
	}
	out := l.Weight.Shape[0]
	y := r.Alloc(r.storage(opt.F32), withCols(x.Shape, out)...)
	p := product{a: x, b: l.Weight.Value, c: y, add: opt.Add, tb: true, m: x.Rows(), n: out, k: x.Cols()}.plain()
	if l.Bias != nil {
		p.bias = l.Bias.Value
	}
	r.product(p)
	for _, a := range l.Adapters {
		kept := r.adapterDrop(a, x)
		h := r.adapterIn(a, kept)
		r.Free(kept)
		r.product(product{a: h, b: a.B.Value, c: y, tb: true, accumulate: true, alpha: a.Scale,
			m: x.Rows(), n: out, k: a.A.Shape[0]}.plain())
		r.Free(h)
	}
	return y
}

// adapterDrop returns x, in training with the adapter's dropout.
func (r *Recorder) adapterDrop(a *Adapter, x gpu.Tensor) gpu.Tensor {
	if !r.Training || a.Dropout == 0 || r.Err() != nil {
		return r.Retain(x)
	}
	if !r.Seed.Valid() {
		r.failf("dropout while training needs a seed: set Recorder.Seed")
		return r.Retain(x)
	}
	mask := r.Alloc(gpu.U32, ceilDiv(x.Len(), 32))
	y := r.dropout(x, mask, a.Dropout, true, a.Site)
	r.Free(mask)
	return y
}

// adapterIn returns x A^T in f32: it is small, and its rounding would be felt in B's gradient.
func (r *Recorder) adapterIn(a *Adapter, x gpu.Tensor) gpu.Tensor {
	h := r.Alloc(gpu.F32, x.Rows(), a.A.Shape[0])
	r.product(product{a: x, b: a.A.Value, c: h, tb: true, m: x.Rows(), n: a.A.Shape[0], k: x.Cols()}.plain())
	return h
}

// LinearGrad records the gradients of y = Linear(l, x): dx [..., in] = dy W, and those of weight and bias unless frozen. dx
// is added to into when that is valid, and into is returned; else dx is a new tensor.
func (r *Recorder) LinearGrad(l *Linear, x, dy, into gpu.Tensor) (dx gpu.Tensor) {
	dy = joinHeads(dy, l.Weight.Shape[0])
	if r.Err() != nil || !r.checkLinear(l, "dy", dy, 0) {
		return gpu.Tensor{}
	}
	in := l.Weight.Shape[1]
	dx = into
	if !into.Valid() {
		dx = r.Alloc(r.Act, withCols(dy.Shape, in)...)
	}
	r.product(product{a: dy, b: l.Weight.Value, c: dx, accumulate: into.Valid(), m: dy.Rows(), n: in, k: dy.Cols()}.plain())
	r.linearGrads(l, x, dy, dx)
	return dx
}

// LinearGradWeights is LinearGrad without dx.
func (r *Recorder) LinearGradWeights(l *Linear, x, dy gpu.Tensor) {
	if r.Err() == nil && r.checkLinear(l, "dy", dy, 0) {
		r.linearGrads(l, x, dy, gpu.Tensor{})
	}
}

// linearGrads records the gradients of l's parameters and, when dx is valid, the adapters' part of dx.
func (r *Recorder) linearGrads(l *Linear, x, dy, dx gpu.Tensor) {
	if !l.Weight.Frozen {
		if !r.checkLinear(l, "x", x, 1) {
			return
		}
		r.weightGrad(l.Weight, dy, x, 1)
	}
	if l.Bias != nil && !l.Bias.Frozen {
		r.SumRows(dy, l.Bias)
	}
	for _, a := range l.Adapters {
		r.adapterGrad(a, x, dy, dx)
	}
}

// adapterGrad: with h = drop(x) A^T, dB = s dy^T h, dh = s dy B, dA = dh^T drop(x), dx += drop(dh A).
func (r *Recorder) adapterGrad(a *Adapter, x, dy, dx gpu.Tensor) {
	rows, rank := dy.Rows(), a.A.Shape[0]
	kept := gpu.Tensor{}
	if !a.A.Frozen || !a.B.Frozen {
		kept = r.adapterDrop(a, x)
	}
	if !a.B.Frozen {
		h := r.adapterIn(a, kept)
		r.weightGrad(a.B, dy, h, a.Scale)
		r.Free(h)
	}
	dh := r.Alloc(gpu.F32, rows, rank)
	r.product(product{a: dy, b: a.B.Value, c: dh, alpha: a.Scale, m: rows, n: rank, k: dy.Cols()}.plain())
	if !a.A.Frozen {
		r.weightGrad(a.A, dh, kept, 1)
	}
	r.Free(kept)
	if dx.Valid() {
		r.adapterBack(a, dh, dx)
	}
	r.Free(dh)
}

// adapterBack adds drop(dh A) to dx.
func (r *Recorder) adapterBack(a *Adapter, dh, dx gpu.Tensor) {
	p := product{a: dh, b: a.A.Value, c: dx, accumulate: true, m: dh.Rows(), n: dx.Cols(), k: dh.Cols()}
	if !r.Training || a.Dropout == 0 {
		r.product(p.plain())
		return
	}
	p.c, p.accumulate = r.Alloc(dx.Type, dx.Shape...), false
	r.product(p.plain())
	part := r.adapterDrop(a, p.c)
	sum := r.Add(dx, part)
	r.Copy(dx, sum)
	r.Free(p.c, part, sum)
}

// weightGrad adds scale * dy^T x [out, in] to the gradient of p.
func (r *Recorder) weightGrad(p *Param, dy, x gpu.Tensor, scale float32) {
	if dy.Rows() != x.Rows() {
		r.failf("%s: gradient of %v with input %v: %d rows and %d rows differ", p.Name, dy, x, dy.Rows(), x.Rows())
		return
	}
	grad, accumulate := r.GradInto(p)
	r.product(product{a: dy, b: x, c: grad, ta: true, accumulate: accumulate, alpha: scale,
		m: dy.Cols(), n: x.Cols(), k: dy.Rows()}.plain())
}

// checkLinear reports whether t's last dimension is the weight's dimension dim.
func (r *Recorder) checkLinear(l *Linear, what string, t gpu.Tensor, dim int) bool {
	if len(l.Weight.Shape) != 2 {
		r.failf("linear %s: weight is %v, want two dimensions", l.Weight.Name, l.Weight.Shape)
		return false
	}
	if t.Cols() != l.Weight.Shape[dim] {
		r.failf("linear %s: %s is %v, want %d in its last dimension (weight %v)", l.Weight.Name, what, t,
			l.Weight.Shape[dim], l.Weight.Shape)
		return false
	}
	return true
}

// withCols copies a shape with another last dimension.
func withCols(shape []int, cols int) []int {
	s := append([]int(nil), shape...)
	s[len(s)-1] = cols
	return s
}

// joinHeads sees [..., H, E] as [..., H*E] when that is cols wide.
func joinHeads(t gpu.Tensor, cols int) gpu.Tensor {
	n := len(t.Shape)
	if n < 2 || t.Shape[n-1] == cols || t.Shape[n-2]*t.Shape[n-1] != cols {
		return t
	}
	return t.Reshape(append(append([]int{}, t.Shape[:n-2]...), cols)...)
}
