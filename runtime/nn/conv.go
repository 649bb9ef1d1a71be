package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// TokenMask returns F32 [B, T, 1]: 1 for tokens, 0 for padding.
func (r *Recorder) TokenMask(b *Batch) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, b.B, b.T, 1)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.TokenMask, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)}, []uint32{uint32(y.Len())}, b.Seg, y)
	return y
}

// CausalConvAttrs: the number of inputs that a result sees.
type CausalConvAttrs struct{ Width int }

// CausalConvGradAttrs repeat the width for the gradient.
type CausalConvGradAttrs = CausalConvAttrs

// CausalConv is a depthwise convolution over time that sees the last Width inputs of its column: x [B, T, D], weight
// [D, 1, Width], bias [D] or nil. Inputs of another packed sequence count as zero.
func (r *Recorder) CausalConv(b *Batch, weight, bias *Param, x gpu.Tensor, a CausalConvAttrs) gpu.Tensor {
	return r.causalConv(b, gpu.Tensor{}, weight, bias, x, a)
}

// CausalConvStep continues after the inputs that the state holds, and keeps the last Width-1 of all.
func (r *Recorder) CausalConvStep(b *Batch, st *State, weight, bias *Param, x gpu.Tensor, a CausalConvAttrs) gpu.Tensor {
	y := r.causalConv(b, st.t, weight, bias, x, a)
	if !st.t.Valid() || a.Width < 2 || r.Err() != nil {
		return y
	}
	n, lanes := b.B*x.Cols(), r.linearLanes()
	r.DispatchLinear(&r.K.CausalConvState, ceilDiv(n, lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(n), uint32(b.T), uint32(x.Cols()), uint32(a.Width)}, x, st.t)
	return y
}

func (r *Recorder) causalConv(b *Batch, state gpu.Tensor, weight, bias *Param, x gpu.Tensor, a CausalConvAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(r.Act, x.Shape...)
	w, lanes := r.pairs(&r.K.CausalConv, y), r.linearLanes()
	r.DispatchLinear(&r.K.CausalConv, ceilDiv(y.Len(), w*lanes),
		[]uint32{uint32(lanes), uint32(w), flag(bias != nil), flag(state.Valid())},
		[]uint32{uint32(y.Len()), uint32(b.T), uint32(x.Cols()), uint32(a.Width)},
		x, weight.Value, bias.ValueOrNone(), b.Seg, state, y)
	return y
}

// CausalConvGrad returns dx and adds the gradients of weight and bias.
func (r *Recorder) CausalConvGrad(b *Batch, weight, bias *Param, x, dy gpu.Tensor, a CausalConvGradAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	dx := r.Alloc(r.Act, x.Shape...)
	d := x.Cols()
	w, lanes := r.pairs(&r.K.CausalConvGrad, dx), r.linearLanes()
	r.DispatchLinear(&r.K.CausalConvGrad, ceilDiv(dx.Len(), w*lanes), []uint32{uint32(lanes), uint32(w)},
		[]uint32{uint32(dx.Len()), uint32(b.T), uint32(d), uint32(a.Width)}, dy, weight.Value, b.Seg, dx)
	if bias != nil && !bias.Frozen {
		r.SumRows(dy, bias)
	}
	if weight.Frozen || r.Err() != nil {
		return dx
	}
	const least = 32 // tokens of a chunk
	rows := b.B * b.T
	chunk := max(least, ceilDiv(rows, 1024))
	part := r.Alloc(gpu.F32, ceilDiv(rows, chunk), weight.Value.Len())
	lanes = min(lanes, 64)
	r.Dispatch(&r.K.CausalConvWeightGrad, [3]int{ceilDiv(part.Cols(), lanes), part.Rows(), 1}, []uint32{uint32(lanes)},
		[]uint32{uint32(rows), uint32(b.T), uint32(d), uint32(a.Width), uint32(chunk)}, x, dy, b.Seg, part)
	grad, accumulate := r.GradInto(weight)
	r.SumRowsInto(part, grad, accumulate)
	r.Free(part)
	return dx
}
