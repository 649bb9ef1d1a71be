package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// GroupLimitAttrs: the number of groups, how many of them stay, how many values stand for a group, and whether the others
// become zero instead of minus infinity.
type GroupLimitAttrs struct {
	Groups, Keep, Best int
	Zero               bool
}

// GroupLimit returns x [..., E] with minus infinity outside the Keep best of Groups equal groups of every row. A group
// counts as the sum of its Best largest values; the lower group wins on ties. Source: arXiv:2405.04434.
func (r *Recorder) GroupLimit(x gpu.Tensor, a GroupLimitAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	if a.Groups < 1 || x.Cols()%a.Groups != 0 || a.Keep < 1 || a.Keep > a.Groups || a.Best < 1 || a.Best > x.Cols()/a.Groups {
		r.failf("group_limit of %v: the best %d of %d groups by %d values each", x, a.Keep, a.Groups, a.Best)
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, x.Shape...)
	lanes := r.linearLanes()
	n := x.Rows() * a.Groups
	r.DispatchLinear(&r.K.GroupLimit, ceilDiv(n, lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(n), uint32(x.Cols() / a.Groups), uint32(a.Groups), uint32(a.Keep), uint32(a.Best), flag(a.Zero)}, x, y)
	return y
}
