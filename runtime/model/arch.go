package model

import (
	"errors"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Kind says what a model's logits are about.
type Kind uint8

// The kinds.
const (
	Causal  Kind = iota // next token, left to right
	Masked              // each position's own token, looking both ways
	Seq2Seq             // encoder and decoder
)

// String returns causal, masked or seq2seq.
func (k Kind) String() string { return [...]string{"causal", "masked", "seq2seq"}[min(k, Seq2Seq)] }

// Arch is an architecture: how to build models from configurations.
type Arch struct {
	Name       string
	Kind       Kind
	ModelTypes []string  // values of model_type that are this graph
	Packages   []Package // larger packages that contain this graph
	New        func(cfg *hfconfig.File) (Model, error)

	// LabelsInPlace tells that the reference's loss of this causal model takes labels as they stand: who makes them
	// shifts them.
	LabelsInPlace bool
}

// ErrNoDecoding is the error of NewState for a configuration whose tokens cannot follow one another through caches.
var ErrNoDecoding = errors.New("this configuration cannot decode step by step")

// Package is a model_type whose text part is an architecture: a multimodal package, or an alias with other
// names. It stands with the architecture that such packages usually hold; a nested model_type that belongs to
// another architecture picks that one, under the names of the package.
type Package struct {
	ModelType  string
	ConfigPath string // of the text configuration inside config.json; "" is the top
	// Rename gives the parts of tensor names that the package spells otherwise. Every rule whose From begins a name gives
	// a spelling of it, the first the preferred one; a name that none begins stays as it is. Rules whose From begins
	// with a dot then replace it in every spelling, wherever it is.
	Rename []Rename
	Text   string // a nested model_type that stays with this architecture although another has it too; "" is none
	Set    string // a JSON object of configuration values that the package has whatever its file says; "" is none
}

// Rename replaces the part From of a tensor name by To.
type Rename struct{ From, To string }

// Model is a graph with its parameters. The recording methods append to r and report errors through r.Err.
type Model interface {
	Arch() *Arch
	// Params are all parameters in checkpoint order, declared before there is memory for them.
	Params() []*nn.Param
	// Linears are the linear layers, for adapters.
	Linears() []*nn.Linear
	// Prepare makes constant tables, after the parameters have memory.
	Prepare(dev *gpu.Device, o Options) error
	// Logits is a forward pass without caches: [B T V].
	Logits(r *nn.Recorder, in *Inputs) gpu.Tensor
	// Train is a forward and backward pass: loss F32 [B*T] per token, weighted; gradients go to Param.Grad.
	Train(r *nn.Recorder, in *Inputs) (loss gpu.Tensor)
	// Loss is the forward pass of Train.
	Loss(r *nn.Recorder, in *Inputs) (loss gpu.Tensor)
	// NewState makes the caches of B sequences of up to S tokens.
	NewState(dev *gpu.Device, B, S int) (State, error)
	// Step runs T further tokens through the caches: logits [B T V], or [B 1 V] with in.LastOnly.
	Step(r *nn.Recorder, in *Inputs, st State) gpu.Tensor
	// Encode runs the encoder into st, once before the steps of an encoder-decoder model. Others record
	// nothing.
	Encode(r *nn.Recorder, in *Inputs, st State)
}

// State is what decoding keeps between steps.
type State interface {
	Bytes() int64
	Reset() error
	Release()
}

// Inputs of one step. Causal and masked models use Dec alone.
type Inputs struct {
	Dec      *nn.Batch
	Enc      *nn.Batch
	LastOnly bool // logits of the last position only
}

// OnDevice returns in with what the host writes copied to device memory at the start of a recording.
func (in *Inputs) OnDevice(r *nn.Recorder) *Inputs {
	c := *in
	c.Dec, c.Enc = r.Local(in.Dec), r.Local(in.Enc)
	return &c
}

// Decoder returns Dec with its encoder's batch in place.
func (in *Inputs) Decoder() *nn.Batch {
	if in.Dec == nil {
		return &nn.Batch{Enc: in.Enc}
	}
	b := *in.Dec
	b.Enc = in.Enc
	return &b
}

// Options of Open, Create and Prepare.
type Options struct {
	Weights      gpu.DType   // storage of matrices: F32, BF16 or F16. Vectors and odd row lengths stay F32
	Activations  gpu.DType   // storage of activations
	MaxPositions int         // longest sequence that tables are made for; 0 = what the configuration says
	Train        bool        // allocate gradients of the parameters that are not frozen
	Kernels      *nn.Kernels // the kernel library
	Seed         uint64      // of initial values that the checkpoint does not give

	// Adjust changes a model before its parameters get memory: freezing, adapters. nil = nothing.
	Adjust func(Model) error
}
