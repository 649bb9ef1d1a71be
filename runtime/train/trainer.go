package train

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Options are what a run needs beside its numbers.
type Options struct {
	Folder   string         // of the run; made when it does not exist
	Progress func(Progress) // after every step and evaluation; nil = none
	Resume   bool           // go on from the folder's last checkpoint when it has one
}

// Trainer trains one model on one data set.
type Trainer struct {
	l      *model.Loaded
	dev    *gpu.Device
	cfg    Config
	opts   Options
	loader *data.Loader
	eval   *Evaluator // nil = no evaluation
	lock   *flock.Flock

	params  []*nn.Param // that train
	moments []nn.Moments
	hyper   gpu.Tensor // nn.Hyper.Words of the step
	result  gpu.Tensor // see resultLoss
	random  gpu.Tensor // nn.Recorder.Seed: what dropout depends on, new in every pass
	arena   *gpu.Arena // of all recordings: they never run at the same time
	step    *stepRecordings

	at      state
	metrics *metrics
	saved   time.Time // of the last checkpoint, or the start
	started time.Time
}

// New prepares a run. The model must have been made with Options.Train. With Options.Resume, weights,
// optimizer and data position are those of the folder's last checkpoint afterwards.
//
// Errors: a configuration that makes no sense; rows longer than the model allows; a folder that cannot be
// written, is in use, or holds another run; too little memory.
func New(l *model.Loaded, train, eval data.Set, c Config, o Options) (*Trainer, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := checkLengths(l, train, eval); err != nil {
		return nil, err
	}
	loader, err := data.NewLoader(train, c.Batch, c.Seed, true)
	if err != nil {
		return nil, err
	}
	t := &Trainer{l: l, dev: l.Dev, cfg: c, opts: o, loader: loader, params: trained(model.AllParams(l.Model))}
	if len(t.params) == 0 {
		return nil, errors.New("no parameter is left to train: all are frozen")
	}
	if eval != nil {
		t.eval = NewEvaluator(l, eval, c.Batch)
	}
	t.at = state{Version: stateVersion, Config: c, Rows: train.Len(), Length: train.Length(), Scale: 1,
		Steps: stepsOf(&c, train)}
	if l.Opts.Activations == gpu.F16 {
		t.at.Scale = firstScale
	}
	if err := t.openFolder(); err != nil {
		return nil, err
	}
	if err := t.prepare(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// stepsOf is the number of steps of a run; 0 when only time will tell.
func stepsOf(c *Config, set data.Set) int {
	if c.Steps > 0 || c.Epochs == 0 {
		return c.Steps
	}
	return max(1, int(math.Ceil(c.Epochs*float64(set.Len())/float64(c.Batch*c.Accumulate))))
}

// checkLengths wants rows that the model's positions reach.
func checkLengths(l *model.Loaded, sets ...data.Set) error {
	limit := MaxPositions(l)
	for _, s := range sets {
		if s != nil && limit > 0 && max(s.Length(), s.EncLength()) > limit {
			return fmt.Errorf("rows of %d tokens are longer than the model allows (%d positions): shorten --seq, or raise "+
				"max_position_embeddings in its configuration", max(s.Length(), s.EncLength()), limit)
		}
	}
	return nil
}

// MaxPositions is the longest sequence that a model's configuration allows; 0 = it does not say.
func MaxPositions(l *model.Loaded) int {
	if l.Opts.MaxPositions > 0 {
		return l.Opts.MaxPositions
	}
	return l.TextConfig().IntOr(0, "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length")
}

// openFolder makes and locks the run's folder.
func (t *Trainer) openFolder() error {
	if t.opts.Folder == "" {
		return errors.New("a run needs a folder for its checkpoints and metrics")
	}
	if err := os.MkdirAll(t.checkpoints(), 0o777); err != nil {
		return fmt.Errorf("the run's folder cannot be made: %w", err)
	}
	t.lock = flock.New(t.path(".lock"))
	ok, err := t.lock.TryLock()
	if err != nil {
		return fmt.Errorf("%s: the run's folder cannot be written: %w", t.opts.Folder, err)
	}
	if !ok {
		return fmt.Errorf("%s: another process trains in this folder", t.opts.Folder)
	}
	return nil
}

// prepare allocates the optimizer and restores or begins the run.
func (t *Trainer) prepare() error {
	noDecay, err := compile(t.cfg.NoDecay)
	if err != nil {
		return err
	}
	if t.hyper, err = t.dev.AllocHost(gpu.F32, nn.HyperWords); err != nil {
		return err
	}
	if t.result, err = t.dev.AllocHost(gpu.F32, resultWords); err != nil {
		return err
	}
	if t.random, err = t.dev.AllocHost(gpu.U32, 2); err != nil {
		return err
	}
	t.arena = t.dev.NewArena()
	if t.eval != nil {
		t.eval.arena = t.arena
	}
	t.moments, err = moments(t.params, noDecay, func(name string, shape []int) (gpu.Tensor, error) {
		x, err := t.dev.Alloc(gpu.F32, shape...)
		return x.Named(name), err
	})
	if err != nil {
		return fmt.Errorf("%w; lower the memory by freezing parameters, or use a smaller model", err)
	}
	last, err := t.lastCheckpoint()
	if err != nil {
		return err
	}
	switch {
	case last != "" && !t.opts.Resume:
		return fmt.Errorf("%s holds a run that was stopped at %s: resume it (--resume), or choose another folder",
			t.opts.Folder, last)
	case last != "":
		err = t.restore(last)
	default:
		err = t.startMoments()
	}
	if err != nil {
		return err
	}
	if t.metrics, err = openMetrics(t.path("metrics.jsonl"), t.at.Metrics); err != nil {
		return err
	}
	t.saved = time.Now()
	return nil
}

// Step is the number of steps done.
func (t *Trainer) Step() int { return t.at.Step }

// SaveOptions saves the model from the optimizer's precise values where weights are stored in 16 bits.
func (t *Trainer) SaveOptions() model.SaveOptions {
	masters := map[*nn.Param]gpu.Tensor{}
	for i, p := range t.params {
		masters[p] = t.moments[i].Master
	}
	return model.SaveOptions{Value: func(p *nn.Param) gpu.Tensor { return masters[p] }}
}

// Close gives memory and folder back. The model stays.
func (t *Trainer) Close() error {
	var errs []error
	if t.step != nil {
		errs = append(errs, t.step.close(t.dev))
	}
	if t.eval != nil {
		errs = append(errs, t.eval.Close())
	}
	if t.arena != nil {
		errs = append(errs, t.arena.Close())
	}
	errs = append(errs, t.releaseMoments(), t.dev.Release(t.hyper, t.result, t.random))
	if t.metrics != nil {
		errs = append(errs, t.metrics.close())
	}
	if t.lock != nil {
		errs = append(errs, t.lock.Unlock())
	}
	return errors.Join(errs...)
}
