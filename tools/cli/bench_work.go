package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/generate"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

// randomTokens are ids below the vocabulary, the same in every run.
func (b *bencher) randomTokens(n int) []int32 {
	vocab := uint32(max(1, b.cfg.IntOr(1, "vocab_size", "text_config.vocab_size")))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(model.Philox([2]uint32{1, 2}, [4]uint32{uint32(i), 0, 0, 3})[0] % vocab)
	}
	return ids
}

// trainer trains on random tokens; its folder goes with close.
func (b *bencher) trainer(l *model.Loaded) (t *train.Trainer, rows *data.Blocks, close func() error, err error) {
	ids := b.randomTokens(4*b.f.batch*b.f.seq + 1)
	if rows, err = data.NewBlocks(&data.Tokens{IDs: ids, Starts: []int{0}}, b.f.seq, false); err != nil {
		return nil, nil, nil, err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, nil, err
	}
	c := train.DefaultConfig()
	c.Batch, c.Steps, c.Warmup = b.f.batch, 1<<20, 0
	if t, err = train.New(l, rows, nil, c, train.Options{Folder: dir}); err != nil {
		return nil, nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return t, rows, func() error { return errors.Join(t.Close(), os.RemoveAll(dir)) }, nil
}

// training measures whole optimizer steps.
func (b *bencher) training(l *model.Loaded) (*workload, error) {
	t, _, close, err := b.trainer(l)
	if err != nil {
		return nil, err
	}
	return &workload{tokens: b.f.seq, close: close, profile: t.Profile, run: func() error {
		_, err := t.Next()
		return err
	}}, nil
}

// forward measures the loss of a batch, without gradients.
func (b *bencher) forward(l *model.Loaded) (*workload, error) {
	ids := b.randomTokens(b.f.batch*b.f.seq + 1)
	rows, err := data.NewBlocks(&data.Tokens{IDs: ids, Starts: []int{0}}, b.f.seq, false)
	if err != nil {
		return nil, err
	}
	e := train.NewEvaluator(l, rows, b.f.batch)
	return &workload{tokens: b.f.seq, close: e.Close, profile: e.Profile, run: func() error {
		_, err := e.Run(0)
		return err
	}}, nil
}

// generator runs prompts of n tokens and writes most more.
func (b *bencher) generator(l *model.Loaded, n, most int) (*generate.Generator, func() error, error) {
	g, err := generate.New(l, nil, 0)
	if err != nil {
		return nil, nil, err
	}
	ids := b.randomTokens(b.f.batch * n)
	prompts := make([][]int32, b.f.batch)
	for i := range prompts {
		prompts[i] = ids[i*n : (i+1)*n]
	}
	return g, func() error {
		_, err := g.Run(context.Background(), prompts, generate.Options{MaxTokens: most}, nil)
		return err
	}, nil
}

// reading measures prompts.
func (b *bencher) reading(l *model.Loaded) (*workload, error) {
	g, run, err := b.generator(l, b.f.prefill, 1)
	if err != nil {
		return nil, err
	}
	return &workload{tokens: b.f.prefill, run: run, close: g.Close,
		profile: func() ([]gpu.KernelTime, error) { return g.Profile(min(b.f.prefill, 512)) },
		time:    func() time.Duration { return g.Stats.PromptTime }}, nil
}

// writing measures one token after the other, behind a prompt of one: the prompt's step gives the first
// token, which is not counted.
func (b *bencher) writing(l *model.Loaded) (*workload, error) {
	g, run, err := b.generator(l, 1, b.f.decode+1)
	if err != nil {
		return nil, err
	}
	return &workload{tokens: b.f.decode, run: run, close: g.Close,
		profile: func() ([]gpu.KernelTime, error) { return g.Profile(1) },
		time:    func() time.Duration { return g.Stats.WrittenTime }}, nil
}
