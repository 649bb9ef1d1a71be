package optest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// A primitive is one call of a kernel primitive: its result is compared with the float64 reference of its name, and its
// gradients with central differences of that reference.
type primitive struct {
	op     string
	name   string // of the case, where an op has several
	in     []*refrun.Array
	whole  []int // inputs that are whole numbers
	wanted []int // inputs whose gradients the kernel returns, in order
	attr   map[string]any
	batch  *refrun.Batch
	kernel func(p *primitiveRun) (y gpu.Tensor, grads func(dy gpu.Tensor) []gpu.Tensor) // grads nil: not differentiable
}

// A primitiveRun is what a kernel is called with.
type primitiveRun struct {
	t *testing.T
	d *gpu.Device
	r *nn.Recorder
	b *nn.Batch
	x []gpu.Tensor // the inputs
	p []*nn.Param  // the same as parameters with a gradient
}

func ints(r *rand.Rand, below int, shape ...int) *refrun.Array {
	a := normals(r, shape...)
	for i := range a.Data {
		a.Data[i] = float64(r.IntN(below))
	}
	return a
}

type attrs = map[string]any

func primitives() []primitive {
	r := rand.New(rand.NewPCG(17, 4))
	n := func(shape ...int) *refrun.Array { return normals(r, shape...) }
	list := mixerPrimitives(r, n)
	list = append(list, expertPrimitives(r, n)...)
	list = append(list, structurePrimitives(n)...)
	return append(list, attentionBothPrimitives(n)...)
}

func mixerPrimitives(r *rand.Rand, n func(...int) *refrun.Array) []primitive {
	var list []primitive
	for _, a := range []nn.UnfoldAttrs{{Width: 3, Before: 1}, {Width: 5, Before: 4}, {Width: 9, Before: 4}, {Width: 2, Before: -1}} {
		list = append(list, primitive{op: "unfold", in: []*refrun.Array{n(2, 7, 3)}, wanted: []int{0},
			attr: attrs{"width": a.Width, "before": a.Before},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Unfold(p.x[0], a), func(dy gpu.Tensor) []gpu.Tensor { return []gpu.Tensor{p.r.UnfoldGrad(dy, a)} }
			}})
	}
	for _, filters := range []int{6, 3, 1} {
		a := nn.DepthwiseConvAttrs{Before: 2}
		list = append(list, primitive{op: "depthwise_conv", in: []*refrun.Array{n(2, 11, 6), n(filters, 5)}, wanted: []int{0, 1},
			attr: attrs{"before": 2},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.DepthwiseConv(p.x[0], p.x[1], a), func(dy gpu.Tensor) []gpu.Tensor {
					dx, dw := p.r.DepthwiseConvGrad(p.x[0], p.x[1], dy, a)
					return []gpu.Tensor{dx, dw}
				}
			}})
	}
	for _, a := range []nn.RelativeGatherAttrs{{Span: 4}, {Span: 4, ByKey: true}, {Span: 8, Buckets: 8, Distance: 21},
		{Span: 6, Buckets: 6, Distance: 13, ByKey: true}} {
		list = append(list, primitive{op: "relative_gather", in: []*refrun.Array{n(2, 1, 13, 2*a.Span)}, wanted: []int{0},
			attr: attrs{"span": a.Span, "buckets": a.Buckets, "distance": a.Distance, "by_key": a.ByKey},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				c, err := nn.NewRelativeColumns(p.d, a)
				if err != nil {
					p.t.Fatal(err)
				}
				return p.r.RelativeGather(c, p.x[0]), func(dy gpu.Tensor) []gpu.Tensor {
					return []gpu.Tensor{p.r.RelativeGatherGrad(c, dy)}
				}
			}})
	}
	for _, a := range []nn.RelativeBiasAttrs{{Heads: 3, Buckets: 8, Distance: 11}, {Heads: 2, Buckets: 7, Distance: 15, Causal: true}} {
		list = append(list, primitive{op: "relative_bias", in: []*refrun.Array{n(a.Buckets, a.Heads)}, wanted: []int{0},
			attr: attrs{"distance": a.Distance, "causal": a.Causal}, batch: &refrun.Batch{B: 2, T: 19, S: 19},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				c, err := nn.NewRelativeBuckets(p.d, a)
				if err != nil {
					p.t.Fatal(err)
				}
				return p.r.RelativeBias(p.b, c, p.p[0]), func(dy gpu.Tensor) []gpu.Tensor {
					p.r.RelativeBiasGrad(p.b, c, p.p[0], dy)
					return []gpu.Tensor{p.p[0].Grad}
				}
			}})
	}
	group := nn.GroupLinearAttrs{Groups: 3, Width: 5, Out: 21}
	list = append(list, primitive{op: "group_linear", in: []*refrun.Array{n(2, 3, 15), n(21, 5, 1)}, wanted: []int{0, 1},
		attr: attrs{"groups": 3},
		kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
			return p.r.GroupLinear(p.p[1], p.x[0], group), func(dy gpu.Tensor) []gpu.Tensor {
				return []gpu.Tensor{p.r.GroupLinearGrad(p.p[1], p.x[0], dy, group), p.p[1].Grad}
			}
		}})
	cosines := n(3, 7)
	for i := range cosines.Data {
		cosines.Data[i] = 0.9 * math.Tanh(cosines.Data[i])
	}
	return append(list,
		primitive{op: "angle_power", in: []*refrun.Array{cosines}, attr: attrs{"power": 5},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.AnglePower(p.x[0], nn.AnglePowerAttrs{Power: 5}), nil
			}},
		primitive{op: "angle_power_grad", in: []*refrun.Array{n(3, 7), n(3, 7)}, attr: attrs{"power": 5},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.AnglePowerGrad(p.x[0], p.x[1], nn.AnglePowerAttrs{Power: 5}), nil
			}},
		primitive{op: "dft", attr: attrs{"size": 13, "period": 31},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				c, _ := p.r.Dft(nn.DftAttrs{Size: 13, Period: 31})
				return c, nil
			}})
}

func expertPrimitives(r *rand.Rand, n func(...int) *refrun.Array) []primitive {
	distinct := ints(r, 7, 5, 3) // several slots may name one place
	index := ints(r, 6, 5, 3)    // expert 5 does not exist: its slots are dropped
	for i := range index.Data {
		if index.Data[i] == 2 { // an expert without slots
			index.Data[i] = 1
		}
	}
	plan := func(p *primitiveRun) gpu.Tensor { return p.r.Route(p.x[1], nn.RouteAttrs{Experts: 5}) }
	list := []primitive{
		{op: "route", in: []*refrun.Array{index}, whole: []int{0}, attr: attrs{"experts": 5},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.Route(p.x[0], nn.RouteAttrs{Experts: 5}), nil
			}},
		{op: "topk", in: []*refrun.Array{ints(r, 5, 4, 11)}, attr: attrs{"k": 3},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.TopK(p.x[0], nn.TopKAttrs{K: 3}), nil
			}},
		{op: "gather_last", in: []*refrun.Array{n(5, 7), distinct}, whole: []int{1}, wanted: []int{0},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.GatherLast(p.x[0], p.x[1]), func(dy gpu.Tensor) []gpu.Tensor {
					return []gpu.Tensor{p.r.ScatterLast(dy, p.x[1], nn.ScatterLastAttrs{Like: []int{5, 7}})}
				}
			}},
		{op: "scatter_last", in: []*refrun.Array{n(5, 3), distinct}, whole: []int{1}, attr: attrs{"cols": 7}, wanted: []int{0},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.ScatterLast(p.x[0], p.x[1], nn.ScatterLastAttrs{Like: []int{5, 7}}), func(dy gpu.Tensor) []gpu.Tensor {
					return []gpu.Tensor{p.r.GatherLast(dy, p.x[1])}
				}
			}},
		{op: "group_limit", in: []*refrun.Array{n(5, 15)}, attr: attrs{"groups": 5, "keep": 2, "best": 2, "zero": true},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.GroupLimit(p.x[0], nn.GroupLimitAttrs{Groups: 5, Keep: 2, Best: 2, Zero: true}), nil
			}},
		{op: "index_scores", in: []*refrun.Array{n(2, 3, 5, 7), n(2, 9, 7), n(2, 3, 5)}, attr: attrs{"scale": 0.5},
			kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
				return p.r.IndexScores(p.x[0], p.x[1], p.x[2], nn.IndexScoresAttrs{Scale: 0.5}), nil
			}},
	}
	for _, bias := range []bool{false, true} {
		in, wanted := []*refrun.Array{n(5, 3, 7), index, n(5, 9, 7)}, []int{0, 2}
		if bias {
			in, wanted = append(in, n(5, 9)), append(wanted, 3)
		}
		grads := func(p *primitiveRun, back func(w, b *nn.Param, x, plan, dy gpu.Tensor) gpu.Tensor, b *nn.Param, plan, dy gpu.Tensor) []gpu.Tensor {
			g := []gpu.Tensor{back(p.p[2], b, p.x[0], plan, dy), p.p[2].Grad}
			if b != nil {
				g = append(g, b.Grad)
			}
			return g
		}
		biasOf := func(p *primitiveRun) *nn.Param {
			if bias {
				return p.p[3]
			}
			return nil
		}
		shared := append([]*refrun.Array{n(5, 7)}, in[1:]...)
		list = append(list,
			primitive{op: "expert_linear", in: in, whole: []int{1}, wanted: wanted,
				kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
					to := plan(p)
					y := p.r.ExpertLinear(p.p[2], biasOf(p), p.x[0], to, nn.ExpertLinearAttrs{Experts: 5, Out: 9})
					return y, func(dy gpu.Tensor) []gpu.Tensor { return grads(p, p.r.ExpertLinearGrad, biasOf(p), to, dy) }
				}},
			primitive{op: "expert_linear_in", in: shared, whole: []int{1}, wanted: wanted,
				kernel: func(p *primitiveRun) (gpu.Tensor, func(gpu.Tensor) []gpu.Tensor) {
					to := plan(p)
					y := p.r.ExpertLinearIn(p.p[2], biasOf(p), p.x[0], to, nn.ExpertLinearInAttrs{Experts: 5, Out: 9, K: 3})
					return y, func(dy gpu.Tensor) []gpu.Tensor { return grads(p, p.r.ExpertLinearInGrad, biasOf(p), to, dy) }
				}})
	}
	return list
}

// TestPrimitives compares every primitive of the list with its reference, and its gradients with central differences of it.
func TestPrimitives(t *testing.T) {
	d := device(t)
	for _, c := range primitives() {
		t.Run(c.op+c.name, func(t *testing.T) { checkPrimitive(t, d, c) })
	}
}

func checkPrimitive(t *testing.T, d *gpu.Device, c primitive) {
	p := &primitiveRun{t: t, d: d, r: recorder(d, gpu.F32), x: make([]gpu.Tensor, len(c.in)), p: make([]*nn.Param, len(c.in))}
	whole := map[int]bool{}
	for _, i := range c.whole {
		whole[i] = true
	}
	for i, a := range c.in {
		if a == nil {
			continue
		}
		if whole[i] {
			words := make([]int, len(a.Data))
			for k, v := range a.Data {
				words[k] = int(v)
			}
			p.x[i] = uploadInts(t, d, words, a.Shape...)
			continue
		}
		p.x[i] = upload(t, d, gpu.F32, a)
		p.p[i] = param(t, d, c.op, gpu.F32, a)
	}
	if b := c.batch; b != nil {
		p.b = &nn.Batch{B: b.B, T: b.T, S: b.S, Seg: uploadInts(t, d, b.Seg, b.B, b.T), KeySeg: uploadInts(t, d, b.KeySeg, b.B, b.S)}
	}
	f := refrun.Kernels()[c.op]
	call := &refrun.Call{In: c.in, Attr: c.attr, Batch: c.batch}
	want, err := f(call)
	if err != nil {
		t.Fatal(err)
	}
	y, back := c.kernel(p)
	var grads []gpu.Tensor
	dy := normals(rand.New(rand.NewPCG(1, 9)), want[0].Shape...)
	if back != nil {
		grads = back(upload(t, d, gpu.F32, dy))
	}
	run(t, p.r)
	if y.Type == gpu.I32 {
		got := downloadInts(t, d, y)
		near(t, "y", got[:min(len(got), len(want[0].Data))], want[0], 0) // route leaves places that have no meaning
	} else {
		near(t, "y", download(t, d, y), want[0], 2e-6)
	}
	if back == nil {
		return
	}
	slopes, err := refrun.Differences(f, call, dy, c.wanted...)
	if err != nil {
		t.Fatal(err)
	}
	for k, i := range c.wanted {
		near(t, "gradient of input "+string(rune('0'+i)), download(t, d, grads[k]), slopes[k], 4e-6)
	}
}

func downloadInts(t *testing.T, d *gpu.Device, x gpu.Tensor) []float64 {
	words := make([]int32, x.Len())
	if err := d.Read(x, words); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(words))
	for i, w := range words {
		out[i] = float64(w)
	}
	return out
}
