package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// DftAttrs: Size rows and columns; Period is the length of the transform, Size when 0.
type DftAttrs struct{ Size, Period int }

// Dft returns the real parts and the negated imaginary parts of a discrete Fourier transform as matrices F32 [1, Size,
// Size]: cos and sin of 2 pi j k / Period.
func (r *Recorder) Dft(a DftAttrs) (c, s gpu.Tensor) {
	if a.Period == 0 {
		a.Period = a.Size
	}
	if a.Size > 1<<14 || a.Period > 1<<14 {
		r.failf("Fourier transform of %d places: more than %d would need the fast algorithm", a.Size, 1<<14)
		return
	}
	c, s = r.Alloc(gpu.F32, 1, a.Size, a.Size), r.Alloc(gpu.F32, 1, a.Size, a.Size)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.Dft, ceilDiv(c.Len(), lanes), []uint32{uint32(lanes)}, []uint32{uint32(a.Size), uint32(a.Period)}, c, s)
	return c, s
}

// UnfoldAttrs: Width neighbours of every token, the first one Before places to the left.
type UnfoldAttrs struct{ Width, Before int }

// Unfold returns the neighbours of every token of x [B, T, D]: [B, T, Width, D], zero outside of the row.
func (r *Recorder) Unfold(x gpu.Tensor, a UnfoldAttrs) gpu.Tensor {
	if r.Err() != nil || !r.f32Only("unfold", x) {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, x.Shape[0], x.Shape[1], a.Width, x.Shape[2])
	r.unfold(x, y, a, 0)
	return y
}

// UnfoldGrad sums dy [B, T, Width, D] back to the tokens.
func (r *Recorder) UnfoldGrad(dy gpu.Tensor, a UnfoldAttrs) gpu.Tensor {
	if r.Err() != nil || !r.f32Only("unfold", dy) {
		return gpu.Tensor{}
	}
	dx := r.Alloc(gpu.F32, dy.Shape[0], dy.Shape[1], dy.Shape[3])
	r.unfold(dy, dx, a, 1)
	return dx
}

func (r *Recorder) unfold(x, y gpu.Tensor, a UnfoldAttrs, back uint32) {
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.Unfold, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes), back},
		[]uint32{uint32(y.Len()), uint32(x.Shape[1]), uint32(x.Cols()), uint32(a.Width), uint32(int32(a.Before))}, x, y)
}

// f32Only makes 16-bit storage an error for kernels that have no use for it yet.
func (r *Recorder) f32Only(what string, t gpu.Tensor) bool {
	if t.Type != gpu.F32 {
		r.failf("%s of %v: want f32 activations", what, t)
	}
	return t.Type == gpu.F32
}

// DepthwiseConvAttrs: the first of a filter's places is Before tokens to the left.
type DepthwiseConvAttrs struct{ Before int }

// DepthwiseConv filters every channel of x [B, T, D] over its tokens, zero outside of the row, with one of the C filters
// w [C, K]; D/C neighbouring channels share one.
func (r *Recorder) DepthwiseConv(x, w gpu.Tensor, a DepthwiseConvAttrs) gpu.Tensor {
	return r.depthwise(0, x, w, w, a, x.Shape)
}

// DepthwiseConvGrad returns the gradients of x and w.
func (r *Recorder) DepthwiseConvGrad(x, w, dy gpu.Tensor, a DepthwiseConvAttrs) (dx, dw gpu.Tensor) {
	if r.Err() != nil {
		return
	}
	dx = r.depthwise(1, dy, w, w, a, x.Shape)
	parts := r.depthwise(2, x, dy, w, a, []int{x.Shape[0] * x.Cols() / w.Shape[0], w.Len()}) // one sum over tokens each
	dw = r.Alloc(gpu.F32, w.Shape...)
	r.SumRowsInto(parts, dw.Reshape(w.Len()), false)
	r.Free(parts)
	return dx, dw
}

func (r *Recorder) depthwise(mode uint32, x, second, w gpu.Tensor, a DepthwiseConvAttrs, shape []int) gpu.Tensor {
	if r.Err() != nil || !r.f32Only("depthwise_conv", x) {
		return gpu.Tensor{}
	}
	if x.Cols()%w.Shape[0] != 0 {
		r.failf("depthwise_conv of %v: %d filters do not share its channels evenly", x, w.Shape[0])
	}
	y := r.Alloc(gpu.F32, shape...)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.DepthwiseConv, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes), mode},
		[]uint32{uint32(y.Len()), uint32(x.Shape[1]), uint32(x.Cols()), uint32(w.Shape[0]), uint32(w.Shape[1]), uint32(int32(a.Before))},
		x, second, y)
	return y
}

// AnglePowerAttrs is the exponent.
type AnglePowerAttrs struct{ Power int }

// AnglePower returns (1 - acos(x)/pi)^Power: how likely two vectors with the cosine x share Power random signs.
func (r *Recorder) AnglePower(x gpu.Tensor, a AnglePowerAttrs) gpu.Tensor {
	return r.anglePower(0, x, x, a)
}

// AnglePowerGrad returns dy y Power/2, the bound that training uses for the derivative.
func (r *Recorder) AnglePowerGrad(y, dy gpu.Tensor, a AnglePowerAttrs) gpu.Tensor {
	return r.anglePower(1, y, dy, a)
}

func (r *Recorder) anglePower(back uint32, x, u gpu.Tensor, a AnglePowerAttrs) gpu.Tensor {
	if r.Err() != nil || !r.f32Only("angle_power", x) {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, x.Shape...)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.AnglePower, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes), back},
		[]uint32{uint32(y.Len()), uint32(a.Power)}, x, u, y)
	return y
}

// AtMostAttrs is the number of tokens; Why says what ends there.
type AtMostAttrs struct {
	Tokens int
	Why    string
}

// AtMost returns x, and fails for a batch with more tokens.
func (r *Recorder) AtMost(b *Batch, x gpu.Tensor, a AtMostAttrs) gpu.Tensor {
	if r.Err() == nil && b.T > a.Tokens {
		r.failf("a row of %d tokens: at most %d, %s", b.T, a.Tokens, a.Why)
	}
	return r.Retain(x)
}
