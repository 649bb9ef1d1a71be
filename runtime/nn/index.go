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

// MaskedShareAttrs name the masking token; Kept is the share of tokens that training left unmasked.
type MaskedShareAttrs struct {
	Mask int
	Kept float32
}

// MaskedShare returns F32 [B, T, 1]: 0 for masked tokens, Kept over the unmasked share of their sequence for the others.
func (r *Recorder) MaskedShare(b *Batch, a MaskedShareAttrs) gpu.Tensor {
	y := r.Alloc(gpu.F32, b.B, b.T, 1)
	if r.Err() != nil {
		return y
	}
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.MaskedShare, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(y.Len()), uint32(b.T), uint32(int32(a.Mask)), bits(a.Kept)}, b.Tokens, b.Seg, y)
	return y
}
