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
