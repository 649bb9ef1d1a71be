package train

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Progress is what a run tells while it goes.
type Progress struct {
	Step, Steps int // Steps is 0 while only the time is known
	Epoch       float64
	Loss        float64
	Rate        float64
	Norm        float64
	Speed       float64       // tokens a second
	Left        time.Duration // to the end, from the speed so far; 0 when not known
	Skipped     bool          // F16 overflowed: nothing changed
	Eval        *Evaluation   // after an evaluation
}

// Result is what a finished run found.
type Result struct {
	Steps   int
	Tokens  int64
	Loss    float64 // of the last step
	Eval    *Evaluation
	Seconds float64 // spent training, in all its parts
}

// ErrInterrupted is in the chain of errors after the context ended; the state has been saved.
var ErrInterrupted = errors.New("interrupted")

// The steps of a timed run are counted out from the speed of at least probeSteps, after the first, over a
// part probePart of the time.
const (
	probeSteps = 5
	probePart  = 0.15
)

// Run trains to the last step, evaluates, and saves checkpoints on the way and at the end. When ctx ends, it
// saves and returns ErrInterrupted.
//
// Errors: a loss that is not finite, naming the step and the first tensor that is not; those of the device
// and the disk.
func (t *Trainer) Run(ctx context.Context) (Result, error) {
	t.started = time.Now()
	before := t.at.Seconds
	var res Result
	var pace pace
	for t.at.Steps == 0 || t.at.Step < t.at.Steps {
		if ctx.Err() != nil {
			if err := errors.Join(t.Save(), t.curve()); err != nil {
				return res, err
			}
			return res, fmt.Errorf("%w after step %d of %d; the state is saved", ErrInterrupted, t.at.Step, t.at.Steps)
		}
		began := time.Now()
		s, err := t.runStep()
		if err != nil {
			return res, err
		}
		t.at.Step++
		t.at.Tokens += int64(s.tokens)
		t.at.Seconds = before + time.Since(t.started).Seconds()
		pace.add(time.Since(began), s.tokens)
		res.Loss = s.loss
		if err := t.report(s, &pace); err != nil {
			return res, err
		}
		t.countOut(&pace)
		if err := t.pause(&res, &pace); err != nil {
			return res, err
		}
	}
	if t.eval != nil && res.Eval == nil {
		if err := t.evaluate(&res, &pace); err != nil {
			return res, err
		}
	}
	res.Steps, res.Tokens, res.Seconds = t.at.Step, t.at.Tokens, t.at.Seconds
	return res, errors.Join(t.Save(), t.curve())
}

// pause evaluates and saves where the configuration says so.
func (t *Trainer) pause(res *Result, p *pace) error {
	res.Eval = nil
	last := t.at.Steps > 0 && t.at.Step >= t.at.Steps
	if t.eval != nil && t.cfg.EvalEvery > 0 && t.at.Step%t.cfg.EvalEvery == 0 && !last {
		if err := t.evaluate(res, p); err != nil {
			return err
		}
	}
	due := t.cfg.SaveEvery > 0 && t.at.Step%t.cfg.SaveEvery == 0 ||
		t.cfg.SaveMinutes > 0 && time.Since(t.saved).Minutes() >= t.cfg.SaveMinutes
	if !due || last {
		return nil
	}
	if err := t.Save(); err != nil {
		return err
	}
	t.saved = time.Now()
	return t.curve()
}

// countOut decides the steps of a timed run from the speed so far.
func (t *Trainer) countOut(p *pace) {
	if t.at.Steps > 0 || p.n <= probeSteps || t.at.Seconds < probePart*t.cfg.Minutes*60 {
		return
	}
	left := t.cfg.Minutes*60 - t.at.Seconds
	t.at.Steps = t.at.Step + max(1, int(left/p.seconds()))
}

// report writes a step's metrics and tells its progress.
func (t *Trainer) report(s stepResult, p *pace) error {
	m := Metric{Step: t.at.Step, Epoch: t.loader.Epoch(), Loss: &s.loss, Rate: s.rate, Norm: s.norm, Tokens: t.at.Tokens,
		Speed: p.speed(), Skip: s.skipped}
	if t.at.Scale > 1 {
		m.Scale = t.at.Scale
	}
	if s.skipped { // neither is a number that JSON can hold
		m.Loss, m.Norm = nil, 0
	}
	if err := t.metrics.add(m); err != nil {
		return err
	}
	t.tell(Progress{Loss: s.loss, Rate: s.rate, Norm: s.norm, Skipped: s.skipped}, p)
	return nil
}

// tell completes and passes a progress on.
func (t *Trainer) tell(x Progress, p *pace) {
	if t.opts.Progress == nil {
		return
	}
	x.Step, x.Steps, x.Epoch, x.Speed = t.at.Step, t.at.Steps, t.loader.Epoch(), p.speed()
	if t.at.Steps > 0 && p.n > 1 {
		x.Left = time.Duration(float64(t.at.Steps-t.at.Step) * p.seconds() * float64(time.Second))
	}
	t.opts.Progress(x)
}

// evaluate takes the loss of the held-out set and notes it.
func (t *Trainer) evaluate(res *Result, p *pace) error {
	e, err := t.eval.Run(t.cfg.EvalBatches)
	if err != nil {
		return err
	}
	if !finite(e.Loss) {
		return t.notFinite(t.at.Step, e.Loss)
	}
	res.Eval = &e
	m := Metric{Step: t.at.Step, Epoch: t.loader.Epoch(), Tokens: t.at.Tokens, Eval: &e}
	if !finite(e.Perplexity) {
		m.Eval = &Evaluation{Loss: e.Loss, Tokens: e.Tokens}
	}
	if err := t.metrics.add(m); err != nil {
		return err
	}
	t.tell(Progress{Eval: &e, Loss: res.Loss}, p)
	return nil
}

// pace measures steps; the first is left out, as it makes the recordings. Later steps weigh more.
type pace struct {
	n            int
	time, tokens float64
}

// pastWeight is the weight of what came before in the mean: about the last fifty steps count.
const pastWeight = 0.98

func (p *pace) add(d time.Duration, tokens int) {
	p.n++
	if p.n <= 1 {
		return
	}
	p.time = p.time*pastWeight + d.Seconds()
	p.tokens = p.tokens*pastWeight + float64(tokens)
}

// steps is the weight of all steps together.
func (p *pace) steps() float64 {
	w := 0.0
	for range min(p.n-1, 1000) {
		w = w*pastWeight + 1
	}
	return w
}

// seconds a step takes.
func (p *pace) seconds() float64 {
	if p.n <= 1 {
		return 0
	}
	return p.time / p.steps()
}

// speed is tokens a second.
func (p *pace) speed() float64 {
	if p.time == 0 {
		return 0
	}
	return p.tokens / p.time
}
