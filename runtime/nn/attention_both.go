package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// AttentionBothAttrs are those of attention, and what tells the two sets of keys apart.
type AttentionBothAttrs struct {
	Scale, Softcap, Dropout float32
	Causal                  bool
	Window, Ahead           int
	Open                    bool // the further keys are no tokens: none is padding
	Block, Shift            int  // tokens see the first keys of their own block; the first block is shorter by Shift
	Key                     uint32
}

// bothCall is the two attentions that an attention over both sets of keys consists of.
type bothCall struct {
	queries, keys [2]*Batch
	attrs         [2]AttentionAttrs
	blocks        gpu.Tensor
}

// secondSet keeps the random numbers of the second set's dropout apart.
const secondSet = 1 << 31

func (r *Recorder) bothCall(b, more *Batch, q, ek gpu.Tensor, a AttentionBothAttrs) *bothCall {
	first, keys := *b, *b
	if q.Dim(1) != b.T { // queries that are no tokens
		first.T, first.Seg, first.Base = q.Dim(1), gpu.Tensor{}, gpu.Tensor{}
	}
	second, further := first, *more
	further.S = ek.Dim(1)
	if a.Open {
		second.Seg, further.KeySeg = gpu.Tensor{}, gpu.Tensor{}
	}
	c := &bothCall{queries: [2]*Batch{&first, &second}, keys: [2]*Batch{&keys, &further}}
	if a.Block > 0 && r.Err() == nil {
		c.blocks = r.Alloc(gpu.I32, b.B, b.T)
		lanes := r.linearLanes()
		r.DispatchLinear(&r.K.BlockSegments, ceilDiv(c.blocks.Len(), lanes), []uint32{uint32(lanes)},
			[]uint32{uint32(c.blocks.Len()), uint32(b.T), uint32(a.Block), uint32(a.Shift)}, b.KeySeg, c.blocks)
		first.Seg, keys.KeySeg = c.blocks, c.blocks
	}
	c.attrs[0] = AttentionAttrs{Scale: a.Scale, Softcap: a.Softcap, Dropout: a.Dropout, Causal: a.Causal, Window: a.Window,
		Ahead: a.Ahead, Key: a.Key}
	c.attrs[1] = AttentionAttrs{Scale: a.Scale, Softcap: a.Softcap, Dropout: a.Dropout, Key: a.Key ^ secondSet}
	return c
}

// AttendBoth returns the attention of q over k, v and ek, ev with one softmax: y [B, T, H*U] and lse [B, H, T].
func (r *Recorder) AttendBoth(b, more *Batch, q, k, v, ek, ev, bias gpu.Tensor, a AttentionBothAttrs) (y, lse gpu.Tensor) {
	c := r.bothCall(b, more, q, ek, a)
	y1, lse1 := r.Attention(c.queries[0], c.keys[0], q, k, v, bias, gpu.Tensor{}, c.attrs[0])
	y2, lse2 := r.Attention(c.queries[1], c.keys[1], q, ek, ev, gpu.Tensor{}, gpu.Tensor{}, c.attrs[1])
	if r.Err() != nil {
		return y1, lse1
	}
	B, T, H, V := q.Dim(0), q.Dim(1), q.Dim(2), v.Dim(3)
	parts, lses := r.Alloc(y1.Type, 2*B, T, H, V), r.Alloc(gpu.F32, 2*B, H, T)
	for i, t := range []gpu.Tensor{y1, y2} {
		r.Copy(parts.Slice(i*B, (i+1)*B), t)
	}
	for i, t := range []gpu.Tensor{lse1, lse2} {
		r.Copy(lses.Slice(i*B, (i+1)*B), t)
	}
	r.Free(y1, y2, lse1, lse2, c.blocks)
	y, lse = r.Alloc(r.Act, B, T, H, V), r.Alloc(gpu.F32, B, H, T)
	r.DispatchLinear(&r.K.AttentionCombine, B*T*H, []uint32{uint32(min(128, ceilDiv(V, 4))), uint32(V)},
		[]uint32{uint32(B), uint32(T), uint32(H), 2}, parts, lses, y, lse)
	r.Free(parts, lses)
	return y.Reshape(B, T, -1), lse
}

// AttendBothGrad returns the gradients of AttendBoth. Each set's share of a weight is exp(logit - lse) with the lse of both
// sets, and what a query's weights have in common, dy . y, is that of both, so that each set is a gradient of attention.
func (r *Recorder) AttendBothGrad(b, more *Batch, q, k, v, ek, ev, bias, y, lse, dy gpu.Tensor, a AttentionBothAttrs) (
	dq, dk, dv, dek, dev, dbias gpu.Tensor) {
	if r.Err() != nil {
		return
	}
	c := r.bothCall(b, more, q, ek, a)
	heads := []int{q.Dim(0), q.Dim(1), q.Dim(2), v.Dim(3)}
	y, dy = y.Reshape(heads...), dy.Reshape(heads...)
	none := gpu.Tensor{}
	dq1, dk, dv, dbias, _ := r.AttentionGrad(c.queries[0], c.keys[0], q, k, v, bias, none, y, lse, dy, c.attrs[0])
	dq2, dek, dev, _, _ := r.AttentionGrad(c.queries[1], c.keys[1], q, ek, ev, none, none, y, lse, dy, c.attrs[1])
	r.Free(c.blocks)
	return r.SumInto(dq1, dq2), dk, dv, dek, dev, dbias
}
