package train

import (
	"math"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Evaluation is the mean loss over the counted tokens of a set.
type Evaluation struct {
	Loss       float64 `json:"loss"`
	Perplexity float64 `json:"perplexity"`
	Tokens     int     `json:"tokens"`
}

// Evaluate takes the loss of the held-out set, at most limit batches of it when that is above 0.
func (t *Trainer) Evaluate(limit int) (Evaluation, error) {
	var e Evaluation
	sum := 0.0
	err := data.InOrder(t.eval, t.cfg.Batch, limit, func(b *data.Batch) error {
		loss, err := t.evaluateBatch(b)
		sum += loss
		e.Tokens += b.Counts
		return err
	})
	if err != nil || e.Tokens == 0 {
		return e, err
	}
	e.Loss = sum / float64(e.Tokens)
	e.Perplexity = math.Exp(e.Loss)
	return e, nil
}

// evaluateBatch is the sum of the losses of a batch's tokens.
func (t *Trainer) evaluateBatch(b *data.Batch) (float64, error) {
	b.Dec.LossScale = 1
	if t.loss == nil {
		in, err := newInputs(t.dev, b)
		if err != nil {
			return 0, err
		}
		rec, err := t.record(func(r *nn.Recorder) { recordLoss(r, t.l.Model.Loss(r, in), t.result) })
		if err != nil {
			return 0, err
		}
		t.loss = &recorded{in, rec}
	}
	if err := fillInputs(t.dev, t.loss.in, b); err != nil {
		return 0, err
	}
	if err := t.loss.rec.Run(); err != nil {
		return 0, err
	}
	out := make([]float32, resultWords)
	err := t.dev.Read(t.result, out)
	return float64(out[resultLoss]), err
}
