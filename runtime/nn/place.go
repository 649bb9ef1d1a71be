package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// Place returns the positions of the tokens as numbers: F32 [B, T].
func (r *Recorder) Place(b *Batch) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, b.B, b.T)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.IndexFloat, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)}, []uint32{uint32(y.Len())}, b.Pos, y)
	return y
}
