package nn

import (
	"fmt"
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// CacheAppend stores x [B T ...] in rows Base .. Base+T-1 of state [B S ...], a persistent tensor of any
// storage, and returns state. The caller keeps Base+T within S; rows beyond are dropped.
func (r *Recorder) CacheAppend(b *Batch, state, x gpu.Tensor) gpu.Tensor {
	if r.Err() != nil {
		return state
	}
	if len(x.Shape) < 2 || len(x.Shape) != len(state.Shape) || x.Dim(0) != b.B || x.Dim(1) != b.T ||
		state.Dim(0) != b.B ||
		!slices.Equal(x.Shape[2:], state.Shape[2:]) {
		r.Fail(
			fmt.Errorf(
				"cache: new rows %v do not fit into %v; want [%d %d ...] into [%d S ...]",
				x,
				state,
				b.B,
				b.T,
				b.B,
			),
		)
		return state
	}
	width, size := 1, state.Dim(1)
	for _, d := range x.Shape[2:] {
		width *= d
	}
	if width%4 != 0 && (x.Type != gpu.F32 || state.Type != gpu.F32) {
		r.Fail(
			fmt.Errorf(
				"cache: rows of %d elements in 16-bit storage: want a multiple of 4; use f32",
				width,
			),
		)
		return state
	}
	lanes := r.linearLanes()
	r.DispatchRows(
		&r.K.CacheAppend,
		b.B,
		func(n int) int { return ceilDiv(n*b.T*ceilDiv(width, 4), lanes) },
		[]uint32{uint32(lanes)},
		func(n int) []uint32 {
			return []uint32{uint32(n), uint32(b.T), uint32(size), uint32(width), flag(b.Base.Valid())}
		},
		gpu.Bind{T: x, PerRow: true},
		gpu.Bind{T: b.Base},
		gpu.Bind{T: state, PerRow: true},
	)
	return state
}
