package nn

import (
	"fmt"
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// RopeAttrs say how Rope pairs features.
type RopeAttrs struct {
	Interleaved bool // pairs (2i, 2i+1) instead of (i, i+half)
	Dim         int  // features rotated; 0 = as many as the angles have
	Offset      int  // the first of them
	Inverse     bool // rotate back: the gradient
}

// RopeTable looks up the angles of the batch's positions: F32 [B T 2*half], cosines then sines. Where the
// frequencies depend on the length of the sequence, that is the recorded one: S keys, or T tokens if more.
// Positions must be below it.
func (r *Recorder) RopeTable(b *Batch, t *RopeTable) gpu.Tensor {
	return r.ropeTable(b, t, b.Pos, 1)
}

// RopeTableAxes is RopeTable for positions in three dimensions: pos is I32 [3 B T], time, height and width of
// each token, and the sections of t say which of them rules each frequency.
func (r *Recorder) RopeTableAxes(b *Batch, t *RopeTable, pos gpu.Tensor) gpu.Tensor {
	return r.ropeTable(b, t, pos, 3)
}

func (r *Recorder) ropeTable(b *Batch, t *RopeTable, pos gpu.Tensor, axes int) gpu.Tensor {
	half := t.Half()
	if pos.Len() != axes*b.B*b.T || pos.Type != gpu.I32 {
		r.Fail(
			fmt.Errorf(
				"rope: positions are %v, want %d numbers of I32, %d for each of %d x %d tokens",
				pos,
				axes*b.B*b.T,
				axes,
				b.B,
				b.T,
			),
		)
	}
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	table, err := t.on(r.Dev, max(b.T, b.S))
	var axis gpu.Tensor
	if err == nil && axes > 1 {
		axis, err = t.axes(r.Dev)
	}
	if err != nil {
		r.Fail(err)
		return gpu.Tensor{}
	}
	cs := r.Alloc(gpu.F32, b.B, b.T, 2*half)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.RopeTable, ceilDiv(cs.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(b.B * b.T), uint32(half), uint32(table.Dim(0)), uint32(axes)}, table, pos, axis, cs)
	return cs
}

// Rope rotates features of every head of x [B T H D] by the angles cs [B T 2*half] of RopeTable and returns
// the result, stored like x. The gradient of Rope is Rope with Inverse.
func (r *Recorder) Rope(x, cs gpu.Tensor, a RopeAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	half, d := cs.Cols()/2, x.Dim(3)
	switch {
	case len(x.Shape) != 4 || cs.Type != gpu.F32 || !slices.Equal(cs.Shape[:len(cs.Shape)-1], x.Shape[:2]):
		r.Fail(fmt.Errorf("rope: x %v and angles %v, want [B T H D] and F32 [B T 2*half]", x, cs))
	case a.Dim != 0 && a.Dim != 2*half:
		r.Fail(fmt.Errorf("rope: %d features are to be rotated, the angles are for %d", a.Dim, 2*half))
	case a.Offset < 0 || a.Offset+2*half > d:
		r.Fail(
			fmt.Errorf(
				"rope: features %d to %d are to be rotated, heads have %d",
				a.Offset,
				a.Offset+2*half,
				d,
			),
		)
	case x.Type != gpu.F32 && d%4 != 0:
		r.Fail(
			fmt.Errorf(
				"rope: heads of %d features in 16-bit storage: want a multiple of 4; use f32 activations",
				d,
			),
		)
	}
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(x.Type, x.Shape...)
	lanes := r.linearLanes()
	tokens, heads := x.Dim(0)*x.Dim(1), x.Dim(2)
	spec := []uint32{uint32(lanes), uint32(d), uint32(half), uint32(a.Offset), flag(a.Interleaved)}
	r.DispatchRows(
		&r.K.Rope,
		tokens,
		func(n int) int { return ceilDiv(n*heads*ceilDiv(d, 4), lanes) },
		spec,
		func(n int) []uint32 { return []uint32{uint32(n * heads), uint32(heads), flag(a.Inverse)} },
		gpu.Bind{T: x, PerRow: true},
		gpu.Bind{T: cs, PerRow: true},
		gpu.Bind{T: y, PerRow: true},
	)
	return y
}
