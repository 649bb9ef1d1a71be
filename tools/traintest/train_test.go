package traintest

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

// start makes a trainer of the tiny model.
func start(t *testing.T, c train.Config, o train.Options) (*train.Trainer, *model.Loaded) {
	t.Helper()
	return startOf(t, c, o, tinyConfig)
}

// startOf makes a trainer of the model of a configuration.
func startOf(t *testing.T, c train.Config, o train.Options, text string) (*train.Trainer, *model.Loaded) {
	t.Helper()
	l := tinyOf(t, device(t), model.Options{Train: true}, text)
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	x := blocks(t, tokens(40, 30), 16)
	tr, err := train.New(l, x, x, c, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr, l
}

// run trains to the end, or until ctx is over.
func run(t *testing.T, ctx context.Context, c train.Config, o train.Options) (train.Result, map[string][]float32, error) {
	t.Helper()
	return runOf(t, ctx, c, o, tinyConfig)
}

func runOf(t *testing.T, ctx context.Context, c train.Config, o train.Options,
	text string) (train.Result, map[string][]float32, error) {
	t.Helper()
	tr, l := startOf(t, c, o, text)
	res, err := tr.Run(ctx)
	v := values(t, l)
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	return res, v, err
}

func TestLearns(t *testing.T) {
	folder := t.TempDir()
	c := tinyRun(60)
	c.EvalEvery = 20
	res, _, err := run(t, context.Background(), c, train.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	list, err := train.ReadMetrics(filepath.Join(folder, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	first := *list[0].Loss
	if math.Abs(first-math.Log(61)) > 0.5 || res.Eval.Loss > first-0.7 {
		t.Errorf("loss went from %.3f to %.3f", first, res.Eval.Loss)
	}
	evals := 0
	for _, m := range list {
		if m.Eval != nil {
			evals++
		}
	}
	if evals != 3 || len(list) != 63 {
		t.Errorf("%d evaluations in %d lines, want 3 in 63", evals, len(list))
	}
	if st, err := os.Stat(filepath.Join(folder, "loss.png")); err != nil || st.Size() < 1000 {
		t.Errorf("loss.png: %v", err)
	}
}

// TestResume stops a run at every step and goes on, and compares all bits and metrics with a run that never
// stopped.
func TestResume(t *testing.T) {
	for name, text := range map[string]string{"plain": tinyConfig, "dropout": dropoutConfig} {
		t.Run(name, func(t *testing.T) { testResume(t, text) })
	}
}

func testResume(t *testing.T, text string) {
	c := tinyRun(7)
	c.Accumulate, c.EvalEvery = 2, 3
	whole := t.TempDir()
	_, want, err := runOf(t, context.Background(), c, train.Options{Folder: whole}, text)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for {
		ctx, cancel := context.WithCancel(context.Background())
		_, got, err := runOf(t, ctx, c, train.Options{Folder: folder, Resume: true,
			Progress: func(train.Progress) { cancel() }}, text)
		cancel()
		if err == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("weights differ (-want +got)\n%s", diff)
			}
			break
		}
		if !errors.Is(err, train.ErrInterrupted) {
			t.Fatal(err)
		}
	}
	speed := regexp.MustCompile(`,"tokens_per_second":[^,}]*`)
	read := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return speed.ReplaceAllString(string(text), "")
	}
	if diff := cmp.Diff(read(whole), read(folder)); diff != "" {
		t.Errorf("metrics differ (-want +got)\n%s", diff)
	}
	list, err := train.Checkpoints(folder)
	if err != nil || len(list) != c.Keep {
		t.Errorf("%v are kept, want %d: %v", list, c.Keep, err)
	}
}

// TestAccumulate: 4 x 2 rows are as good as 8.
func TestAccumulate(t *testing.T) {
	c := tinyRun(4)
	c.Batch, c.Eps = 8, 1e-3
	_, want, err := run(t, context.Background(), c, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Batch, c.Accumulate = 2, 4
	_, got, err := run(t, context.Background(), c, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for name, w := range want {
		for i := range w {
			worst = max(worst, math.Abs(float64(w[i]-got[name][i])))
		}
	}
	if worst > 2e-6 {
		t.Errorf("parameters differ by %g", worst)
	}
}

func TestErrors(t *testing.T) {
	l := tiny(t, device(t), model.Options{Train: true})
	x := blocks(t, tokens(40, 30), 16)
	long := blocks(t, tokens(40, 30), 65)
	used := t.TempDir()
	c := tinyRun(3)
	tr, err := train.New(l, x, nil, c, train.Options{Folder: used})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := train.New(l, x, nil, c, train.Options{Folder: used}); err == nil ||
		!strings.Contains(err.Error(), "another process trains in this folder") {
		t.Errorf("a folder in use: %v", err)
	}
	if _, err := tr.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		do   func() error
		want string
	}{
		{"too long", func() error { _, err := train.New(l, long, nil, c, train.Options{Folder: t.TempDir()}); return err },
			"rows of 65 tokens are longer than the model allows (64 positions)"},
		{"not resumed", func() error { _, err := train.New(l, x, nil, c, train.Options{Folder: used}); return err },
			"holds a run that was stopped at step-00000003: resume it"},
		{"folder is a file", func() error { _, err := train.New(l, x, nil, c, train.Options{Folder: file}); return err },
			"not a directory"},
		{"another batch", func() error {
			d := c
			d.Batch = 5
			_, err := train.New(l, x, nil, d, train.Options{Folder: used, Resume: true})
			return err
		}, "the run has batch 4, not 5"},
		{"no steps", func() error {
			d := c
			d.Steps, d.LR = 0, -1
			_, err := train.New(l, x, nil, d, train.Options{Folder: used})
			return err
		}, "lr is -1, want a number above 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.do(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// TestNotFinite: a NaN in a parameter stops the first step by name.
func TestNotFinite(t *testing.T) {
	tr, l := start(t, tinyRun(3), train.Options{})
	defer tr.Close()
	p := l.Model.Params()[3]
	v := make([]float32, p.Value.Len())
	v[5] = float32(math.NaN())
	if err := l.Dev.Write(p.Value, v); err != nil {
		t.Fatal(err)
	}
	_, err := tr.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "step 1: ") || !strings.Contains(err.Error(), "parameter "+p.Name) ||
		!strings.Contains(err.Error(), "element 5 is NaN") {
		t.Errorf("error %v", err)
	}
}

// TestStorage: 16-bit weights and activations learn too.
func TestStorage(t *testing.T) {
	for _, typ := range []gpu.DType{gpu.BF16, gpu.F16} {
		t.Run(typ.String(), func(t *testing.T) {
			l := tiny(t, device(t), model.Options{Train: true, Weights: typ, Activations: typ})
			x := blocks(t, tokens(40, 30), 16)
			tr, err := train.New(l, x, x, tinyRun(60), train.Options{Folder: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			res, err := tr.Run(context.Background())
			if err != nil || res.Eval.Loss > 3.4 {
				t.Errorf("loss is %v: %v", res.Eval, err)
			}
		})
	}
}
