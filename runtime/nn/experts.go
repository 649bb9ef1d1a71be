package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// TopKAttrs: how many values of a row are chosen.
type TopKAttrs struct{ K int }

// TopK returns the places of the K largest values of every row of x [..., E]: I32 [..., K], largest first, the lower place
// on ties.
func (r *Recorder) TopK(x gpu.Tensor, a TopKAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	if a.K < 1 || a.K > x.Cols() {
		r.failf("topk: %d of the %d values of %v", a.K, x.Cols(), x)
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.I32, withCols(x.Shape, a.K)...)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.Topk, ceilDiv(x.Rows(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(x.Rows()), uint32(x.Cols()), uint32(a.K)}, x, y)
	return y
}

// GatherLast returns y[r, k] = x[r, index[r, k]].
func (r *Recorder) GatherLast(x, index gpu.Tensor) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(x.Type, index.Shape...)
	r.lastPlaces(&r.K.GatherLast, y, x.Cols(), index.Cols(), x, index)
	return y
}

// ScatterLastAttrs is the shape of the result.
type ScatterLastAttrs struct{ Like []int }

// ScatterLast is the gradient of GatherLast: values that go to one place are added in order.
func (r *Recorder) ScatterLast(dy, index gpu.Tensor, a ScatterLastAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	dx := r.Alloc(dy.Type, a.Like...)
	r.lastPlaces(&r.K.ScatterLast, dx, dx.Cols(), index.Cols(), dy, index)
	return dx
}

func (r *Recorder) lastPlaces(k *gpu.Kernel, y gpu.Tensor, e, n int, x, index gpu.Tensor) {
	if r.Err() != nil {
		return
	}
	w := r.pairs(k, y)
	lanes := r.linearLanes()
	r.DispatchLinear(k, ceilDiv(y.Len(), w*lanes), []uint32{uint32(lanes), uint32(w)},
		[]uint32{uint32(y.Len()), uint32(e), uint32(n)}, x, index, y)
}

// pairs is how many results an invocation writes: two in 16-bit storage, which needs even rows.
func (r *Recorder) pairs(k *gpu.Kernel, y gpu.Tensor) int {
	if y.Type.Size() != 2 {
		return 1
	}
	if y.Cols()%2 != 0 {
		r.failf("kernel %s into %v: 16-bit storage needs rows of even length; use f32", k.Name, y)
	}
	return 2
}

// SumAxisAttrs names the axis.
type SumAxisAttrs struct{ Axis []int }

// SumAxis sums over an axis, which keeps the size one.
func (r *Recorder) SumAxis(x gpu.Tensor, a SumAxisAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	return r.SumBack(x, SumBackAttrs{Like: withAxis(x.Shape, axisOf(a.Axis, len(x.Shape)), 1)})
}

// ExpandBackAttrs is the shape of the result.
type ExpandBackAttrs struct{ Like []int }

// ExpandBack is the gradient of a sum.
func (r *Recorder) ExpandBack(dy gpu.Tensor, a ExpandBackAttrs) gpu.Tensor {
	return r.Expand(dy, ExpandAttrs{Shape: a.Like})
}

// RouteAttrs: the number of experts.
type RouteAttrs struct{ Experts int }

// Route sorts the slots of index [..., K] by expert: I32 [experts+1+slots], offsets, then slots. Slots with an index
// outside [0, Experts) are left out.
func (r *Recorder) Route(index gpu.Tensor, a RouteAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	plan := r.Alloc(gpu.I32, a.Experts+1+index.Len())
	lanes := int(r.info().SubgroupSize)
	r.Dispatch(&r.K.Route, [3]int{a.Experts, 1, 1}, []uint32{uint32(lanes)},
		[]uint32{uint32(index.Len()), uint32(a.Experts)}, index, plan)
	return plan
}

// ExpertLinearAttrs: the number of experts and the width of the result.
type ExpertLinearAttrs struct{ Experts, Out int }

// ExpertLinearInAttrs: likewise, with the number of choices of a token.
type ExpertLinearInAttrs struct{ Experts, Out, K int }

// ExpertLinear returns y[slot] = weight[e] x[slot] + bias[e] for x [..., K, I] and the expert e of each slot.
func (r *Recorder) ExpertLinear(weight, bias *Param, x, plan gpu.Tensor, a ExpertLinearAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	return r.expertLinear(weight, bias, x, plan, withCols(x.Shape, a.Out), 1)
}

// ExpertLinearIn is ExpertLinear for x [..., I] that the K choices of a token share.
func (r *Recorder) ExpertLinearIn(weight, bias *Param, x, plan gpu.Tensor, a ExpertLinearInAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	shape := append(append([]int{}, x.Shape[:len(x.Shape)-1]...), a.K, a.Out)
	return r.expertLinear(weight, bias, x, plan, shape, a.K)
}

func (r *Recorder) expertLinear(weight, bias *Param, x, plan gpu.Tensor, shape []int, share int) gpu.Tensor {
	y := r.zeros(r.Act, shape...) // dropped slots stay zero
	b := weight.Value
	if bias != nil {
		b = bias.Value
	}
	r.expertProduct(weight, x, plan, b, y, share, false, bias != nil)
	return y
}

// expertRows is ROWS of expert_linear.comp.tmpl.
const expertRows = 4

func (r *Recorder) expertProduct(weight *Param, x, plan, bias, y gpu.Tensor, share int, back, hasBias bool) {
	if r.Err() != nil {
		return
	}
	experts, o, i := weight.Shape[0], weight.Shape[1], weight.Shape[2]
	columns, w := y.Cols(), r.pairs(&r.K.ExpertLinear, y)
	slots := plan.Len() - experts - 1
	lanes := min(r.linearLanes(), 64)
	r.Dispatch(&r.K.ExpertLinear, [3]int{ceilDiv(columns, w*lanes), ceilDiv(slots, expertRows) + experts, 1},
		[]uint32{uint32(lanes), uint32(w), flag(back), flag(hasBias)},
		[]uint32{uint32(experts), uint32(o), uint32(i), uint32(share)}, x, plan, weight.Value, bias, y)
}

// ExpertLinearGrad returns dx [..., K, I] and adds the gradients of weight and bias.
func (r *Recorder) ExpertLinearGrad(weight, bias *Param, x, plan, dy gpu.Tensor) gpu.Tensor {
	return r.expertGrads(weight, bias, x, plan, dy, 1)
}

// ExpertLinearInGrad returns dx [..., I], summed over the choices of a token in order.
func (r *Recorder) ExpertLinearInGrad(weight, bias *Param, x, plan, dy gpu.Tensor) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	k := dy.Dim(-2)
	dslots := r.expertGrads(weight, bias, x, plan, dy, k)
	like := append(append([]int{}, x.Shape[:len(x.Shape)-1]...), 1, x.Cols())
	dx := r.SumBack(dslots, SumBackAttrs{Like: like})
	r.Free(dslots)
	if r.Err() != nil {
		return dx
	}
	return dx.Reshape(x.Shape...)
}

func (r *Recorder) expertGrads(weight, bias *Param, x, plan, dy gpu.Tensor, share int) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	dx := r.zeros(r.Act, withCols(dy.Shape, weight.Shape[2])...)
	r.expertProduct(weight, dy, plan, weight.Value, dx, 1, true, false)
	r.expertParam(weight, x, plan, dy, weight.Shape[2], share, false)
	if bias != nil {
		r.expertParam(bias, x, plan, dy, 1, share, true)
	}
	return dx
}

func (r *Recorder) expertParam(p *Param, x, plan, dy gpu.Tensor, i, share int, bias bool) {
	if p.Frozen || r.Err() != nil {
		return
	}
	grad, accumulate := r.GradInto(p)
	lanes := min(r.linearLanes(), 64)
	if bias {
		lanes = 1
	}
	experts, o := p.Shape[0], dy.Cols()
	r.Dispatch(&r.K.ExpertGrad, [3]int{ceilDiv(i, lanes), ceilDiv(o, expertRows), experts}, []uint32{uint32(lanes), flag(bias)},
		[]uint32{uint32(experts), uint32(o), uint32(i), uint32(share), flag(accumulate)}, x, plan, dy, grad)
}

// GroupIDsAttrs: the number of groups.
type GroupIDsAttrs struct{ Groups int }

// GroupIDs returns the numbers 0 .. Groups-1 for every token: I32 [B, T, Groups].
func (r *Recorder) GroupIDs(b *Batch, a GroupIDsAttrs) gpu.Tensor {
	y := r.Alloc(gpu.I32, b.B, b.T, a.Groups)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.GroupIds, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(y.Len()), uint32(a.Groups)}, y)
	return y
}
