package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// PadAttrs put Before and After zeros around an axis.
type PadAttrs struct {
	Before, After int
	Axis          []int
}

// PadBackAttrs undo PadAttrs; Like is the shape without the zeros.
type PadBackAttrs struct {
	Before, After int
	Axis          []int
	Like          []int
}

// Pad returns x with zeros around an axis.
func (r *Recorder) Pad(x gpu.Tensor, a PadAttrs) gpu.Tensor {
	axis := axisOf(a.Axis, len(x.Shape))
	like := withAxis(x.Shape, axis, a.Before+x.Shape[axis]+a.After)
	return r.SliceBack(x, SliceBackAttrs{From: a.Before, Axis: []int{axis}, Like: like})
}

// PadBack returns the part of dy that Pad put x into.
func (r *Recorder) PadBack(dy gpu.Tensor, a PadBackAttrs) gpu.Tensor {
	axis := axisOf(a.Axis, len(dy.Shape))
	return r.Slice(dy, SliceAttrs{From: a.Before, Size: a.Like[axis], Axis: []int{axis}})
}

// TensorOfAttrs is the tensor's shape.
type TensorOfAttrs struct{ Shape []int }

// TensorOf returns the value of a parameter.
func (r *Recorder) TensorOf(p *Param, _ TensorOfAttrs) gpu.Tensor { return p.Value }

// TensorOfGradAttrs repeat the shape for the gradient.
type TensorOfGradAttrs = TensorOfAttrs

// TensorOfGrad adds dy to the gradient of a parameter.
func (r *Recorder) TensorOfGrad(p *Param, dy gpu.Tensor, _ TensorOfGradAttrs) { r.AddGrad(p, dy) }
