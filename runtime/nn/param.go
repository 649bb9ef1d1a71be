package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// A Param is one trainable tensor. Models declare their parameters before there is memory for them.
type Param struct {
	Name   string // canonical name in checkpoints
	Shape  []int
	Value  gpu.Tensor
	Grad   gpu.Tensor // F32; the zero Tensor in inference and when frozen
	Frozen bool
	Index  bool // an integer table: Value is I32, and it is never trained
	Wide   bool // stored as F32 whatever the weights are
	Disk   Disk
	Init   Init
}

// Disk tells how checkpoints store a parameter.
type Disk struct {
	Names      []string             // spellings; the first is written
	Transposed bool                 // the last two dimensions are swapped on disk ([in, out] of Conv1D)
	Stack      int                  // > 0: dim 0 has this many slices, each a tensor of its own on disk
	StackNames func(e int) []string // spellings of slice e
	Flat       bool                 // the first two dimensions are one on disk
	Optional   bool                 // may be missing
	Part       Part                 // a range of a larger tensor on disk
}

// Part selects rows [From, To) of dimension 0 of a tensor on disk that holds several parameters one after the other, or,
// with Groups > 0, the rows [From, To) of each of Groups equal groups (interleaved q, k, v). The zero Part is everything.
type Part struct {
	From, To int
	Groups   int
}

// Init tells how a parameter starts when it is trained from scratch.
type Init struct {
	Kind InitKind
	Std  float64 // standard deviation of InitNormal, bound of InitUniform
}

// InitKind is a distribution of initial values.
type InitKind uint8

// The distributions.
const (
	InitNormal InitKind = iota // mean 0, deviation Std
	InitZeros
	InitOnes
	InitSinusoid // rows of SinusoidRow
	InitUniform  // between -Std and Std
)
