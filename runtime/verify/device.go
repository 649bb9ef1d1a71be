package verify

import (
	"errors"
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// deviceEngine runs a loaded model on its device.
type deviceEngine struct {
	l       *model.Loaded
	params  []*nn.Param // that train
	moments []nn.Moments
	hyper   gpu.Tensor
	master  map[*nn.Param]gpu.Tensor // precise copies of parameters stored in 16 bits

	train, loss *recorded // of the main step
	update      [2]*gpu.Recording
}

// recorded is a recording for one shape, its inputs and its result.
type recorded struct {
	in  *model.Inputs
	rec *gpu.Recording
	out gpu.Tensor
}

func newDeviceEngine(l *model.Loaded) *deviceEngine {
	e := &deviceEngine{l: l, master: map[*nn.Param]gpu.Tensor{}}
	for _, p := range l.Model.Params() {
		if p.Grad.Valid() {
			e.params = append(e.params, p)
		}
	}
	return e
}

// record makes the inputs of a step and records f.
func (e *deviceEngine) record(in step, f func(r *nn.Recorder, in *model.Inputs) gpu.Tensor) (*recorded,
	error) {
	c := &recorded{in: &model.Inputs{}}
	var err error
	if c.in.Dec, err = model.NewBatch(e.l.Dev, in.dec, false); err != nil {
		return nil, err
	}
	if in.enc != nil {
		if c.in.Enc, err = model.NewBatch(e.l.Dev, *in.enc, false); err != nil {
			return nil, errors.Join(err, c.close(e.l.Dev))
		}
	}
	r := e.l.NewRecorder()
	c.out = f(r, c.in)
	if c.rec, err = r.Finish(); err != nil {
		return nil, errors.Join(err, c.close(e.l.Dev))
	}
	return c, nil
}

func (c *recorded) close(dev *gpu.Device) error {
	var err error
	if c.rec != nil {
		err = c.rec.Close()
	}
	for _, b := range []*nn.Batch{c.in.Dec, c.in.Enc} {
		if b != nil {
			err = errors.Join(err, model.ReleaseBatch(dev, b))
		}
	}
	return err
}

// run runs a recording and reads its result.
func (e *deviceEngine) run(c *recorded) ([]float32, error) {
	if err := c.rec.Run(); err != nil {
		return nil, err
	}
	return e.read(c.out)
}

func (e *deviceEngine) read(t gpu.Tensor) ([]float32, error) {
	out := make([]float32, t.Len())
	switch {
	case !t.Valid() || t.Type != gpu.F32 && t.Type != gpu.BF16 && t.Type != gpu.F16:
		return nil, fmt.Errorf("the model returned %v, want a floating-point tensor", t)
	case t.Type == gpu.F32:
		return out, e.l.Dev.Read(t, out)
	}
	raw := make([]byte, t.Bytes())
	if err := e.l.Dev.Read(t, raw); err != nil {
		return nil, err
	}
	return out, safetensors.Widen(storedAs(t.Type), raw, out)
}

// Forward implements engine.
func (e *deviceEngine) Forward(in step) (out []float32, err error) {
	c, err := e.record(in, e.l.Model.Logits)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close(e.l.Dev)) }()
	return e.run(c)
}

// lossOf runs a recording of Train or Loss, made at its first use.
func (e *deviceEngine) lossOf(at **recorded, in step, f func(*nn.Recorder,
	*model.Inputs) gpu.Tensor) (float64, error) {
	if *at == nil {
		c, err := e.record(in, f)
		if err != nil {
			return 0, err
		}
		*at = c
	}
	tokens, err := e.run(*at)
	sum := 0.0
	for _, v := range tokens {
		sum += float64(v)
	}
	return sum, err
}

// Train implements engine.
func (e *deviceEngine) Train(in step) (float64, error) {
	return e.lossOf(&e.train, in, e.l.Model.Train)
}

// Loss implements engine.
func (e *deviceEngine) Loss(in step) (float64, error) { return e.lossOf(&e.loss, in, e.l.Model.Loss) }

// Update implements engine.
func (e *deviceEngine) Update(h nn.Hyper) error {
	if e.moments == nil {
		if err := e.allocMoments(); err != nil {
			return err
		}
	}
	clip := 0
	if h.MaxNorm > 0 {
		clip = 1
	}
	if e.update[clip] == nil {
		r := e.l.NewRecorder()
		norm := gpu.Tensor{}
		if clip == 1 {
			norm = r.GradNorm(e.params, e.hyper)
		}
		r.AdamW(e.params, e.moments, e.hyper, norm)
		rec, err := r.Finish()
		if err != nil {
			return err
		}
		e.update[clip] = rec
	}
	if err := e.l.Dev.Write(e.hyper, h.Words()); err != nil {
		return err
	}
	return e.update[clip].Run()
}

func (e *deviceEngine) allocMoments() error {
	var err error
	if e.hyper, err = e.l.Dev.Alloc(gpu.F32, nn.HyperWords); err != nil {
		return err
	}
	for _, p := range e.params {
		var m nn.Moments
		if m.M, err = e.l.Dev.Alloc(gpu.F32, p.Shape...); err != nil {
			return err
		}
		if m.V, err = e.l.Dev.Alloc(gpu.F32, p.Shape...); err != nil {
			return err
		}
		if p.Value.Type != gpu.F32 {
			if m.Master, err = e.l.Dev.Alloc(gpu.F32, p.Shape...); err != nil {
				return err
			}
		}
		e.moments = append(e.moments, m)
		e.master[p] = m.Master
	}
	return e.resetMoments()
}

// resetMoments forgets the optimizer's state: moments are zero and precise copies equal the parameters.
func (e *deviceEngine) resetMoments() error {
	for i, m := range e.moments {
		values := make([]float32, m.M.Len())
		if err := errors.Join(e.l.Dev.Write(m.M, values), e.l.Dev.Write(m.V, values)); err != nil {
			return err
		}
		if !m.Master.Valid() {
			continue
		}
		raw := make([]byte, e.params[i].Value.Bytes())
		if err := e.l.Dev.Read(e.params[i].Value, raw); err != nil {
			return err
		}
		if err := safetensors.Widen(storedAs(e.params[i].Value.Type), raw, values); err != nil {
			return err
		}
		if err := e.l.Dev.Write(m.Master, values); err != nil {
			return err
		}
	}
	return nil
}

// storedAs is the safetensors type of a 16-bit storage type.
func storedAs(t gpu.DType) safetensors.DType {
	if t == gpu.BF16 {
		return safetensors.BF16
	}
	return safetensors.F16
}

// Tensors implements engine.
func (e *deviceEngine) Tensors(grads bool, visit func(string, []int, []float32) error) error {
	return e.l.Assemble(func(p *nn.Param) gpu.Tensor {
		if grads {
			return p.Grad
		}
		if m := e.master[p]; m.Valid() {
			return m
		}
		return p.Value
	}, !grads, visit)
}

// Untouched implements engine.
func (e *deviceEngine) Untouched() []string { return e.l.Untouched() }

// Reload implements engine.
func (e *deviceEngine) Reload() error { return errors.Join(e.l.Reload(), e.resetMoments()) }

// Save implements engine.
func (e *deviceEngine) Save(dir string) error { return e.l.Save(dir, model.SaveOptions{}) }

// Decode implements engine.
func (e *deviceEngine) Decode(prompt, feed []int32, seq2seq bool) (out [][]float32, err error) {
	d := decoder{e: e, capacity: len(prompt) + len(feed)}
	if d.state, err = e.l.Model.NewState(e.l.Dev, 1, d.capacity); err != nil {
		return nil, err
	}
	defer func() {
		d.state.Release()
		err = errors.Join(err, d.close())
	}()
	if seq2seq {
		if err := d.encode(prompt); err != nil {
			return nil, err
		}
	} else if err := d.next(prompt, &out); err != nil {
		return nil, err
	}
	for i := range feed {
		if err := d.next(feed[i:i+1], &out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decoder feeds tokens through caches.
type decoder struct {
	e        *deviceEngine
	state    model.State
	capacity int
	base     int
	enc      *nn.Batch
	steps    map[stepKey]*recorded
}

// stepKey names a recording: T tokens; the first step makes what later ones reuse.
type stepKey struct {
	T     int
	fresh bool
}

func (d *decoder) encode(prompt []int32) error {
	enc := model.RowsOf(1, len(prompt), prompt, nil, false)
	var err error
	if d.enc, err = model.NewBatch(d.e.l.Dev, enc, false); err != nil {
		return err
	}
	r := d.e.l.NewRecorder()
	d.e.l.Model.Encode(r, &model.Inputs{Enc: d.enc}, d.state)
	rec, err := r.Finish()
	if err != nil {
		return err
	}
	return errors.Join(rec.Run(), rec.Close())
}

// next feeds tokens and appends the logits of the last one.
func (d *decoder) next(tokens []int32, out *[][]float32) error {
	rows := model.RowsOf(1, len(tokens), tokens, nil, false)
	rows.S, rows.Base = d.capacity, uint32(d.base)
	rows.KeySeg = make([]int32, d.capacity)
	for i := range rows.KeySeg {
		rows.KeySeg[i] = 1
	}
	for i := range rows.Pos {
		rows.Pos[i] += int32(d.base)
	}
	c, err := d.step(rows)
	if err != nil {
		return err
	}
	if err := model.FillBatch(d.e.l.Dev, c.in.Dec, rows); err != nil {
		return err
	}
	d.base += len(tokens)
	logits, err := d.e.run(c)
	if err != nil {
		return err
	}
	V := c.out.Cols()
	last := append([]float32(nil), logits[len(logits)-V:]...)
	for _, v := range last {
		if math.IsNaN(float64(v)) {
			return fmt.Errorf("decoding gave NaN logits at token %d", d.base)
		}
	}
	*out = append(*out, last)
	return nil
}

// step records a step of this many tokens at its first use.
func (d *decoder) step(rows model.Rows) (*recorded, error) {
	key := stepKey{rows.T, d.base == 0}
	if c := d.steps[key]; c != nil {
		return c, nil
	}
	batch, err := model.NewBatch(d.e.l.Dev, rows, true)
	if err != nil {
		return nil, err
	}
	batch.Fresh = key.fresh
	c := &recorded{in: &model.Inputs{Dec: batch, Enc: d.enc, LastOnly: true}}
	r := d.e.l.NewRecorder()
	c.out = d.e.l.Model.Step(r, c.in, d.state)
	if c.rec, err = r.Finish(); err != nil {
		return nil, errors.Join(err, model.ReleaseBatch(d.e.l.Dev, batch))
	}
	if d.steps == nil {
		d.steps = map[stepKey]*recorded{}
	}
	d.steps[key] = c
	return c, nil
}

func (d *decoder) close() error {
	var err error
	for _, c := range d.steps {
		c.in.Enc = nil // shared by all steps
		err = errors.Join(err, c.close(d.e.l.Dev))
	}
	if d.enc != nil {
		err = errors.Join(err, model.ReleaseBatch(d.e.l.Dev, d.enc))
	}
	return err
}

// close gives the engine's memory back.
func (e *deviceEngine) close() error {
	var err error
	for _, c := range []*recorded{e.train, e.loss} {
		if c != nil {
			err = errors.Join(err, c.close(e.l.Dev))
		}
	}
	for _, rec := range e.update {
		if rec != nil {
			err = errors.Join(err, rec.Close())
		}
	}
	var ts []gpu.Tensor
	if e.hyper.Valid() {
		ts = append(ts, e.hyper)
	}
	for _, m := range e.moments {
		ts = append(ts, m.M, m.V)
		if m.Master.Valid() {
			ts = append(ts, m.Master)
		}
	}
	return errors.Join(err, e.l.Dev.Release(ts...))
}
