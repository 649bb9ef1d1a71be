package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// attentionCoop is how the kernels for matrix units are launched; the zero value means that they cannot be used.
type attentionCoop struct {
	side           int // of a fragment
	lanes, columns int // of a workgroup, of a tile
	rows           int // of a workgroup
	bf16           bool
}

// coopSubgroups is the number of subgroups of a workgroup.
const coopSubgroups = 4

// attentionCoopFor chooses the kernels for matrix units: 16-bit operands of one type, heads of whole fragments up to 128
// wide, and more than a few rows.
func (r *Recorder) attentionCoopFor(n *attentionCall, others ...gpu.Tensor) (c attentionCoop) {
	info := r.info()
	width, side := int(info.SubgroupSize), r.coopSide(n.q.Type)
	if side == 0 || r.Act != n.q.Type || n.k.Type != n.q.Type || n.v.Type != n.q.Type || info.SubgroupOps&subgroupShuffle == 0 {
		return c
	}
	for _, t := range others {
		if t.Type != n.q.Type {
			return c
		}
	}
	few := n.T*n.G <= 8 || n.T*n.G*n.S < 1024
	if few || n.E%side != 0 || n.V%side != 0 || n.E%8 != 0 || n.V%8 != 0 || n.E > 128 || n.V > 128 || width < side || width > 4*side {
		return c
	}
	if info.IsCPU && r.Family != "coop" {
		return c
	}
	c = attentionCoop{side: side, lanes: coopSubgroups * width, rows: coopSubgroups * side, bf16: n.q.Type == gpu.BF16}
	c.columns = 4 * side
	if n.E+n.V > 128 {
		c.columns = 2 * side
	}
	rows := n.E/8 + n.V/8 + 2
	stage := max(c.columns*rows, c.rows*(max(n.E, n.V)/8+1)) * 16
	slab := c.rows * (c.columns/4 + 2) * 16
	if c.lanes > info.MaxInvocations || stage+slab > info.SharedBytes {
		return attentionCoop{}
	}
	return c
}

// spec is the specialization of lib/attention_coop.glsl.
func (c *attentionCoop) spec(r *Recorder, n *attentionCall) []uint32 {
	return n.spec(uint32(c.lanes), uint32(c.columns), uint32(c.side), r.info().SubgroupSize)
}

// kernel is the one for the operands' type.
func (c *attentionCoop) kernel(bf16, f16 *gpu.Kernel) *gpu.Kernel {
	if c.bf16 {
		return bf16
	}
	return f16
}

// flops are the operations of n's products of q, k or dy, v, half of them where a causal mask hides the rest.
func (n *attentionCall) flops(products int) int64 {
	f := int64(products) * int64(n.B*n.H) * int64(n.T) * int64(n.S) * int64(n.E+n.V)
	if n.flags&flagCausal != 0 && n.T == n.S {
		f /= 2
	}
	return f
}

// attentionOnCoop records the forward kernel.
func (r *Recorder) attentionOnCoop(c attentionCoop, n *attentionCall, sinks, y, lse gpu.Tensor) {
	r.attentionRows(c.kernel(&r.K.AttentionCoopBf16, &r.K.AttentionCoopF16), n,
		func(batch int) int { return batch * n.K * ceilDiv(n.T*n.G, c.rows) }, c.spec(r, n),
		append(n.inputs(), gpu.Bind{T: sinks}, perRow(y), perRow(lse)))
	r.Flops(n.flops(2))
}

// attentionGradCoop records the kernels of the gradients.
func (r *Recorder) attentionGradCoop(c attentionCoop, n *attentionCall, y, dy, lse, delta, dq, dk, dv, dbias gpu.Tensor) {
	r.attentionGradQ(c.kernel(&r.K.AttentionGradQCoopBf16, &r.K.AttentionGradQCoopF16), n, c.rows, c.spec(r, n), y, dy, lse,
		delta, dq, dbias)
	r.Flops(n.flops(3))
	r.attentionRows(c.kernel(&r.K.AttentionGradKvCoopBf16, &r.K.AttentionGradKvCoopF16), n,
		func(batch int) int { return batch * n.K * ceilDiv(n.S, c.rows) }, c.spec(r, n), n.gradKV(dy, lse, delta, dk, dv))
	r.Flops(n.flops(4))
}
