package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// TokenPositionsAttrs: the padding token.
type TokenPositionsAttrs struct{ Padding int }

// TokenPositions returns I32 [B, T]: Padding for a padding token, else Padding + 1 + the token's position, less the padding
// tokens before it in its segment of the batch.
func (r *Recorder) TokenPositions(b *Batch, a TokenPositionsAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	if b.T > 65535 {
		r.failf("positions that count tokens other than padding: %d tokens a row, at most 65535", b.T)
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.I32, b.B, b.T)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.TokenPositions, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(y.Len()), uint32(b.T), uint32(int32(a.Padding))}, b.Tokens, b.Pos, b.Seg, y)
	return y
}

// HidePaddingAttrs: the padding token.
type HidePaddingAttrs struct{ Padding int }

// HidePadding returns tokens [B, T] and takes padding tokens out of the keys that b shows to attention from here on. In
// decoding through caches it changes nothing: what was seen when its keys were made stays seen.
func (r *Recorder) HidePadding(b *Batch, tokens gpu.Tensor, a HidePaddingAttrs) gpu.Tensor {
	if b.Base.Valid() || r.Err() != nil {
		return r.Retain(tokens)
	}
	seen := r.Alloc(gpu.I32, b.KeySeg.Shape...) // lives as long as the recording
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.HidePadding, ceilDiv(seen.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(seen.Len()), uint32(int32(a.Padding))}, tokens, b.KeySeg, seen)
	b.KeySeg = seen
	return r.Retain(tokens)
}

// LimitLengthAttrs: the longest sequence, 0 = any.
type LimitLengthAttrs struct{ Most int }

// LimitLength returns x, or fails for sequences that are too long.
func (r *Recorder) LimitLength(b *Batch, x gpu.Tensor, a LimitLengthAttrs) gpu.Tensor {
	if a.Most > 0 && b.T > a.Most {
		r.failf("%d tokens a sequence: at most %d; beyond, this model does not attend to all tokens, and the attention that it "+
			"has there is not supported: shorten the sequences", b.T, a.Most)
	}
	return r.Retain(x)
}

// TokenNumbers returns the token ids as F32 [B, T, 1].
func (r *Recorder) TokenNumbers(b *Batch) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, b.B, b.T, 1)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.IndexFloat, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)}, []uint32{uint32(y.Len())}, b.Tokens, y)
	return y
}
