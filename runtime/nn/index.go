package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// ConstantIndexAttrs is the index.
type ConstantIndexAttrs struct{ Value int }

// ConstantIndex returns one index for every token [B, T].
func (r *Recorder) ConstantIndex(b *Batch, a ConstantIndexAttrs) gpu.Tensor {
	y := r.Alloc(gpu.I32, b.B, b.T)
	r.Fill(y, uint32(int32(a.Value)))
	return y
}
