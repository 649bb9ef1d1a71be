// Package refrun computes in float64 what kernels compute in float32: the reference of every op.
//
// The functions are written from the definitions, dense and slow, and share no code with the kernels.
// Gradients are checked against central differences by the package's own tests; kernels are checked against
// these functions by tools/optest.
package refrun

// An Array is a dense row-major array.
type Array struct {
	Shape []int
	Data  []float64
}

// A Batch is the counterpart of nn.Batch; nil slices mean what the zero Tensor means there.
type Batch struct {
	B, T, S, Base int
	Tokens, Pos   []int // [B T]
	Seg           []int // [B T]
	KeySeg        []int // [B S]
	Labels        []int // [B T]
	LossScale     float64
}

// A Call is one application of an op.
type Call struct {
	In    []*Array       // nil where an input is absent
	Attr  map[string]any // float64, int, bool or string
	Batch *Batch
	Keys  *Batch // of attention over other keys; nil: Batch
}

// A Func computes an op's results; results that do not exist are nil.
type Func func(c *Call) ([]*Array, error)

// zeros returns an array of zeros.
func zeros(shape ...int) *Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return &Array{Shape: append([]int(nil), shape...), Data: make([]float64, n)}
}

// row returns row i of a, all leading dimensions flattened.
func row(a *Array, i int) []float64 {
	w := a.Shape[len(a.Shape)-1]
	return a.Data[i*w : (i+1)*w]
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// axpy adds w*x to y.
func axpy(y []float64, w float64, x []float64) {
	for i, v := range x {
		y[i] += w * v
	}
}
