package train

import (
	"errors"
	"math"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
)

// Evaluation is the mean loss over the counted tokens of a set.
type Evaluation struct {
	Loss       float64 `json:"loss"`
	Perplexity float64 `json:"perplexity"`
	Tokens     int     `json:"tokens"`
}

// Evaluator takes the loss of a model on a set, in batches of one shape.
type Evaluator struct {
	l      *model.Loaded
	set    data.Set
	rows   int
	arena  *gpu.Arena // nil = memory of its own
	step   *recorded
	result gpu.Tensor
}

// NewEvaluator evaluates on set in batches of rows rows. Close it.
func NewEvaluator(l *model.Loaded, set data.Set, rows int) *Evaluator {
	return &Evaluator{l: l, set: set, rows: rows}
}

// Run takes the mean loss over the set, or over its first limit batches when that is above 0.
func (e *Evaluator) Run(limit int) (Evaluation, error) {
	var x Evaluation
	sum := 0.0
	err := data.InOrder(e.set, e.rows, limit, func(b *data.Batch) error {
		loss, err := e.batch(b)
		sum += loss
		x.Tokens += b.Counts
		return err
	})
	if err != nil || x.Tokens == 0 {
		return x, err
	}
	x.Loss = sum / float64(x.Tokens)
	x.Perplexity = math.Exp(x.Loss)
	return x, nil
}

// batch is the sum of the losses of a batch's tokens.
func (e *Evaluator) batch(b *data.Batch) (float64, error) {
	b.Dec.LossScale = 1
	if e.step == nil {
		if err := e.record(b); err != nil {
			return 0, err
		}
	}
	if err := fillInputs(e.l.Dev, e.step.in, b); err != nil {
		return 0, err
	}
	if err := e.step.rec.Run(); err != nil {
		return 0, err
	}
	out := make([]float32, resultWords)
	err := e.l.Dev.Read(e.result, out)
	return float64(out[resultLoss]), err
}

// record records batches of b's shape.
func (e *Evaluator) record(b *data.Batch) error {
	in, err := newInputs(e.l.Dev, b)
	if err != nil {
		return err
	}
	e.step = &recorded{in: in}
	if e.result, err = e.l.Dev.AllocHost(gpu.F32, resultWords); err != nil {
		return err
	}
	r := e.l.NewRecorder()
	if e.arena != nil {
		r.UseArena(e.arena)
	}
	recordLoss(r, e.l.Model.Loss(r, in.OnDevice(r)), e.result)
	e.step.rec, err = r.Finish()
	return err
}

// Close gives the memory back.
func (e *Evaluator) Close() error {
	if e.step == nil {
		return nil
	}
	err := e.step.close(e.l.Dev)
	e.step = nil
	if e.result.Valid() && err == nil {
		err = e.l.Dev.Release(e.result)
	}
	return err
}

// Profile runs the last batch once more and returns the times of its kernels.
func (e *Evaluator) Profile() ([]gpu.KernelTime, error) {
	if e.step == nil || e.step.rec == nil {
		return nil, errors.New("profile: no batch has run yet")
	}
	return e.step.rec.Profile()
}
