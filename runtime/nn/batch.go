package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// Ignored is the label of a token that has no part in the loss.
const Ignored = -100

// Batch is the input of one step: B sequences of T tokens that may look at S keys.
//
// Query t of row b sees key s when KeySeg[b,s] != 0, and Seg[b,t] is 0 or equals KeySeg[b,s], and (causal) s <= Base+t.
// Seg is 0 for padding and 1, 2, ... for packed sequences. Training has S = T, KeySeg = Seg and no Base.
type Batch struct {
	B, T, S   int
	Tokens    gpu.Tensor // I32 [B T]
	Pos       gpu.Tensor // I32 [B T] position of each token in its sequence
	Seg       gpu.Tensor // I32 [B T]
	KeySeg    gpu.Tensor // I32 [B S]
	Base      gpu.Tensor // U32 [1]: index of the first query among the keys; the zero Tensor means 0
	Labels    gpu.Tensor // I32 [B T], shifted already; Ignored where there is none
	Types     gpu.Tensor // I32 [B T] token types; the zero Tensor means all 0
	Fresh     bool       // the first step of a decoding
	LossScale gpu.Tensor // F32 [1]: weight of each counted token, normally 1/count
	Enc       *Batch     // the encoder's batch, of a decoder that attends to one; else nil
	Layer     uint32     // number of the repetition that is being recorded, to tell its random choices apart
}

// At is the batch inside repetition i of a loop over layers.
func (b *Batch) At(i int) *Batch {
	c := *b
	c.Layer = c.Layer*256 + uint32(i) + 1
	return &c
}

// Local returns b with copies in device memory of the tensors that the host writes, made at this place of the recording: many
// kernels read them many times, each time over the bus if they stayed where they are. CPU drivers know one memory.
func (r *Recorder) Local(b *Batch) *Batch {
	if b == nil || r.info().IsCPU || r.Err() != nil {
		return b
	}
	c := *b
	for _, t := range []*gpu.Tensor{&c.Tokens, &c.Pos, &c.Seg, &c.KeySeg, &c.Base, &c.Labels, &c.Types, &c.LossScale} {
		*t = r.LocalTensor(*t)
	}
	return &c
}

// LocalTensor is Local for one tensor; the copy lives as long as the recording.
func (r *Recorder) LocalTensor(t gpu.Tensor) gpu.Tensor {
	if !t.Valid() || r.info().IsCPU || r.Err() != nil {
		return t
	}
	c := r.Alloc(t.Type, t.Shape...)
	r.Copy(c, t)
	return c
}
