package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// The words of the result buffer, which the host reads after each recording.
const (
	resultLoss   = iota // sum of the weighted losses of the micro-batch
	resultNorm          // gradient norm before clipping
	resultBroken        // 1 when the norm is not finite
	resultWords
)

// The dynamic loss scale of F16 activations. Source: Micikevicius et al. 2018, Mixed Precision Training,
// section 3.2.
const (
	firstScale  = 1 << 16
	growthSteps = 2000 // steps without overflow before the scale doubles
)

// recorded is a recording and the inputs that it reads.
type recorded struct {
	in  *model.Inputs
	rec *gpu.Recording
}

// stepRecordings are what one optimizer step runs: one recording when it has a single micro-batch; else
// first, next for every further micro-batch, and update. All read the same inputs.
type stepRecordings struct {
	whole, first, next, update *gpu.Recording
	in                         *model.Inputs
}

// newInputs makes the device side of a batch.
func newInputs(dev *gpu.Device, b *data.Batch) (*model.Inputs, error) {
	in := &model.Inputs{}
	var err error
	if in.Dec, err = model.NewBatch(dev, b.Dec, false); err != nil {
		return nil, err
	}
	if b.Enc != nil {
		if in.Enc, err = model.NewBatch(dev, *b.Enc, false); err != nil {
			return nil, errors.Join(err, model.ReleaseBatch(dev, in.Dec))
		}
	}
	return in, nil
}

// fillInputs writes a batch of the same shape.
func fillInputs(dev *gpu.Device, in *model.Inputs, b *data.Batch) error {
	if err := model.FillBatch(dev, in.Dec, b.Dec); err != nil || b.Enc == nil {
		return err
	}
	return model.FillBatch(dev, in.Enc, *b.Enc)
}

func releaseInputs(dev *gpu.Device, in *model.Inputs) error {
	var err error
	for _, b := range []*nn.Batch{in.Dec, in.Enc} {
		if b != nil {
			err = errors.Join(err, model.ReleaseBatch(dev, b))
		}
	}
	return err
}

func (c *recorded) close(dev *gpu.Device) error {
	var err error
	if c.rec != nil {
		err = c.rec.Close()
	}
	return errors.Join(err, releaseInputs(dev, c.in))
}

func (s *stepRecordings) close(dev *gpu.Device) error {
	var err error
	for _, rec := range []*gpu.Recording{s.whole, s.first, s.next, s.update} {
		if rec != nil {
			err = errors.Join(err, rec.Close())
		}
	}
	return errors.Join(err, releaseInputs(dev, s.in))
}

// record records f over the shared arena.
func (t *Trainer) record(f func(r *nn.Recorder)) (*gpu.Recording, error) {
	r := t.l.NewRecorder()
	r.UseArena(t.arena)
	f(r)
	return r.Finish()
}

// recordStep records a step for batches of b's shape.
func (t *Trainer) recordStep(b *data.Batch) (s *stepRecordings, err error) {
	s = &stepRecordings{}
	if s.in, err = newInputs(t.dev, b); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(t.dev))
			s = nil
		}
	}()
	passes := func(accumulate bool) func(*nn.Recorder) {
		return func(r *nn.Recorder) {
			r.Training, r.Accumulate, r.Seed = true, accumulate, r.LocalTensor(t.random)
			recordLoss(r, t.l.Model.Train(r, s.in.OnDevice(r)), t.result)
		}
	}
	update := func(r *nn.Recorder) { recordUpdate(r, t.params, t.moments, t.hyper, t.result) }
	if t.cfg.Accumulate == 1 {
		s.whole, err = t.record(func(r *nn.Recorder) {
			passes(false)(r)
			update(r)
		})
		return s, err
	}
	if s.first, err = t.record(passes(false)); err != nil {
		return s, err
	}
	if s.next, err = t.record(passes(true)); err != nil {
		return s, err
	}
	s.update, err = t.record(update)
	return s, err
}

// recordLoss sums the losses of tokens into the result.
func recordLoss(r *nn.Recorder, loss, result gpu.Tensor) {
	if r.Err() != nil {
		return
	}
	total := r.Total(loss)
	r.Copy(result.Slice(resultLoss, resultLoss+1), total)
	r.Free(total, loss)
}

// recordUpdate records the gradient norm and the optimizer. Without clipping the norm is still taken: it
// stops an update that is not finite.
func recordUpdate(r *nn.Recorder, params []*nn.Param, ms []nn.Moments, hyper, result gpu.Tensor) {
	if r.Err() != nil {
		return
	}
	hyper = r.LocalTensor(hyper)
	norm := r.GradNorm(params, hyper)
	r.AdamW(params, ms, hyper, norm)
	r.Copy(result.Slice(resultNorm, resultNorm+2), norm)
	r.Free(norm)
}

// stepResult is what one step found.
type stepResult struct {
	loss, norm float64
	rate       float64
	tokens     int
	counts     int
	skipped    bool // an overflow of F16: the loss scale was lowered and nothing changed
}

// runStep does the next step.
func (t *Trainer) runStep() (stepResult, error) {
	batches, res, err := t.nextBatches()
	if err != nil {
		return res, err
	}
	if t.step == nil {
		if t.step, err = t.recordStep(batches[0]); err != nil {
			return res, err
		}
	}
	res.rate = t.cfg.Rate(t.at.Step+1, t.stepsKnown())
	h := nn.Hyper{LR: res.rate, Beta1: t.cfg.Beta1, Beta2: t.cfg.Beta2, Eps: t.cfg.Eps, Decay: t.cfg.WeightDecay,
		Step: t.at.Updates + 1, MaxNorm: t.cfg.MaxNorm, GradScale: 1 / t.at.Scale}
	if err := t.dev.Write(t.hyper, h.Words()); err != nil {
		return res, err
	}
	out := make([]float32, resultWords)
	for i, b := range batches {
		b.Dec.LossScale = float32(t.at.Scale / float64(max(1, res.counts)))
		pass := uint32(t.at.Step*t.cfg.Accumulate + i)
		if err := t.dev.Write(t.random, []uint32{uint32(t.cfg.Seed) ^ uint32(t.cfg.Seed>>32), pass}); err != nil {
			return res, err
		}
		if err := fillInputs(t.dev, t.step.in, b); err != nil {
			return res, err
		}
		if err := t.pass(i).Run(); err != nil {
			return res, err
		}
		if err := t.dev.Read(t.result, out); err != nil {
			return res, err
		}
		res.loss += float64(out[resultLoss]) / t.at.Scale
	}
	if t.step.update != nil {
		if err := errors.Join(t.step.update.Run(), t.dev.Read(t.result, out)); err != nil {
			return res, err
		}
	}
	res.norm = float64(out[resultNorm])
	return res, t.judge(&res, out[resultBroken] != 0)
}

// Next does one step and returns its loss, and neither writes metrics nor saves: for measurements.
func (t *Trainer) Next() (float64, error) {
	s, err := t.runStep()
	t.at.Step++
	return s.loss, err
}

// Profile runs the recordings of the last step once more, all but the further micro-batches, and returns the times of their
// kernels. A step must have run. The weights change.
func (t *Trainer) Profile() ([]gpu.KernelTime, error) {
	if t.step == nil {
		return nil, errors.New("profile: no step has run yet")
	}
	var all []gpu.KernelTime
	for _, rec := range []*gpu.Recording{t.step.whole, t.step.first, t.step.update} {
		if rec == nil {
			continue
		}
		times, err := rec.Profile()
		if err != nil {
			return nil, err
		}
		all = append(all, times...)
	}
	return all, nil
}

// pass is the recording of micro-batch i.
func (t *Trainer) pass(i int) *gpu.Recording {
	switch {
	case t.step.whole != nil:
		return t.step.whole
	case i == 0:
		return t.step.first
	}
	return t.step.next
}

// nextBatches reads the micro-batches of a step: all of them, since each token weighs one over the counted
// tokens of all.
func (t *Trainer) nextBatches() ([]*data.Batch, stepResult, error) {
	var res stepResult
	batches := make([]*data.Batch, t.cfg.Accumulate)
	for i := range batches {
		var err error
		if batches[i], err = t.loader.Next(); err != nil {
			return nil, res, err
		}
		res.tokens += batches[i].Tokens
		res.counts += batches[i].Counts
	}
	return batches, res, nil
}

// stepsKnown is the number of steps for the schedule: endless while only the time is known.
func (t *Trainer) stepsKnown() int {
	if t.at.Steps == 0 {
		return math.MaxInt32
	}
	return t.at.Steps
}

// judge adapts the loss scale, or stops at a number that is not finite.
func (t *Trainer) judge(res *stepResult, broken bool) error {
	if !broken && finite(res.loss) {
		t.at.Updates++
		t.at.Good++
		if t.at.Scale > 1 && t.at.Good >= growthSteps {
			t.at.Scale, t.at.Good = min(2*t.at.Scale, firstScale<<8), 0
		}
		return nil
	}
	if t.at.Scale > 1 {
		t.at.Scale, t.at.Good = t.at.Scale/2, 0
		res.skipped = true
		return nil
	}
	return t.notFinite(t.at.Step+1, res.loss)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// notFinite names the first tensor that holds a number that is not finite: parameters first, since a step
// computes from them, then gradients, both in the order of the checkpoint.
func (t *Trainer) notFinite(step int, loss float64) error {
	type kind struct {
		name  string
		value func(*nn.Param) gpu.Tensor
	}
	for _, k := range []kind{{"parameter", func(p *nn.Param) gpu.Tensor { return p.Value }},
		{"the gradient of", func(p *nn.Param) gpu.Tensor { return p.Grad }}} {
		for _, p := range model.AllParams(t.l.Model) {
			x := k.value(p)
			if !x.Valid() || p.Index {
				continue
			}
			values, err := readWide(t.dev, x)
			if err != nil {
				return err
			}
			for i, v := range values {
				if !finite(float64(v)) {
					return fmt.Errorf("step %d: the loss is %g; the first tensor that is not finite is %s %s %v: element %d is %g "+
						"(lower the learning rate, clip gradients, or look at the data of this step)", step, loss, k.name, p.Name,
						p.Shape, i, v)
				}
			}
		}
	}
	return fmt.Errorf("step %d: the loss is %g, while parameters and gradients are finite: the logits overflow", step, loss)
}
