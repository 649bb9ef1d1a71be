package generate

import (
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// session is the caches of B rows and the recordings of steps through them.
type session struct {
	l     *model.Loaded
	B, S  int // rows, capacity in tokens
	state model.State
	arena *gpu.Arena
	steps map[stepKey]*stepOf
	enc   *nn.Batch // the encoder's input, nil without one
	fresh bool      // nothing was fed since the encoder ran
	used  int       // tokens in the caches
	keys  []int32   // [B S]: 0 where padding stands
	next  []int32   // [B] position of the next token
}

// stepKey names a recording: T tokens a row; the first step after the encoder makes what later ones reuse.
type stepKey struct {
	T     int
	fresh bool
}

// stepOf is a recorded step.
type stepOf struct {
	in     *nn.Batch
	rec    *gpu.Recording
	logits gpu.Tensor // host-visible [B V]
	wide   []float32  // logits, widened
	rows   model.Rows
}

// maxSteps bounds the recordings that a session keeps.
const maxSteps = 8

// newSession makes caches. Errors: too little memory, saying what to lower.
func newSession(l *model.Loaded, B, S int) (*session, error) {
	st, err := l.Model.NewState(l.Dev, B, S)
	if err != nil {
		return nil, fmt.Errorf("caches of %d rows of %d tokens: %w; lower the number of prompts or of tokens", B, S, err)
	}
	return &session{l: l, B: B, S: S, state: st, arena: l.Dev.NewArena(), steps: map[stepKey]*stepOf{},
		keys: make([]int32, B*S), next: make([]int32, B)}, nil
}

// reset empties the caches.
func (s *session) reset() error {
	s.used = 0
	for i := range s.keys {
		s.keys[i] = 1
	}
	clear(s.next)
	if s.enc != nil {
		err := model.ReleaseBatch(s.l.Dev, s.enc)
		s.enc = nil
		if err = errors.Join(err, s.forget()); err != nil { // the recordings read the old input
			return err
		}
	}
	return s.state.Reset()
}

// encode runs the encoder over prompts, padded on the right.
func (s *session) encode(prompts [][]int32, pad int32) error {
	T := longest(prompts)
	tokens, mask := make([]int32, s.B*T), make([]int32, s.B*T)
	for b, p := range prompts {
		for t := range T {
			tokens[b*T+t] = pad
			if t < len(p) {
				tokens[b*T+t], mask[b*T+t] = p[t], 1
			}
		}
	}
	var err error
	if s.enc, err = model.NewBatch(s.l.Dev, model.RowsOf(s.B, T, tokens, mask, false), false); err != nil {
		return err
	}
	r := s.l.NewRecorder()
	s.l.Model.Encode(r, (&model.Inputs{Enc: s.enc}).OnDevice(r), s.state)
	rec, err := r.Finish()
	if err != nil {
		return err
	}
	s.fresh = true
	return errors.Join(rec.Run(), rec.Close())
}

// feed puts T tokens of every row into the caches and returns the logits of the last ones, [B V], which the next call for
// as many tokens overwrites. seg is 0 for padding, nil = none of it is.
func (s *session) feed(tokens, seg []int32) ([]float32, error) {
	T := len(tokens) / s.B
	if s.used+T > s.S {
		return nil, fmt.Errorf("%d tokens exceed the caches' capacity of %d", s.used+T, s.S)
	}
	c, err := s.step(stepKey{T, s.fresh})
	if err != nil {
		return nil, err
	}
	copy(c.rows.Tokens, tokens)
	for b := range s.B {
		for t := range T {
			i := b*T + t
			c.rows.Seg[i], c.rows.Pos[i] = 1, s.next[b]
			if seg != nil && seg[i] == 0 {
				c.rows.Seg[i], s.keys[b*s.S+s.used+t] = 0, 0
				continue
			}
			s.next[b]++
		}
	}
	c.rows.Base = uint32(s.used)
	if err := model.FillBatch(s.l.Dev, c.in, c.rows); err != nil {
		return nil, err
	}
	if err := c.rec.Run(); err != nil {
		return nil, err
	}
	s.used += T
	s.fresh = false
	return c.wide, readLogits(s.l.Dev, c.logits, c.wide)
}

// readLogits widens logits of any storage. Every token waits for it: nothing is allocated, and goroutines share the work.
func readLogits(dev *gpu.Device, x gpu.Tensor, out []float32) error {
	raw := dev.HostBytes(x)
	if raw == nil {
		return fmt.Errorf("logits %v: not in memory of the host", x)
	}
	var g errgroup.Group
	size := x.Type.Size()
	for at := 0; at < len(out); at += widenChunk {
		end := min(len(out), at+widenChunk)
		g.Go(func() error {
			return safetensors.Widen(safetensors.DType(x.Type.String()), raw[size*at:size*end], out[at:end])
		})
	}
	return g.Wait()
}

// widenChunk is how many logits one goroutine takes: each token waits for it.
const widenChunk = 1 << 15

// step returns the recording of a step.
func (s *session) step(key stepKey) (c *stepOf, err error) {
	if c := s.steps[key]; c != nil {
		return c, nil
	}
	T := key.T
	if len(s.steps) >= maxSteps {
		if err := s.forget(); err != nil {
			return nil, err
		}
	}
	n := s.B * T
	c = &stepOf{rows: model.Rows{B: s.B, T: T, S: s.S, Tokens: make([]int32, n), Pos: make([]int32, n),
		Seg: make([]int32, n), KeySeg: s.keys}}
	if c.in, err = model.NewBatch(s.l.Dev, c.rows, true); err != nil {
		return nil, err
	}
	c.in.Fresh = key.fresh
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(s.l.Dev))
		}
	}()
	r := s.l.NewRecorder()
	r.UseArena(s.arena)
	logits := s.l.Model.Step(r, (&model.Inputs{Dec: c.in, Enc: s.enc, LastOnly: true}).OnDevice(r), s.state)
	if err := r.Err(); err != nil {
		return c, err
	}
	if c.logits, err = s.l.Dev.AllocHost(logits.Type, s.B, logits.Cols()); err != nil {
		return c, err
	}
	c.wide = make([]float32, c.logits.Len())
	r.Copy(c.logits, logits)
	r.Free(logits)
	if c.rec, err = r.Finish(); err != nil {
		return c, err
	}
	s.steps[key] = c
	return c, nil
}

func (c *stepOf) close(dev *gpu.Device) error {
	var err error
	if c.rec != nil {
		err = c.rec.Close()
	}
	return errors.Join(err, model.ReleaseBatch(dev, c.in), dev.Release(c.logits))
}

// forget drops the recordings.
func (s *session) forget() error {
	var err error
	for key, c := range s.steps {
		err = errors.Join(err, c.close(s.l.Dev))
		delete(s.steps, key)
	}
	return err
}

func (s *session) close() error {
	err := s.forget()
	if s.enc != nil {
		err = errors.Join(err, model.ReleaseBatch(s.l.Dev, s.enc))
	}
	s.state.Release()
	return errors.Join(err, s.arena.Close())
}

func longest(rows [][]int32) int {
	n := 0
	for _, r := range rows {
		n = max(n, len(r))
	}
	return n
}
