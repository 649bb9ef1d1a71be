package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// DropoutAttrs: each element is dropped with probability P.
type DropoutAttrs struct{ P float32 }

// DropoutGradAttrs repeat the probability for the gradient.
type DropoutGradAttrs = DropoutAttrs

// Dropout drops elements of x while training and scales the others by 1/(1-P); the mask, one bit an element, is for the
// gradient. Which elements fall depends on the seed, the step and the place in the recording. Otherwise it is x itself.
func (r *Recorder) Dropout(x gpu.Tensor, a DropoutAttrs) (y, mask gpu.Tensor) {
	if !r.Training || a.P == 0 || r.Err() != nil {
		return r.Retain(x), gpu.Tensor{}
	}
	if a.P < 0 || a.P >= 1 {
		r.failf("dropout with probability %g, want at least 0 and less than 1", a.P)
	}
	if !r.Seed.Valid() {
		r.failf("dropout while training needs a seed: set Recorder.Seed")
	}
	mask = r.Alloc(gpu.U32, ceilDiv(x.Len(), 32))
	r.sites++
	return r.dropout(x, mask, a.P, true, r.sites), mask
}

// DropoutGrad lets the gradient through where the mask kept the element.
func (r *Recorder) DropoutGrad(dy, mask gpu.Tensor, a DropoutAttrs) gpu.Tensor {
	if !mask.Valid() || r.Err() != nil {
		return r.Retain(dy)
	}
	return r.dropout(dy, mask, a.P, false, 0)
}

// dropout draws the mask of a site, a function of the seed and the site alone, or reads it.
func (r *Recorder) dropout(x, mask gpu.Tensor, p float32, draw bool, site uint32) gpu.Tensor {
	y := r.Alloc(x.Type, x.Shape...)
	if x.Type.Size() == 2 && x.Len()%4 != 0 {
		r.failf("dropout of %v: 16-bit storage needs a multiple of 4 elements; use f32", x)
		return y
	}
	lanes := r.linearLanes()
	keep := uint32((1 - p) * 65536)
	r.DispatchLinear(&r.K.Dropout, ceilDiv(x.Len(), 32*lanes), []uint32{uint32(lanes), flag(draw)},
		[]uint32{uint32(x.Len()), site, keep, bits(1 / (1 - p))}, x, r.Seed, mask, y)
	return y
}
