package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// MatMulAttrs: TA and TB swap the last two dimensions of an operand first; Scale multiplies the product.
type MatMulAttrs struct {
	Ta, Tb bool
	Scale  float32
}

// MatMul returns the products of the matrices in the last two dimensions of a and b.
func (r *Recorder) MatMul(a, b gpu.Tensor, o MatMulAttrs) gpu.Tensor {
	return r.Matmul(a, b, MatmulOpts{TransA: o.Ta, TransB: o.Tb, Alpha: o.Scale})
}

// MatMulGrad returns the gradients of a and b. An operand without some of the leading dimensions, or with ones there, gets
// the sum over them.
func (r *Recorder) MatMulGrad(a, b, dy gpu.Tensor, o MatMulAttrs) (da, db gpu.Tensor) {
	if o.Ta { // a is stored [K,M]
		da = r.Matmul(b, dy, MatmulOpts{TransA: o.Tb, TransB: true, Alpha: o.Scale})
	} else {
		da = r.Matmul(dy, b, MatmulOpts{TransB: !o.Tb, Alpha: o.Scale})
	}
	if o.Tb { // b is stored [N,K]
		db = r.Matmul(dy, a, MatmulOpts{TransA: true, TransB: o.Ta, Alpha: o.Scale})
	} else {
		db = r.Matmul(a, dy, MatmulOpts{TransA: !o.Ta, Alpha: o.Scale})
	}
	return r.summedTo(da, a), r.summedTo(db, b)
}

// summedTo returns t summed to the shape of like, freeing t when that takes a new tensor.
func (r *Recorder) summedTo(t, like gpu.Tensor) gpu.Tensor {
	if r.Err() != nil || t.Len() == like.Len() {
		return t
	}
	y := r.SumBack(t, SumBackAttrs{Like: like.Shape})
	r.Free(t)
	return y
}
