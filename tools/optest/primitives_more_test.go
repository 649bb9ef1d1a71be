package optest

import (
	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// structurePrimitives are rearrangements. Where a gradient is the same kernel turned round, it runs that.
func structurePrimitives(n func(...int) *refrun.Array) []primitive {
	shape := []int{3, 5, 7}
	x := func() []*refrun.Array { return []*refrun.Array{n(shape...)} }
	order := nn.PermuteAttrs{Order: []int{2, 0, 1}}
	axis := []int{1}
	return []primitive{
		{op: "permute", in: x(), wanted: []int{0}, attr: attrs{"order": order.Order},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Permute(p.x[0], order), func(dy gpu.Tensor) []gpu.Tensor { return []gpu.Tensor{p.r.PermuteBack(dy, order)} }
			}},
		{op: "slice", in: x(), wanted: []int{0}, attr: attrs{"axis": 1, "from": 1, "size": 2, "step": 3},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Slice(p.x[0], nn.SliceAttrs{From: 1, Size: 2, Step: 3, Axis: axis}), func(dy gpu.Tensor) []gpu.Tensor {
					return []gpu.Tensor{p.r.SliceBack(dy, nn.SliceBackAttrs{From: 1, Step: 3, Axis: axis, Like: shape})}
				}
			}},
		{op: "pad", in: x(), wanted: []int{0}, attr: attrs{"axis": 1, "from": -2, "size": 10},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Pad(p.x[0], nn.PadAttrs{Before: 2, After: 3, Axis: axis}), func(dy gpu.Tensor) []gpu.Tensor {
					return []gpu.Tensor{p.r.PadBack(dy, nn.PadBackAttrs{Before: 2, After: 3, Axis: axis, Like: shape})}
				}
			}},
		{op: "split", in: x(), attr: attrs{"axis": 2, "from": 2, "size": 4},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Split(p.x[0], nn.SplitAttrs{Sizes: []int{2, 4, 1}})[1], nil
			}},
		{op: "concat", in: append(x(), n(3, 2, 7)), wanted: []int{0, 1}, attr: attrs{"axis": 1},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Concat(p.x, nn.ConcatAttrs{Axis: axis}), func(dy gpu.Tensor) []gpu.Tensor {
					return p.r.Split(dy, nn.SplitAttrs{Sizes: []int{5, 2}, Axis: axis})
				}
			}},
		{op: "expand", in: []*refrun.Array{n(3, 1, 7)}, wanted: []int{0}, attr: attrs{"shape": shape},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Expand(p.x[0], nn.ExpandAttrs{Shape: shape}), func(dy gpu.Tensor) []gpu.Tensor {
					return []gpu.Tensor{p.r.SumBack(dy, nn.SumBackAttrs{Like: []int{3, 1, 7}})}
				}
			}},
		{op: "sum", in: x(), wanted: []int{0}, attr: attrs{"axis": 1},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.SumAxis(p.x[0], nn.SumAxisAttrs{Axis: axis}), func(dy gpu.Tensor) []gpu.Tensor {
					return []gpu.Tensor{p.r.ExpandBack(dy, nn.ExpandBackAttrs{Like: shape})}
				}
			}},
	}
}

// attentionBothPrimitives: one softmax over two sets of keys, with blocks and with a bias.
func attentionBothPrimitives(n func(...int) *refrun.Array) []primitive {
	const B, T, H, K, E, U, R = 2, 7, 4, 2, 5, 3, 6
	one := func(count int) []int {
		all := make([]int, count)
		for i := range all {
			all[i] = 1
		}
		return all
	}
	var list []primitive
	for _, c := range []struct {
		name string
		a    nn.AttentionBothAttrs
		bias bool
	}{
		{" causal, bias", nn.AttentionBothAttrs{Scale: 0.5, Causal: true, Open: true}, true},
		{" blocks", nn.AttentionBothAttrs{Scale: 0.5, Open: true, Block: 3, Shift: 1}, false},
		{" window", nn.AttentionBothAttrs{Scale: 0.5, Causal: true, Open: true, Window: 3}, false},
	} {
		in, wanted := []*refrun.Array{n(B, T, H, E), n(B, T, K, E), n(B, T, K, U), n(B, R, K, E), n(B, R, K, U), nil}, []int{0, 1, 2, 3, 4}
		if c.bias {
			in[5], wanted = n(1, H, T, T), append(wanted, 5)
		}
		list = append(list, primitive{op: "attention_both", name: c.name, in: in, wanted: wanted,
			batch: &refrun.Batch{B: B, T: T, S: T, Seg: one(B * T), KeySeg: one(B * T)},
			attr:  attrs{"scale": 0.5, "causal": c.a.Causal, "window": c.a.Window, "open": true, "block": c.a.Block, "shift": c.a.Shift},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				x := p.x
				y, lse := p.r.AttendBoth(p.b, p.b, x[0], x[1], x[2], x[3], x[4], x[5], c.a)
				return y, func(dy gpu.Tensor) []gpu.Tensor {
					dq, dk, dv, dek, dev, dbias := p.r.AttendBothGrad(p.b, p.b, x[0], x[1], x[2], x[3], x[4], x[5], y, lse, dy, c.a)
					return []gpu.Tensor{dq, dk, dv, dek, dev, dbias}
				}
			}})
	}
	return list
}
