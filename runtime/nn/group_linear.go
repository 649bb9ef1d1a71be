package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// GroupLinearAttrs: the features are cut into Groups, each with a matrix of its own.
type GroupLinearAttrs struct{ Groups, Width, Out int }

// GroupLinear returns y [..., O] of x [..., I]: group g of the output is weight[g] times group g of the input.
// The weight is stored as convolutions over one place are: [O, I/Groups, 1].
func (r *Recorder) GroupLinear(weight *Param, x gpu.Tensor, a GroupLinearAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	xg := r.groupsFirst(x, a.Groups)
	yg := r.Matmul(xg, weight.Value.Reshape(a.Groups, a.Out/a.Groups, -1), MatmulOpts{TransB: true})
	y := r.Permute(yg, PermuteAttrs{[]int{1, 0, 2}})
	r.Free(xg, yg)
	return y.Reshape(append(append([]int{}, x.Shape[:len(x.Shape)-1]...), a.Out)...)
}

// GroupLinearGrad adds the gradient of weight and returns that of x.
func (r *Recorder) GroupLinearGrad(weight *Param, x, dy gpu.Tensor, a GroupLinearAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	xg, dyg := r.groupsFirst(x, a.Groups), r.groupsFirst(dy, a.Groups)
	if !weight.Frozen {
		dw := r.Matmul(dyg, xg, MatmulOpts{TransA: true, F32: true})
		r.AddGrad(weight, dw)
		r.Free(dw)
	}
	dxg := r.Matmul(dyg, weight.Value.Reshape(a.Groups, a.Out/a.Groups, -1), MatmulOpts{})
	dx := r.Permute(dxg, PermuteAttrs{[]int{1, 0, 2}})
	r.Free(xg, dyg, dxg)
	return dx.Reshape(x.Shape...)
}

// groupsFirst returns x [..., I] as [groups, rows, I/groups].
func (r *Recorder) groupsFirst(x gpu.Tensor, groups int) gpu.Tensor {
	return r.Permute(x.Reshape(x.Rows(), groups, -1), PermuteAttrs{[]int{1, 0, 2}})
}
