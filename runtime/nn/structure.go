package nn

import (
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// PermuteAttrs: dimension i of the result is dimension Order[i] of x.
type PermuteAttrs struct{ Order []int }

// SplitAttrs cuts an axis (negative from the end) into parts of the given sizes.
type SplitAttrs struct {
	Sizes []int
	Axis  []int
}

// ConcatAttrs names the axis along which tensors are joined.
type ConcatAttrs struct{ Axis []int }

// SliceAttrs takes Size elements of an axis from From on, every Step-th.
type SliceAttrs struct {
	From, Size, Step int
	Axis             []int
}

// SliceBackAttrs puts a slice back into zeros of shape Like.
type SliceBackAttrs struct {
	From, Step int
	Axis       []int
	Like       []int
}

// ReshapeAttrs names the new shape; Like is its name in gradients.
type ReshapeAttrs struct{ Shape, Like []int }

// ExpandAttrs is the shape to which dimensions of size one are repeated.
type ExpandAttrs struct{ Shape []int }

// SumBackAttrs is the shape to which broadcast dimensions are summed.
type SumBackAttrs struct{ Like []int }

// Reshape returns the same elements under another shape, as a reference of its own.
func (r *Recorder) Reshape(x gpu.Tensor, a ReshapeAttrs) gpu.Tensor {
	shape := a.Shape
	if shape == nil {
		shape = a.Like
	}
	return r.Retain(x.Reshape(shape...))
}

// Permute returns x with its dimensions in another order.
func (r *Recorder) Permute(x gpu.Tensor, a PermuteAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	shape, from := make([]int, len(a.Order)), make([]int, len(a.Order))
	strides := stridesOf(x.Shape)
	for i, o := range a.Order {
		shape[i], from[i] = x.Shape[o], strides[o]
	}
	y := r.Alloc(x.Type, shape...)
	r.stridedCopy(y, x, shape, stridesOf(shape), from, 0, 0)
	return y
}

// PermuteBack is the inverse of Permute.
func (r *Recorder) PermuteBack(dy gpu.Tensor, a PermuteAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	inverse := make([]int, len(a.Order))
	for i, o := range a.Order {
		inverse[o] = i
	}
	return r.Permute(dy, PermuteAttrs{inverse})
}

// Split returns consecutive parts of x along an axis.
func (r *Recorder) Split(x gpu.Tensor, a SplitAttrs) []gpu.Tensor {
	if r.Err() != nil {
		return make([]gpu.Tensor, len(a.Sizes))
	}
	axis := axisOf(a.Axis, len(x.Shape))
	strides := stridesOf(x.Shape)
	out := make([]gpu.Tensor, len(a.Sizes))
	at := 0
	for i, n := range a.Sizes {
		shape := withAxis(x.Shape, axis, n)
		out[i] = r.Alloc(x.Type, shape...)
		r.stridedCopy(out[i], x, shape, stridesOf(shape), strides, 0, at*strides[axis])
		at += n
	}
	return out
}

// Concat joins tensors along an axis.
func (r *Recorder) Concat(xs []gpu.Tensor, a ConcatAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	axis := axisOf(a.Axis, len(xs[0].Shape))
	total := 0
	for _, x := range xs {
		total += x.Shape[axis]
	}
	y := r.Alloc(xs[0].Type, withAxis(xs[0].Shape, axis, total)...)
	strides := stridesOf(y.Shape)
	at := 0
	for _, x := range xs {
		r.stridedCopy(y, x, x.Shape, strides, stridesOf(x.Shape), at*strides[axis], 0)
		at += x.Shape[axis]
	}
	return y
}

// Slice takes part of an axis.
func (r *Recorder) Slice(x gpu.Tensor, a SliceAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	axis, step := axisOf(a.Axis, len(x.Shape)), max(a.Step, 1)
	strides := stridesOf(x.Shape)
	shape := withAxis(x.Shape, axis, a.Size)
	if a.From < 0 || a.Size < 0 || a.From+(a.Size-1)*step >= x.Shape[axis] {
		r.failf("slice of %v: elements %d to %d of dimension %d do not exist", x, a.From, a.From+(a.Size-1)*step, axis)
	}
	y := r.Alloc(x.Type, shape...)
	from := slices.Clone(strides)
	from[axis] *= step
	r.stridedCopy(y, x, shape, stridesOf(shape), from, 0, a.From*strides[axis])
	return y
}

// SliceBack is the gradient of Slice.
func (r *Recorder) SliceBack(dy gpu.Tensor, a SliceBackAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	axis, step := axisOf(a.Axis, len(a.Like)), max(a.Step, 1)
	dx := r.zeros(dy.Type, a.Like...)
	to := stridesOf(a.Like)
	at := a.From * to[axis]
	to[axis] *= step
	r.stridedCopy(dx, dy, dy.Shape, to, stridesOf(dy.Shape), at, 0)
	return dx
}

// Expand repeats dimensions of size one.
func (r *Recorder) Expand(x gpu.Tensor, a ExpandAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(x.Type, a.Shape...)
	r.stridedCopy(y, x, a.Shape, stridesOf(a.Shape), broadcastStrides(x.Shape, a.Shape), 0, 0)
	return y
}

// SumBack sums dy over the dimensions that were broadcast from the shape Like.
func (r *Recorder) SumBack(dy gpu.Tensor, a SumBackAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	dx := r.Alloc(dy.Type, a.Like...)
	strides, like := stridesOf(dy.Shape), broadcastStrides(a.Like, dy.Shape)
	var keep, keepAt, sum, sumAt []int
	for i, n := range dy.Shape {
		if n == 1 {
			continue
		}
		if like[i] == 0 {
			sum, sumAt = append(sum, n), append(sumAt, strides[i])
		} else {
			keep, keepAt = append(keep, n), append(keepAt, strides[i])
		}
	}
	keep, keepAt = mergeDims(keep, keepAt)
	sum, sumAt = mergeDims(sum, sumAt)
	if len(keep) > 3 || len(sum) > 3 {
		r.failf("sum of %v to %v: more than three separate groups of dimensions", dy, a.Like)
	}
	keep, keepAt = padDims(keep, keepAt, 3)
	sum, sumAt = padDims(sum, sumAt, 3)
	r.launchStrided(&r.K.StridedSum, dx, dx.Len(), keep[2], []int{keep[1], keep[2], keepAt[0], keepAt[1], keepAt[2],
		sum[0], sum[1], sum[2], sumAt[0], sumAt[1], sumAt[2]}, dy)
	return dx
}

// Zeros returns a tensor of zeros in the activations' storage.
func (r *Recorder) Zeros(dims ...int) gpu.Tensor { return r.zeros(r.Act, dims...) }

func (r *Recorder) zeros(t gpu.DType, dims ...int) gpu.Tensor {
	z := r.Alloc(t, dims...)
	r.Fill(z, 0)
	return z
}

// LastToken returns the last token of every row of h [B, T, ...]: [B, 1, ...]. It frees h.
func (r *Recorder) LastToken(b *Batch, h gpu.Tensor) gpu.Tensor {
	if b.T == 1 || r.Err() != nil {
		return h
	}
	y := r.Slice(h, SliceAttrs{From: b.T - 1, Size: 1, Axis: []int{1}})
	r.Free(h)
	return y
}

func axisOf(axis []int, rank int) int {
	a := -1
	if len(axis) > 0 {
		a = axis[0]
	}
	if a < 0 {
		a += rank
	}
	return a
}

func withAxis(shape []int, axis, n int) []int {
	out := slices.Clone(shape)
	out[axis] = n
	return out
}

func stridesOf(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// broadcastStrides are the strides of a tensor of shape small seen as shape large: 0 where it repeats.
func broadcastStrides(small, large []int) []int {
	own := stridesOf(small)
	out := make([]int, len(large))
	off := len(large) - len(small)
	for i := range small {
		if small[i] != 1 {
			out[off+i] = own[i]
		}
	}
	return out
}

// mergeDims joins neighbours that lie one after the other.
func mergeDims(size, stride []int) ([]int, []int) {
	var n, s []int
	for i := range size {
		if k := len(n) - 1; k >= 0 && s[k] == stride[i]*size[i] {
			n[k], s[k] = n[k]*size[i], stride[i]
			continue
		}
		n, s = append(n, size[i]), append(s, stride[i])
	}
	return n, s
}

func padDims(size, stride []int, rank int) ([]int, []int) {
	for len(size) < rank {
		size, stride = append([]int{1}, size...), append([]int{0}, stride...)
	}
	return size, stride
}

// stridedCopy copies a block of the given shape from x to y.
func (r *Recorder) stridedCopy(y, x gpu.Tensor, shape, to, from []int, toAt, fromAt int) {
	if r.Err() != nil {
		return
	}
	if x.Type == gpu.I32 || x.Type == gpu.U32 {
		r.failf("copy of %v to %v: integers are not rearranged", x, y)
		return
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	if n == 0 {
		return
	}
	size, to, from := mergeBoth(shape, to, from)
	if len(size) > 5 {
		r.failf("copy of %v to %v: more than five separate dimensions", x, y)
		return
	}
	for len(size) < 5 {
		size, to, from = append([]int{1}, size...), append([]int{0}, to...), append([]int{0}, from...)
	}
	if y.Type.Size() == 2 && (to[4] != 1 || size[4]%2 != 0 || toAt%2 != 0 || to[0]%2+to[1]%2+to[2]%2+to[3]%2 != 0) {
		r.failf("copy of %v to %v: 16-bit storage needs rows of even length at even places; use f32", x, y)
		return
	}
	r.launchStrided(&r.K.StridedCopy, y, n, size[4], append([]int{fromAt, toAt, size[1], size[2], size[3], size[4]},
		append(append([]int{}, from...), to...)...), x)
}

// mergeBoth joins neighbouring dimensions that lie one after the other on both sides.
func mergeBoth(size, a, b []int) (n, s, t []int) {
	for i := range size {
		if size[i] == 1 {
			continue
		}
		if k := len(n) - 1; k >= 0 && s[k] == a[i]*size[i] && t[k] == b[i]*size[i] {
			n[k], s[k], t[k] = n[k]*size[i], a[i], b[i]
			continue
		}
		n, s, t = append(n, size[i]), append(s, a[i]), append(t, b[i])
	}
	return n, s, t
}

// launchStrided runs a strided kernel over n results.
func (r *Recorder) launchStrided(k *gpu.Kernel, y gpu.Tensor, n, last int, words []int, x gpu.Tensor) {
	w := 1
	if y.Type.Size() == 2 {
		w = 2
		if last%2 != 0 || n%2 != 0 {
			r.failf("kernel %s into %v: 16-bit storage needs rows of even length; use f32", k.Name, y)
			return
		}
	}
	lanes := r.linearLanes()
	push := []uint32{uint32(n)}
	for _, v := range words {
		push = append(push, uint32(v))
	}
	r.DispatchLinear(k, ceilDiv(n, w*lanes), []uint32{uint32(lanes), uint32(w)}, push, x, y)
}

// Add returns a + b for tensors of one shape.
func (r *Recorder) Add(a, b gpu.Tensor) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	n, w := a.Len(), 4
	if n != b.Len() {
		r.failf("sum of %v and %v", a, b)
		return a
	}
	y := r.Alloc(a.Type, a.Shape...)
	if n%4 != 0 {
		w = 1
		if y.Type.Size() == 2 {
			r.failf("sum of %v: 16-bit storage needs a multiple of 4 elements; use f32", a)
			return y
		}
	}
	lanes := r.linearLanes()
	r.DispatchRows(&r.K.SumTwo, n/w, func(rows int) int { return ceilDiv(rows, lanes) }, []uint32{uint32(lanes), uint32(w)},
		func(rows int) []uint32 { return []uint32{uint32(rows * w)} }, perRow(a), perRow(b), perRow(y))
	return y
}

// NoTokensAttrs is the shape of the zeros.
type NoTokensAttrs struct{ Shape []int }

// NoTokens returns zeros that stand for keys or values that no layer has made yet.
func (r *Recorder) NoTokens(a NoTokensAttrs) gpu.Tensor { return r.Zeros(a.Shape...) }
