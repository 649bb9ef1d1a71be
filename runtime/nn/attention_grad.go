package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// AttentionGrad returns the gradients of Attention from dy [B T H V] and what Attention returned. dq, dk, dv
// have the shapes and storage of q, k, v; dbias F32 has bias's shape and dsinks [H]; they are the zero Tensor
// where the input is absent. The result does not depend on the order in which the device runs workgroups: no
// atomics are used.
func (r *Recorder) AttentionGrad(
	b, keys *Batch,
	q, k, v, bias, sinks, y, lse, dy gpu.Tensor,
	a AttentionAttrs,
) (dq, dk, dv, dbias, dsinks gpu.Tensor) {
	n, err := r.attentionCall(b, keys, q, k, v, bias, sinks, a)
	if err != nil {
		r.Fail(err)
		return
	}
	delta := r.Alloc(gpu.F32, n.B, n.H, n.T)
	dq = r.Alloc(q.Type, n.B, n.T, n.H, n.E)
	dk = r.Alloc(k.Type, n.B, n.S, n.K, n.E)
	dv = r.Alloc(v.Type, n.B, n.S, n.K, n.V)
	if bias.Shape != nil {
		dbias = r.Alloc(gpu.F32, bias.Shape...)
		r.Fill(dbias, 0)
	}
	if c := r.attentionCoopFor(n, y, dy); c.side != 0 {
		r.attentionGradCoop(c, n, y, dy, lse, delta, dq, dk, dv, dbias)
	} else if r.lanesFor(n) {
		r.attentionGradLanes(n, y, dy, lse, delta, dq, dk, dv, dbias)
	} else {
		r.attentionGradTile(n, y, dy, lse, delta, dq, dk, dv, dbias)
	}
	if sinks.Shape != nil {
		dsinks = r.Alloc(gpu.F32, n.H)
		r.DispatchLinear(&r.K.AttentionGradSinks, n.H, []uint32{r.info().SubgroupSize, 1},
			[]uint32{uint32(n.B), uint32(n.H), uint32(n.T)}, sinks, lse, delta, dsinks)
	}
	r.Free(delta)
	return dq, dk, dv, dbias, dsinks
}

func (r *Recorder) attentionGradLanes(n *attentionCall, y, dy, lse, delta, dq, dk, dv, dbias gpu.Tensor) {
	lanes, step := int(r.info().SubgroupSize), uint32(n.perStep())
	per := r.perLane(n, n.T*n.G)
	r.attentionGradQ(
		&r.K.AttentionGradQLanes,
		n,
		lanes*per,
		n.spec(uint32(lanes), step, uint32(per)),
		y,
		dy,
		lse,
		delta,
		dq,
		dbias,
	)
	per = r.perLane(n, n.S)
	r.attentionRows(
		&r.K.AttentionGradKvLanes,
		n,
		func(batch int) int { return batch * n.K * ceilDiv(n.S, lanes*per) },
		n.spec(uint32(lanes), step, uint32(per)),
		n.gradKV(dy, lse, delta, dk, dv),
	)
}

func (r *Recorder) attentionGradTile(n *attentionCall, y, dy, lse, delta, dq, dk, dv, dbias gpu.Tensor) {
	lanes, high := n.tile(r.info(), n.T*n.G, n.E)
	r.attentionGradQ(
		&r.K.AttentionGradQTile,
		n,
		lanes/4*high,
		n.spec(uint32(lanes), uint32(high)),
		y,
		dy,
		lse,
		delta,
		dq,
		dbias,
	)

	outs := []uint32{3}
	if n.E+n.V > 512 { // the registers hold one of the results
		outs = []uint32{1, 2}
	}
	lanes, high = n.tile(r.info(), n.S, n.E+n.V)
	for _, out := range outs {
		r.attentionRows(
			&r.K.AttentionGradKvTile,
			n,
			func(batch int) int { return batch * n.K * ceilDiv(n.S, lanes/4*high) },
			n.spec(uint32(lanes), uint32(high), out),
			n.gradKV(dy, lse, delta, dk, dv),
		)
	}
}

// attentionGradQ records the kernel of dq and dbias, whose workgroups own rows packed rows each. The gradient
// of a bias that the batch shares is added up row of the batch by row of the batch.
func (r *Recorder) attentionGradQ(
	k *gpu.Kernel,
	n *attentionCall,
	rows int,
	spec []uint32,
	y, dy, lse, delta, dq, dbias gpu.Tensor,
) {
	per := n.K * ceilDiv(n.T*n.G, rows)
	binds := append(
		n.inputs(),
		gpu.Bind{T: y, PerRow: true},
		gpu.Bind{T: dy, PerRow: true},
		gpu.Bind{T: lse, PerRow: true},
		gpu.Bind{
			T:      delta,
			PerRow: true,
		},
		gpu.Bind{T: dq, PerRow: true},
		gpu.Bind{T: dbias, PerRow: n.biasBatches > 1},
	)
	if n.bias.Shape == nil || n.biasBatches > 1 || n.B == 1 {
		r.attentionRows(k, n, func(batch int) int { return batch * per }, spec, binds)
		return
	}
	bufs := make([]gpu.Tensor, len(binds))
	for i, b := range binds {
		bufs[i] = b.T
	}
	for batch := range n.B {
		r.DispatchLinear(k, per, spec, n.push(batch, per, 0), bufs...)
	}
}

// gradKV are the bindings of the kernels of dk and dv.
func (n *attentionCall) gradKV(dy, lse, delta, dk, dv gpu.Tensor) []gpu.Bind {
	return append(
		n.inputs(),
		gpu.Bind{T: dy, PerRow: true},
		gpu.Bind{T: lse, PerRow: true},
		gpu.Bind{T: delta, PerRow: true},
		gpu.Bind{T: dk, PerRow: true},
		gpu.Bind{T: dv, PerRow: true},
	)
}
