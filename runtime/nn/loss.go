package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// CrossEntropy returns, for logits [rows, V] and labels I32 [rows], the loss of each row
//
//	loss[r] = LossScale * (log sum exp logits[r] - logits[r, label])
//
// as F32 [rows], and lse F32 [rows, 2], the log of the sum in two parts for CrossEntropyGrad: the maximum and the rest. Both
// are 0 where the label is outside [0, V), as Ignored is.
func (r *Recorder) CrossEntropy(b *Batch, logits, labels gpu.Tensor) (loss, lse gpu.Tensor) {
	n, v := logits.Rows(), logits.Cols()
	if r.Err() != nil {
		return gpu.Tensor{}, gpu.Tensor{}
	}
	loss, lse = r.Alloc(gpu.F32, n), r.Alloc(gpu.F32, n, 2)
	if !r.checkLoss(logits, labels) {
		return loss, lse
	}
	lanes := r.rowLanes(v)
	spec := []uint32{uint32(lanes), r.oneSubgroup(lanes), flag(v%4 == 0)}
	r.DispatchRows(&r.K.CrossEntropy, n, one, spec, rowPush(v), perRow(logits), perRow(labels), gpu.Bind{T: b.LossScale},
		perRow(loss), perRow(lse))
	return loss, lse
}

// CrossEntropyGrad returns the gradient of the sum of the losses, in the storage of logits:
//
//	dlogits[r, v] = LossScale * (softmax(logits[r])[v] - [v = label[r]])   0 where the label is ignored
func (r *Recorder) CrossEntropyGrad(b *Batch, logits, labels, lse gpu.Tensor) (dlogits gpu.Tensor) {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	dlogits = r.Alloc(logits.Type, logits.Shape...)
	r.crossEntropyGrad(b, logits, labels, lse, dlogits)
	return dlogits
}

// CrossEntropyGradInPlace is CrossEntropyGrad over the memory of logits, which must not be read afterwards. The result is
// a reference of its own: both it and logits are to be freed.
func (r *Recorder) CrossEntropyGradInPlace(b *Batch, logits, labels, lse gpu.Tensor) (dlogits gpu.Tensor) {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	r.crossEntropyGrad(b, logits, labels, lse, logits)
	return r.Retain(logits)
}

func (r *Recorder) crossEntropyGrad(b *Batch, logits, labels, lse, dlogits gpu.Tensor) {
	if !r.checkLoss(logits, labels) {
		return
	}
	v := logits.Cols()
	spec := []uint32{uint32(r.rowLanes(v)), flag(v%4 == 0)}
	r.DispatchRows(&r.K.CrossEntropyGrad, logits.Rows(), one, spec, rowPush(v), perRow(logits), perRow(labels),
		gpu.Bind{T: b.LossScale}, perRow(lse), perRow(dlogits))
}

func (r *Recorder) checkLoss(logits, labels gpu.Tensor) bool {
	if labels.Len() != logits.Rows() || labels.Type != gpu.I32 {
		r.failf("cross_entropy of %v: labels are %v, want i32 with %d elements", logits, labels, logits.Rows())
		return false
	}
	if logits.Type.Size() == 2 && logits.Cols()%2 != 0 {
		r.failf("cross_entropy of %v: rows of 16-bit tensors must have even length: use f32", logits)
		return false
	}
	return true
}

// Total returns the sum of all elements of x: F32 [1].
func (r *Recorder) Total(x gpu.Tensor) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	n := x.Len()
	lanes := r.rowLanes(n)
	spec := []uint32{uint32(lanes), r.oneSubgroup(lanes)}
	sum := r.Alloc(gpu.F32, 1)
	groups := max(1, min(256, n/(4*lanes)))
	if groups == 1 {
		r.Dispatch(&r.K.Total, [3]int{1, 1, 1}, spec, []uint32{uint32(n), uint32(n)}, x, sum)
		return sum
	}
	part := r.Alloc(gpu.F32, groups)
	r.Dispatch(&r.K.Total, [3]int{groups, 1, 1}, spec, []uint32{uint32(n), uint32((n + groups - 1) / groups)}, x, part)
	r.Dispatch(&r.K.Total, [3]int{1, 1, 1}, spec, []uint32{uint32(groups), uint32(groups)}, part, sum)
	r.Free(part)
	return sum
}

// oneSubgroup is the constant of kernels that skip barriers when the workgroup is a single subgroup. Some drivers (Intel)
// report 32 and may run a kernel with less, so the smallest size decides.
func (r *Recorder) oneSubgroup(lanes int) uint32 {
	return flag(lanes <= int(min(r.info().SubgroupSize, r.info().MinSubgroup)))
}

func one(rows int) int { return rows }

func perRow(t gpu.Tensor) gpu.Bind { return gpu.Bind{T: t, PerRow: true} }

func rowPush(cols int) func(rows int) []uint32 {
	return func(rows int) []uint32 { return []uint32{uint32(rows), uint32(cols)} }
}
