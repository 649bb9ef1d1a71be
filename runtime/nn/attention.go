package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// AttentionAttrs are the constants of an attention.
type AttentionAttrs struct {
	Scale   float32    // of q k^T
	Causal  bool       // query t sees keys up to Base+t
	Window  int        // > 0: and only those nearer than Window positions, on both sides unless causal
	Ahead   int        // > 0: the window among later positions, where it is another
	Softcap float32    // > 0: scaled products are bounded to softcap * tanh(x / softcap)
	Chunk   int        // > 0: queries see the keys of their own chunk of this many positions; not beside a window
	Chosen  gpu.Tensor // I32 [B T words]: bits of the keys that each query sees, from ChooseKeys; the zero Tensor means all
	Slopes  gpu.Tensor // F32 [H], ALiBi: slope * |distance| is subtracted; the zero Tensor means none
	Dropout float32    // probability of dropping a weight in training; the numbers come from Recorder.Seed
	Key     uint32     // keeps the random numbers of different attentions apart; the same for the gradient
}

// Attention is y = softmax(capped(scale q k^T) + bias - alibi, masked by the rule of Batch) v for groups of
// query heads that share a key and value head.
//
//	q [B T H E]  k [B S K E]  v [B S K V], K divides H    y [B T H V] stored as activations
//	bias F32 [1|B H T S] or the zero Tensor
//	sinks [H] of any storage, an extra logit without a value, or the zero Tensor
//	lse F32 [B H T], the logarithm of the softmax's denominator, for AttentionGrad
//
// keys is the batch whose S and KeySeg rule the keys: b itself for self-attention. A query that sees no key
// gives y = 0 and lse = -inf. Nothing of size T x S is stored. Source: FlashAttention-2,
// https://arxiv.org/abs/2307.08691.
func (r *Recorder) Attention(
	b, keys *Batch,
	q, k, v, bias, sinks gpu.Tensor,
	a AttentionAttrs,
) (y, lse gpu.Tensor) {
	n, err := r.attentionCall(b, keys, q, k, v, bias, sinks, a)
	if err != nil {
		r.Fail(err)
		return gpu.Tensor{}, gpu.Tensor{}
	}
	y = r.Alloc(r.Act, n.B, n.T, n.H, n.V)
	lse = r.Alloc(gpu.F32, n.B, n.H, n.T)
	if c := r.attentionCoopFor(n); c.side != 0 {
		r.attentionOnCoop(c, n, sinks, y, lse)
		return y, lse
	}
	if r.lanesFor(n) {
		lanes, per := int(r.info().SubgroupSize), r.perLane(n, n.T*n.G)
		spec := n.spec(uint32(lanes), uint32(n.perStep()), uint32(per))
		r.attentionRows(
			&r.K.AttentionLanes,
			n,
			func(rows int) int { return rows * n.K * ceilDiv(n.T*n.G, lanes*per) },
			spec,
			append(
				n.inputs(),
				gpu.Bind{T: sinks},
				gpu.Bind{T: y, PerRow: true},
				gpu.Bind{T: lse, PerRow: true},
			),
		)
		return y, lse
	}
	if r.attentionFew(n, sinks, y, lse) {
		return y, lse
	}
	r.attentionTile(n, sinks, y, lse)
	return y, lse
}

// attentionTile records the GPU kernel, with the keys split over workgroups when there are few rows and many
// keys.
func (r *Recorder) attentionTile(n *attentionCall, sinks, y, lse gpu.Tensor) {
	lanes, high := n.tile(r.info(), n.T*n.G, n.V)
	rows := lanes / 4 * high
	splits := r.keySplits(n, rows)
	r.attentionSplit(&r.K.AttentionTile, n, splits, ceilDiv(n.T*n.G, rows), n.spec(uint32(lanes), uint32(high)), sinks, y, lse)
}

// attentionSplit records a forward kernel of so many tiles a kv head, with the keys in splits parts, and joins the parts.
func (r *Recorder) attentionSplit(k *gpu.Kernel, n *attentionCall, splits, tiles int, spec []uint32, sinks, y, lse gpu.Tensor) {
	outY, outLse := y, lse
	if splits > 1 {
		outY = r.Alloc(gpu.F32, splits*n.B, n.T, n.H, n.V)
		outLse = r.Alloc(gpu.F32, splits*n.B, n.H, n.T)
		n.splits = splits
	}
	r.attentionRows(k, n, func(batch int) int { return batch * n.K * tiles * n.splits }, spec,
		append(n.inputs(), gpu.Bind{T: sinks}, perRow(outY), perRow(outLse)))
	if splits > 1 {
		total := n.B * n.T * n.H
		r.DispatchLinear(
			&r.K.AttentionCombine,
			total,
			[]uint32{uint32(min(128, ceilDiv(n.V, 4))), uint32(n.V)},
			[]uint32{uint32(n.B), uint32(n.T), uint32(n.H), uint32(splits)},
			outY,
			outLse,
			y,
			lse,
		)
		r.Free(outY, outLse)
	}
}

// attentionFew records the kernel for at most 8 packed rows, if it can take n: then it needs no more than one dispatch where
// there are few keys.
func (r *Recorder) attentionFew(n *attentionCall, sinks, y, lse gpu.Tensor) bool {
	info, rows, width := r.info(), n.T*n.G, int(r.info().SubgroupSize)
	octets := 1
	for octets*8 < max(n.E, n.V) {
		octets *= 2
	}
	lanes := 128
	if info.MaxInvocations >= 256 && !info.IsCPU {
		lanes = 256
	}
	shared := lanes/octets*(n.V+2)*4 + 256
	if rows > 8 || rows > lanes/octets || n.E%8 != 0 || n.V%8 != 0 || octets > width || n.flags&flagDropout != 0 || lanes%width != 0 ||
		info.SubgroupOps&subgroupShuffle == 0 || lanes > info.MaxInvocations || shared > info.SharedBytes {
		return false
	}
	const least = 256 // keys of a part
	splits := max(1, min(ceilDiv(256, n.B*n.K), ceilDiv(n.S, least), 64))
	if largest := max(n.largestBytes(), int64(splits)*int64(n.B*n.T*n.H*n.V)*4); largest > info.MaxStorageBufferRange {
		splits = 1
	}
	r.attentionSplit(&r.K.AttentionFew, n, splits, 1, n.spec(uint32(lanes), uint32(octets), info.SubgroupSize, uint32(rows)), sinks, y,
		lse)
	return true
}

// keySplits returns in how many parts the keys are worked on: enough for about 256 workgroups, of at least 64
// keys each, and only if the partial results need no splitting of their own.
func (r *Recorder) keySplits(n *attentionCall, rows int) int {
	groups := n.B * n.K * ceilDiv(n.T*n.G, rows)
	splits := min(ceilDiv(256, groups), ceilDiv(n.S, 64), 64)
	largest := max(n.largestBytes(), int64(splits)*int64(n.B*n.T*n.H*n.V)*4)
	if n.T*n.G > 64 || splits < 2 || largest > r.info().MaxStorageBufferRange {
		return 1
	}
	return splits
}

// attentionRows dispatches a kernel over the batch, in chunks where one binding cannot reach all of it.
func (r *Recorder) attentionRows(
	k *gpu.Kernel,
	n *attentionCall,
	groups func(batch int) int,
	spec []uint32,
	binds []gpu.Bind,
) {
	done := 0 // rows of the batch in the chunks before
	r.DispatchRows(k, n.B, groups, spec, func(batch int) []uint32 {
		push := n.push(0, groups(batch), done)
		done += batch
		return push
	}, binds...)
}

// lanesFor tells whether the kernels for CPU drivers are used: they keep whole rows in registers and shuffle.
func (r *Recorder) lanesFor(n *attentionCall) bool {
	const shuffle = 1 << 4 // VK_SUBGROUP_FEATURE_SHUFFLE_BIT
	return r.info().IsCPU && r.info().SubgroupOps&shuffle != 0 && n.E+n.V <= 512
}

// perLane is how many of the given rows a lane takes: two share every broadcast where registers and work
// allow it.
func (r *Recorder) perLane(n *attentionCall, rows int) int {
	if n.E+n.V <= 192 && n.B*n.K*rows >= 32*int(r.info().SubgroupSize) {
		return 2
	}
	return 1
}

// perStep is how many keys, or rows in the gradient of keys, a lane kernel loads at a time: a power of two,
// as large as keeps the unrolled code short to compile.
func (n *attentionCall) perStep() int {
	if n.E+n.V <= 128 {
		return 2
	}
	return 1
}

// tile chooses the lanes and the vec4s of rows per lane of a tile kernel that keeps rows of the given width
// in registers: smaller tiles where large ones leave half of the device idle.
func (n *attentionCall) tile(info *gpu.Info, rows, width int) (lanes, high int) {
	few := func(size int) bool { return n.B*n.K*ceilDiv(rows, size) < enoughTiles/2 }
	switch {
	case rows <= 8:
		return 32, 1
	case few(32) && !info.IsCPU:
		return 64, 1
	case few(64) && !info.IsCPU && info.SharedBytes >= 18<<10 && info.MaxInvocations >= 128:
		return 128, 1
	case info.SharedBytes < 18<<10 || info.MaxInvocations < 128:
		return 64, 1
	case rows > 32 && width <= 128 && info.SharedBytes >= 32<<10:
		return 128, 2
	}
	return 128, 1
}

// push is the push-constant block of lib/attention.glsl.
func (n *attentionCall) push(batch, groups, chunk int) []uint32 {
	return []uint32{
		uint32(n.T),
		uint32(n.S),
		uint32(n.K),
		uint32(batch),
		uint32(groups),
		uint32(n.window),
		uint32(n.biasBatches),
		uint32(
			n.splits,
		),
		math.Float32bits(n.scale),
		math.Float32bits(n.softcap),
		n.key,
		n.keep,
		uint32(chunk),
		math.Float32bits(n.boost),
		uint32(n.ahead),
	}
}

// spec is the specialization of lib/attention.glsl: lanes, the common constants, and the kernel's own.
func (n *attentionCall) spec(lanes uint32, own ...uint32) []uint32 {
	return append([]uint32{lanes, uint32(n.E), uint32(n.V), uint32(n.G), n.flags}, own...)
}

// inputs are bindings 0 to 8 of every attention kernel.
func (n *attentionCall) inputs() []gpu.Bind {
	return []gpu.Bind{
		{T: n.q, PerRow: true},
		{T: n.k, PerRow: true},
		{T: n.v, PerRow: true},
		{T: n.seg, PerRow: true},
		{
			T:      n.keySeg,
			PerRow: true,
		},
		{T: n.base},
		n.place(),
		{T: n.slopes},
		{T: n.seed},
	}
}

// place is binding 6: the bias, or the choice of keys.
func (n *attentionCall) place() gpu.Bind {
	if n.chosen.Shape != nil {
		return gpu.Bind{T: n.chosen, PerRow: true}
	}
	return gpu.Bind{T: n.bias, PerRow: n.biasBatches > 1}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
