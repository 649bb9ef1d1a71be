package train

import (
	"errors"
	"fmt"
	"math"
)

// Config is everything that decides the numbers of a run.
type Config struct {
	Steps      int     `json:"steps"`      // optimizer steps in all; 0 = until Epochs or Minutes are over
	Epochs     float64 `json:"epochs"`     // passes over the data, when Steps is 0
	Minutes    float64 `json:"minutes"`    // when Steps and Epochs are 0: steps are counted out from the first ones' speed
	Batch      int     `json:"batch"`      // rows of a micro-batch
	Accumulate int     `json:"accumulate"` // micro-batches of a step

	LR          float64  `json:"lr"`     // highest learning rate
	MinLR       float64  `json:"min_lr"` // the schedule's lowest
	Schedule    Schedule `json:"schedule"`
	Warmup      int      `json:"warmup"` // steps of linear warm-up
	Decay       int      `json:"decay"`  // steps of the final decay of wsd
	Beta1       float64  `json:"beta1"`
	Beta2       float64  `json:"beta2"`
	Eps         float64  `json:"eps"`
	WeightDecay float64  `json:"weight_decay"`
	NoDecay     []string `json:"no_decay"` // regular expressions of parameters without decay; see DefaultNoDecay
	Freeze      []string `json:"freeze"`   // regular expressions of parameters that are not trained
	MaxNorm     float64  `json:"max_norm"` // global gradient norm to clip to; 0 = no clipping

	Seed uint64 `json:"seed"`

	EvalEvery   int     `json:"eval_every"`   // steps between evaluations; 0 = at the end only
	EvalBatches int     `json:"eval_batches"` // batches of an evaluation, spread over the set; 0 = all of it
	SaveEvery   int     `json:"save_every"`   // steps between checkpoints; 0 = none but the last
	SaveMinutes float64 `json:"save_minutes"` // minutes between checkpoints; 0 = none
	Keep        int     `json:"keep"`         // checkpoints kept; 0 = all
}

// DefaultConfig is a good start for models of any size trained from scratch.
func DefaultConfig() Config {
	return Config{Steps: 1000, Batch: 8, Accumulate: 1, LR: 1e-3, MinLR: 1e-4, Schedule: Cosine, Warmup: 100, Beta1: 0.9,
		Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1, NoDecay: DefaultNoDecay(), MaxNorm: 1, SaveMinutes: 10, Keep: 2}
}

// Check reports every value that makes no sense.
func (c *Config) Check() error {
	var errs []error
	want := func(ok bool, name string, found any, wanted string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", name, found, wanted))
		}
	}
	want(c.Steps >= 0, "steps", c.Steps, "0 or more")
	want(c.Epochs >= 0, "epochs", c.Epochs, "0 or more")
	want(c.Minutes >= 0, "minutes", c.Minutes, "0 or more")
	want(c.Steps > 0 || c.Epochs > 0 || c.Minutes > 0, "steps", c.Steps, "steps, epochs or minutes above 0")
	want(c.Batch > 0, "batch", c.Batch, "at least 1")
	want(c.Accumulate > 0, "accumulate", c.Accumulate, "at least 1")
	want(c.LR > 0 && !math.IsInf(c.LR, 0), "lr", c.LR, "a number above 0")
	want(c.MinLR >= 0 && c.MinLR <= c.LR, "min-lr", c.MinLR, "between 0 and lr")
	want(c.Warmup >= 0, "warmup", c.Warmup, "0 or more")
	want(c.Decay >= 0, "decay", c.Decay, "0 or more")
	want(c.Steps == 0 || c.Warmup <= c.Steps, "warmup", c.Warmup, fmt.Sprintf("at most steps (%d)", c.Steps))
	want(c.Beta1 >= 0 && c.Beta1 < 1, "beta1", c.Beta1, "at least 0 and below 1")
	want(c.Beta2 >= 0 && c.Beta2 < 1, "beta2", c.Beta2, "at least 0 and below 1")
	want(c.Eps > 0, "eps", c.Eps, "above 0")
	want(c.WeightDecay >= 0, "weight-decay", c.WeightDecay, "0 or more")
	want(c.MaxNorm >= 0, "max-norm", c.MaxNorm, "0 or more")
	for name, v := range map[string]int{"eval-every": c.EvalEvery, "eval-batches": c.EvalBatches,
		"save-every": c.SaveEvery, "keep": c.Keep} {
		want(v >= 0, name, v, "0 or more")
	}
	errs = append(errs, c.Schedule.check(c), checkPatterns("no-decay", c.NoDecay), checkPatterns("freeze", c.Freeze))
	return errors.Join(errs...)
}
