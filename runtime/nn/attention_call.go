package nn

import (
	"fmt"
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// attentionCall is one attention with its arguments checked.
type attentionCall struct {
	B, T, S, H, K, G, E, V int // G = H/K query heads share a key head
	q, k, v, bias, chosen  gpu.Tensor
	seg, keySeg, base      gpu.Tensor
	slopes                 gpu.Tensor
	flags                  uint32 // FLAGS of lib/attention.glsl
	window, ahead          int
	biasBatches            int
	splits                 int
	scale, softcap         float32
	seed                   gpu.Tensor
	key, keep              uint32
	boost                  float32
}

// The bits of FLAGS.
const (
	flagCausal = 1 << iota
	flagWindow
	flagSoftcap
	flagBias
	flagSlopes
	flagSinks
	flagBase
	flagSeg
	flagKeySeg
	flagDropout
	flagChosen
	flagChunks
)

// attentionCall checks shapes and types, so that no kernel reads outside a tensor.
func (r *Recorder) attentionCall(
	b, keys *Batch,
	q, k, v, bias, sinks gpu.Tensor,
	a AttentionAttrs,
) (*attentionCall, error) {
	n := &attentionCall{
		B: b.B, T: b.T, S: keys.S, H: q.Dim(2), K: k.Dim(2), E: q.Dim(3), V: v.Dim(3),
		q: q, k: k, v: v, bias: bias, chosen: a.Chosen, slopes: a.Slopes, seg: b.Seg, keySeg: keys.KeySeg,
		scale: a.Scale, softcap: a.Softcap, splits: 1, biasBatches: 1,
	}
	if n.H < 1 || n.K < 1 || n.H%n.K != 0 || n.E < 1 || n.V < 1 || n.T < 1 || n.S < 1 {
		const want = "[B T H E], [B S K E], [B S K V] with K dividing H"
		return nil, fmt.Errorf("attention: q %v, k %v, v %v: want %s", q, k, v, want)
	}
	n.G = n.H / n.K
	if err := n.shapes(sinks); err != nil {
		return nil, err
	}
	if err := n.bits(b, sinks, a); err != nil {
		return nil, err
	}
	if err := n.dropout(r, a); err != nil {
		return nil, err
	}
	return n, n.storage(r)
}

func (n *attentionCall) shapes(sinks gpu.Tensor) error {
	for _, want := range []struct {
		name     string
		t        gpu.Tensor
		dims     []int
		optional bool
	}{
		{"q", n.q, []int{n.B, n.T, n.H, n.E}, false},
		{"k", n.k, []int{n.B, n.S, n.K, n.E}, false},
		{"v", n.v, []int{n.B, n.S, n.K, n.V}, false},
		{"sinks", sinks, []int{n.H}, true},
		{"slopes", n.slopes, []int{n.H}, true},
		{"Seg", n.seg, []int{n.B, n.T}, true},
		{"KeySeg", n.keySeg, []int{n.B, n.S}, true},
	} {
		if !(want.optional && want.t.Shape == nil) && !slices.Equal(want.t.Shape, want.dims) {
			return fmt.Errorf("attention: %s is %v, want shape %v", want.name, want.t, want.dims)
		}
	}
	return nil
}

// dropout switches the dropping of weights on while training.
func (n *attentionCall) dropout(r *Recorder, a AttentionAttrs) error {
	if a.Dropout == 0 || !r.Training {
		return nil
	}
	if !(a.Dropout > 0 && a.Dropout < 1) {
		return fmt.Errorf(
			"attention: dropout with probability %g, want at least 0 and less than 1",
			a.Dropout,
		)
	}
	if r.Seed.Type != gpu.U32 || r.Seed.Len() != 2 {
		return fmt.Errorf(
			"attention: dropout while training needs Recorder.Seed, U32 [2]; it is %v",
			r.Seed,
		)
	}
	n.flags |= flagDropout
	n.seed, n.key, n.keep, n.boost = r.Seed, a.Key, uint32((1-a.Dropout)*65536), 1/(1-a.Dropout)
	return nil
}

// bits sets the flags and what goes with each.
func (n *attentionCall) bits(b *Batch, sinks gpu.Tensor, a AttentionAttrs) error {
	set := func(on bool, bit uint32) {
		if on {
			n.flags |= bit
		}
	}
	set(a.Causal, flagCausal)
	set(a.Window > 0, flagWindow)
	set(a.Softcap > 0, flagSoftcap)
	set(n.bias.Shape != nil, flagBias)
	set(a.Slopes.Shape != nil, flagSlopes)
	set(n.chosen.Shape != nil, flagChosen)
	set(sinks.Shape != nil, flagSinks)
	if b.Base.Shape != nil {
		n.base = b.Base
		set(true, flagBase)
	}
	set(n.seg.Shape != nil, flagSeg)
	set(n.keySeg.Shape != nil, flagKeySeg)
	set(a.Chunk > 0, flagChunks)
	if a.Chunk > 0 && a.Window > 0 {
		return fmt.Errorf("attention: a window of %d and chunks of %d: want one of them", a.Window, a.Chunk)
	}
	n.window = max(a.Window, a.Chunk, 0)
	n.ahead = n.window
	if a.Ahead > 0 {
		n.ahead = a.Ahead
	}
	if want := []int{n.B, n.T, ceilDiv(n.S, 32)}; n.chosen.Shape != nil &&
		(n.bias.Shape != nil || n.chosen.Type != gpu.I32 || !slices.Equal(n.chosen.Shape, want)) {
		return fmt.Errorf("attention: chosen is %v, want I32 %v and no bias beside it", n.chosen, want)
	}
	if n.bias.Shape == nil {
		return nil
	}
	n.biasBatches = n.bias.Dim(0)
	if n.biasBatches != 1 && n.biasBatches != n.B || !slices.Equal(n.bias.Shape[1:], []int{n.H, n.T, n.S}) {
		return fmt.Errorf(
			"attention: bias is %v, want shape [%d %d %d %d] or [1 ...]",
			n.bias,
			n.B,
			n.H,
			n.T,
			n.S,
		)
	}
	return nil
}

// storage checks element types, and what rows of 16-bit elements need.
func (n *attentionCall) storage(r *Recorder) error {
	for _, t := range []gpu.Tensor{n.bias, n.slopes} {
		if t.Shape != nil && t.Type != gpu.F32 {
			return fmt.Errorf("attention: %v: bias and slopes must be F32", t)
		}
	}
	half := r.Act != gpu.F32 || n.q.Type != gpu.F32 || n.k.Type != gpu.F32 || n.v.Type != gpu.F32
	if half && (n.E%4 != 0 || n.V%4 != 0) {
		return fmt.Errorf(
			"attention: head widths %d and %d must be multiples of 4 in 16-bit storage; use f32 activations",
			n.E,
			n.V,
		)
	}
	return nil
}

// largestBytes is the size of the largest input.
func (n *attentionCall) largestBytes() int64 {
	return max(n.q.Bytes(), n.k.Bytes(), n.v.Bytes(), n.bias.Bytes())
}
