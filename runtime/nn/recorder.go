// Package nn records the operations of neural networks as kernels.
//
// A Recorder wraps gpu.Recorder with the kernel table, the storage type of activations and the parameters' gradient
// bookkeeping. Its methods are the large primitives that models are made of: linear layers and matrix products
// (linear.go, matmul.go), embedding tables (embed.go), the loss (loss.go), the optimizer (optimizer.go), attention and its
// caches. Each allocates its results, which the caller frees; inputs are never freed. The first error sticks to the
// recorder: every later method returns tensors of the right shape, or zero ones, and records nothing.
package nn

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// A Recorder records one step: a list of dispatches over tensors whose memory is planned.
type Recorder struct {
	*gpu.Recorder
	Dev      *gpu.Device
	K        *Kernels
	Act      gpu.DType // storage of activations
	Training bool      // dropout is on

	// Accumulate makes gradients add to what Param.Grad holds (micro-batches after the first).
	Accumulate bool

	// Family is the family of matrix kernels to use where it can make the product ("lanes", "lanes64", "tile", "few"); ""
	// chooses by device and shape.
	Family string

	// Tile and Splits, when not 0, choose the tile of cooperative products (1 is the first of coopTiles) and the parts of K.
	Tile, Splits int

	// Seed is U32 [2], written before each step: the run's seed and the step. Dropout reads it.
	Seed  gpu.Tensor
	sites uint32 // dropouts recorded so far

	written map[*Param]bool // gradients already written by this recording
}

// NewRecorder starts a recording on dev with the library kernels k and activations stored as act.
func NewRecorder(dev *gpu.Device, k *Kernels, act gpu.DType) *Recorder {
	return &Recorder{Recorder: dev.NewRecorder(), Dev: dev, K: k, Act: act, written: map[*Param]bool{}}
}

// GradInto returns the gradient tensor of p and whether the caller must add to it: the first writer of a recording
// overwrites, unless the recording accumulates; later writers add.
func (r *Recorder) GradInto(p *Param) (t gpu.Tensor, accumulate bool) {
	if !p.Grad.Valid() && r.Err() == nil {
		r.failf("%s: no memory for its gradient: the parameter was prepared for inference or is frozen", p.Name)
	}
	accumulate = r.Accumulate || r.written[p]
	r.written[p] = true
	return p.Grad, accumulate
}

// failf makes a formatted message the recorder's error unless it has one.
func (r *Recorder) failf(format string, args ...any) { r.Fail(fmt.Errorf(format, args...)) }

// wideWords reports whether kernels should load 64-bit words: on CPU drivers a load costs by the word, whatever its width.
func (r *Recorder) wideWords() bool { return r.Dev.Info.IsCPU && r.Dev.Info.Int64 }

// info is the device's description.
func (r *Recorder) info() *gpu.Info { return &r.Dev.Info }
