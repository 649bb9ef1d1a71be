package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// The methods of this file are the ops of specs/ops under the names and in the argument order of their table; they adapt
// the kernels' own interfaces.

func bits(v float32) uint32 { return math.Float32bits(v) }

// Tokens returns the batch's token ids [B, T].
func (r *Recorder) Tokens(b *Batch) gpu.Tensor { return r.Retain(b.Tokens) }

// LinearHeads is Linear with the result seen as heads: [..., heads, out/heads].
func (r *Recorder) LinearHeads(l *Linear, x gpu.Tensor, heads int) gpu.Tensor {
	y := r.Linear(l, x)
	if r.Err() != nil {
		return y
	}
	return y.Reshape(append(append([]int{}, x.Shape[:len(x.Shape)-1]...), heads, -1)...)
}

// Attend is Attention with the heads of the result side by side: y [B, T, H*U].
func (r *Recorder) Attend(b, keys *Batch, q, k, v, bias, sinks, slopes, chosen gpu.Tensor, a AttentionAttrs) (y, lse gpu.Tensor) {
	a.Slopes, a.Chosen, a.Key = slopes, chosen, a.Key+b.Layer<<12
	y, lse = r.Attention(b, keys, q, k, v, bias, sinks, a)
	if r.Err() != nil {
		return y, lse
	}
	return y.Reshape(b.B, b.T, -1), lse
}

// AttendGrad is AttentionGrad for y and dy with the heads side by side.
func (r *Recorder) AttendGrad(b, keys *Batch, q, k, v, bias, sinks, slopes, chosen, y, lse, dy gpu.Tensor, a AttentionAttrs) (
	dq, dk, dv, dbias, dsinks gpu.Tensor) {
	if r.Err() != nil {
		return
	}
	a.Slopes, a.Chosen, a.Key = slopes, chosen, a.Key+b.Layer<<12
	heads := []int{b.B, b.T, q.Dim(2), v.Dim(3)}
	return r.AttentionGrad(b, keys, q, k, v, bias, sinks, y.Reshape(heads...), lse, dy.Reshape(heads...), a)
}

// Rotate is Rope.
func (r *Recorder) Rotate(x, table gpu.Tensor, a RopeAttrs) gpu.Tensor { return r.Rope(x, table, a) }

// RotateBack is the gradient of Rotate.
func (r *Recorder) RotateBack(x, table gpu.Tensor, a RopeAttrs) gpu.Tensor {
	a.Inverse = !a.Inverse
	return r.Rope(x, table, a)
}

// Cache keeps nothing while training: the keys are the tokens of the batch.
func (r *Recorder) Cache(x gpu.Tensor) gpu.Tensor { return r.Retain(x) }

// CacheStep appends x to the state and returns all of it; without state it is Cache.
func (r *Recorder) CacheStep(b *Batch, st *State, x gpu.Tensor) gpu.Tensor {
	if !st.t.Valid() {
		return r.Retain(x)
	}
	return r.CacheAppend(b, st.t, x)
}

// AddGrad adds t, summed over the rows that p's shape lacks, to the gradient of p. An absent or frozen parameter takes none.
func (r *Recorder) AddGrad(p *Param, t gpu.Tensor) {
	if p == nil || p.Frozen || r.Err() != nil || !t.Valid() {
		return
	}
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	r.SumRows(t.Reshape(-1, n), p)
}

// SumInto returns a + b and frees both; an absent a is zero.
func (r *Recorder) SumInto(a, b gpu.Tensor) gpu.Tensor {
	if !a.Valid() || r.Err() != nil {
		return b
	}
	y := r.Add(a, b)
	r.Free(a, b)
	return y
}

// ValueOrNone is the parameter's value, or the zero Tensor when the parameter is absent.
func (p *Param) ValueOrNone() gpu.Tensor {
	if p == nil {
		return gpu.Tensor{}
	}
	return p.Value
}

// RopeTableAttrs are the rotary positions of a spec: Params is the rope_parameters or rope_scaling object of config.json,
// the others what stands outside of it (see RopeParams).
type RopeTableAttrs struct {
	Params   map[string]any
	Dim      int // width of a head
	Theta    float64
	Partial  float64
	Max      int
	Original int
	Type     string  // when Params names none
	Base     float64 // wins over the rope_theta of Params when not 0
}

// NewRope makes the table of a rope_table op.
func NewRope(_ *gpu.Device, a RopeTableAttrs) (*RopeTable, error) {
	p, err := NewRopeParams(RopeParams{HeadDim: a.Dim, Theta: a.Theta, Partial: a.Partial, MaxPositions: a.Max,
		Original: a.Original, Type: a.Type}, a.Params)
	if err != nil {
		return nil, err
	}
	if a.Base > 0 {
		p.Theta = a.Base
	}
	return NewRopeTable(p), nil
}

// PositionsAttrs shift the positions.
type PositionsAttrs struct{ Offset int }

// Positions returns the positions of the tokens [B, T], shifted.
func (r *Recorder) Positions(b *Batch, a PositionsAttrs) gpu.Tensor {
	if a.Offset == 0 || r.Err() != nil {
		return r.Retain(b.Pos)
	}
	y := r.Alloc(gpu.I32, b.B, b.T)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.ShiftIndex, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(y.Len()), uint32(int32(a.Offset))}, b.Pos, y)
	return y
}

// TokenTypes returns the batch's token types [B, T], zeros when it has none.
func (r *Recorder) TokenTypes(b *Batch) gpu.Tensor {
	if b.Types.Valid() || r.Err() != nil {
		return r.Retain(b.Types)
	}
	return r.zeros(gpu.I32, b.B, b.T)
}
