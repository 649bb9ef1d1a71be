package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

type benchFlags struct {
	json, train, profile, roofs bool
	shape, arch, dtype          string
	batch, seq, prefill, decode int
	runs                        int
}

func benchCommand(a *app) *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use:   "bench [flags] --shape NAME",
		Short: "Measure training, prefill and decoding with random weights",
		Long: `Measure a model of random weights: training steps (--train), reading a prompt (--prefill), writing tokens
(--decode). Without any of these, forward passes of B rows of T tokens.

A line each: the median of the runs, tokens a second, and the largest device memory in use.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.bench(c, f) },
	}
	s := c.Flags()
	s.BoolVar(&f.json, "json", false, "one JSON object a line")
	s.StringVar(&f.shape, "shape", "135m", "size of the model: "+shapeNames())
	s.StringVar(&f.arch, "arch", defaultArch, "model_type of the shape, or a config.json instead of one")
	s.StringVar(&f.dtype, "dtype", "f32", "storage of weights and activations: f32, bf16 or f16")
	s.IntVar(&f.batch, "batch", 1, "rows")
	s.IntVar(&f.seq, "seq", 128, "tokens of a row, in training and forward passes")
	s.BoolVar(&f.train, "train", false, "measure training steps")
	s.IntVar(&f.prefill, "prefill", 0, "measure reading a prompt of this many tokens")
	s.IntVar(&f.decode, "decode", 0, "measure writing this many tokens")
	s.BoolVar(&f.profile, "profile", false, "after the runs, the time of each kernel")
	s.BoolVar(&f.roofs, "roofs", false, "measure what the device can do at most, and no model")
	s.IntVar(&f.runs, "runs", 5, "runs to take the median of, after one that is not counted, or as many as warm a GPU up")
	return c
}

// measured is a line of the result.
type measured struct {
	Work       string  `json:"work"` // train, forward, prefill or decode
	Shape      string  `json:"shape"`
	Parameters int64   `json:"parameters"`
	DType      string  `json:"dtype"`
	Batch      int     `json:"batch"`
	Tokens     int     `json:"tokens"` // of a row
	Runs       int     `json:"runs"`
	Seconds    float64 `json:"seconds"` // of a run: a step, a prompt, or all written tokens
	Speed      float64 `json:"tokens_per_second"`
	PeakBytes  int64   `json:"peak_bytes"`
	Device     string  `json:"device"`
	Driver     string  `json:"driver"`

	profile []gpu.KernelTime
}

// bencher measures one model.
type bencher struct {
	*app
	f   *benchFlags
	cfg *hfconfig.File
	dev *gpu.Device
	o   model.Options

	messages io.Writer
}

// workload is what is measured: run may be called any number of times, each time over tokens tokens of every
// row. time is the part of a run that counts; nil = all of it.
type workload struct {
	tokens int
	run    func() error
	time   func() time.Duration
	close  func() error

	profile func() ([]gpu.KernelTime, error)
}

func (f *benchFlags) check() error {
	var errs []error
	for _, x := range []struct {
		name         string
		value, least int
	}{{"batch", f.batch, 1}, {"seq", f.seq, 1}, {"runs", f.runs, 1}, {"prefill", f.prefill, 0}, {"decode", f.decode, 0}} {
		if x.value < x.least {
			errs = append(errs, fmt.Errorf("--%s is %d, want at least %d", x.name, x.value, x.least))
		}
	}
	return errors.Join(errs...)
}

func (a *app) bench(c *cobra.Command, f *benchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	b := &bencher{app: a, f: f, messages: c.ErrOrStderr()}
	var err error
	if b.cfg, err = newConfig(f.arch, f.shape, nil); err != nil {
		return err
	}
	typ, err := parseDType(f.dtype)
	if err != nil {
		return err
	}
	if f.roofs {
		return a.roofs(c)
	}
	b.o = model.Options{Weights: typ, Activations: typ, Kernels: a.kernels}
	if b.dev, err = a.open(); err != nil {
		return err
	}
	defer b.dev.Close()
	for _, w := range []struct {
		name string
		on   bool
		make func(*model.Loaded) (*workload, error)
	}{{"train", f.train, b.training}, {"prefill", f.prefill > 0, b.reading}, {"decode", f.decode > 0, b.writing},
		{"forward", !f.train && f.prefill == 0 && f.decode == 0, b.forward}} {
		if !w.on {
			continue
		}
		m, err := b.measure(c.Context(), w.name, w.make)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if err := errors.Join(printMeasured(c.OutOrStdout(), m, f.json), printProfile(c.OutOrStdout(), m, f.json)); err != nil {
			return err
		}
	}
	return nil
}

// measure makes a model with random weights and runs work on it: once to record, and then for the clock.
func (b *bencher) measure(ctx context.Context, name string, make func(*model.Loaded) (*workload, error)) (m *measured, err error) {
	o := b.o
	o.Train = name == "train"
	l, err := model.Create(b.cfg, 1, b.dev, b.archs, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	w, err := make(l)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	var seconds []float64
	start := time.Now()
	for i := 0; len(seconds) < b.f.runs; i++ {
		if err := ctx.Err(); err != nil {
			return nil, errors.New("interrupted")
		}
		began := time.Now()
		if err := w.run(); err != nil {
			return nil, err
		}
		spent := time.Since(began)
		if w.time != nil {
			spent = w.time()
		}
		if i == 0 {
			start = time.Now()
		} else if b.dev.Info.IsCPU || time.Since(start) > warmUp {
			seconds = append(seconds, spent.Seconds())
		}
	}
	m = &measured{Work: name, Shape: b.f.shape, DType: b.f.dtype, Batch: b.f.batch, Tokens: w.tokens, Runs: len(seconds),
		Seconds: median(seconds), PeakBytes: b.dev.MemoryUse(), Device: b.dev.Info.Name, Driver: b.dev.Info.Driver}
	for _, p := range l.Model.Params() {
		m.Parameters += int64(p.Value.Len())
	}
	m.Speed = float64(b.f.batch*w.tokens) / m.Seconds
	if b.f.profile && w.profile != nil {
		m.profile, err = w.profile()
	}
	return m, err
}

// warmUp is how long a GPU works before anything counts: an idle one has a low clock.
const warmUp = 600 * time.Millisecond

func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

func printMeasured(w io.Writer, m *measured, asJSON bool) error {
	if asJSON {
		return writeLine(w, m)
	}
	_, err := fmt.Fprintf(w, "%s %s %s batch %d x %d: %.1f tokens/s, %.4f s (median of %d), %s, %s\n", m.Work, m.Shape, m.DType,
		m.Batch, m.Tokens, m.Speed, m.Seconds, m.Runs, train.ByteText(m.PeakBytes), m.Device)
	return err
}
