package nn

import (
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// State is one tensor that an op keeps between decoding steps. The zero State keeps nothing: the op then works on its input
// alone, as in a forward pass without cache.
type State struct {
	t     gpu.Tensor
	later *StateAlloc // allocate at the first use
}

// Later declares a state that gets its memory when Keep first fills it.
func (a *StateAlloc) Later() State {
	if a.dev == nil {
		return State{}
	}
	return State{later: a}
}

// Fresh reports whether the recording must compute what Keep keeps: at the first step, and always without state.
func (s *State) Fresh(b *Batch) bool { return b.Fresh || s.later == nil || !s.t.Valid() }

// Kept is what Keep kept.
func (s *State) Kept() gpu.Tensor { return s.t }

// Keep copies x into the state for later steps and returns x. Where an earlier generation kept another shape, its memory
// is replaced: recordings that read it must be gone.
func (r *Recorder) Keep(s *State, x gpu.Tensor) gpu.Tensor {
	if s.later == nil || r.Err() != nil {
		return x
	}
	if err := s.later.fit(&s.t, x); err != nil {
		r.Fail(err)
		return x
	}
	r.Copy(s.t, x)
	return x
}

// fit makes *kept memory for tensors like x.
func (a *StateAlloc) fit(kept *gpu.Tensor, x gpu.Tensor) error {
	if kept.Valid() {
		if kept.Type == x.Type && slices.Equal(kept.Shape, x.Shape) {
			return nil
		}
		if err := a.dev.Release(*kept); err != nil {
			return err
		}
	} else {
		a.kept = append(a.kept, kept)
	}
	var err error
	*kept, err = a.dev.Alloc(x.Type, x.Shape...)
	return err
}

// StateAlloc allocates the states of a decoding: B rows, up to S tokens a row.
type StateAlloc struct {
	dev     *gpu.Device
	act     gpu.DType
	b, s    int
	tensors []gpu.Tensor
	kept    []*gpu.Tensor // made when they are first filled
	encoded gpu.Tensor
	err     error
}

// NewStateAlloc prepares the states of B rows and S tokens a row, stored as act.
func NewStateAlloc(dev *gpu.Device, act gpu.DType, B, S int) *StateAlloc {
	return &StateAlloc{dev: dev, act: act, b: B, s: S}
}

// NoState returns an allocator of states that keep nothing.
func NoState() *StateAlloc { return &StateAlloc{} }

// Tokens allocates a cache of one element of the given shape for every token: [B, S, shape...].
func (a *StateAlloc) Tokens(shape ...int) State {
	return a.alloc(a.act, append([]int{a.b, a.s}, shape...))
}

// Indices is Tokens for integers.
func (a *StateAlloc) Indices(shape ...int) State {
	return a.alloc(gpu.I32, append([]int{a.b, a.s}, shape...))
}

// Fixed allocates a state that does not grow with the tokens, in f32: [B, shape...], zero at first.
func (a *StateAlloc) Fixed(shape ...int) State { return a.alloc(gpu.F32, append([]int{a.b}, shape...)) }

func (a *StateAlloc) alloc(t gpu.DType, dims []int) State {
	if a.dev == nil || a.err != nil {
		return State{}
	}
	tensor, err := a.dev.Alloc(t, dims...)
	if err != nil {
		a.err = err
		return State{}
	}
	a.tensors = append(a.tensors, tensor)
	if err := a.zero(tensor); err != nil {
		a.err = err
	}
	return State{t: tensor}
}

func (a *StateAlloc) zero(t gpu.Tensor) error {
	return a.dev.Write(t, make([]byte, t.Bytes()))
}

// Err returns the first error of an allocation.
func (a *StateAlloc) Err() error {
	if a.err != nil {
		a.Release()
	}
	return a.err
}

// Bytes is the memory that the states take.
func (a *StateAlloc) Bytes() int64 {
	n := int64(0)
	for _, t := range a.tensors {
		n += t.Bytes()
	}
	for _, t := range a.kept {
		n += t.Bytes()
	}
	return n
}

// Reset zeroes the states, for a new sequence; what Keep kept is made anew in its first step.
func (a *StateAlloc) Reset() error {
	for _, t := range a.tensors {
		if err := a.zero(t); err != nil {
			return err
		}
	}
	return nil
}

// Release gives the memory back.
func (a *StateAlloc) Release() {
	for _, t := range a.tensors {
		a.dev.Release(t)
	}
	for _, t := range a.kept {
		if t.Valid() {
			a.dev.Release(*t)
			*t = gpu.Tensor{}
		}
	}
	a.tensors, a.kept = nil, nil
}

// KeepEncoded copies the encoder's output into the state, whose memory is allocated at the first call and as in Keep.
func (a *StateAlloc) KeepEncoded(r *Recorder, encoded gpu.Tensor) {
	if r.Err() != nil {
		return
	}
	if err := a.fit(&a.encoded, encoded); err != nil {
		r.Fail(err)
		return
	}
	r.Copy(a.encoded, encoded)
}

// Encoded is what KeepEncoded kept.
func (a *StateAlloc) Encoded() gpu.Tensor { return a.encoded }
