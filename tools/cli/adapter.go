package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/adapter"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

// loraFlags choose an adapter to train.
type loraFlags struct {
	c                adapter.Config
	ranks, alphas    []string
	targets, exclude []string
	regex            string
}

// loraRate is the learning rate of adapters: ten times that of whole models, as their updates are small.
const loraRate = 2e-4

func (f *loraFlags) add(c *cobra.Command) {
	s := c.Flags()
	s.IntVar(&f.c.Rank, "lora-rank", 0, "train a LoRA adapter of this rank instead of all parameters; 0 = all parameters")
	s.Float64Var(&f.c.Alpha, "lora-alpha", 16, "the adapter counts alpha/rank times")
	s.StringSliceVar(&f.targets, "lora-targets", []string{adapter.AllLinear}, "names of linear layers, or "+adapter.AllLinear+
		" (all but the output embedding)")
	s.StringVar(&f.regex, "lora-target-regex", "", "a regular expression of whole names, instead of --lora-targets")
	s.StringSliceVar(&f.exclude, "lora-exclude", nil, "names of linear layers to leave out")
	s.IntSliceVar(&f.c.Layers, "lora-layers", nil, "numbers of the layers to adapt (default: all)")
	s.StringArrayVar(&f.ranks, "lora-rank-pattern", nil, "another rank for some layers: NAME=RANK")
	s.StringArrayVar(&f.alphas, "lora-alpha-pattern", nil, "another alpha for some layers: NAME=ALPHA")
	s.Float64Var(&f.c.Dropout, "lora-dropout", 0, "probability to drop an element of an adapter's input")
	s.BoolVar(&f.c.RSLoRA, "rslora", false, "the adapter counts alpha/sqrt(rank) times")
	s.StringVar(&f.c.Init, "lora-init", "default", "start of the adapter: default (Kaiming uniform) or gaussian")
}

// config is the adapter's configuration; nil when all parameters train.
func (f *loraFlags) config(base string) (*adapter.Config, error) {
	if f.c.Rank == 0 {
		return nil, nil
	}
	c := f.c
	c.Base, c.Targets, c.Exclude = base, adapter.Names{List: f.targets}, adapter.Names{List: f.exclude}
	if len(f.targets) == 1 && f.targets[0] == adapter.AllLinear {
		c.Targets = adapter.Names{Expr: adapter.AllLinear}
	}
	if f.regex != "" {
		c.Targets = adapter.Names{Expr: f.regex}
	}
	if len(c.Layers) == 0 {
		c.Layers = nil
	}
	var err1, err2 error
	c.RankOf, err1 = patternsOf("lora-rank-pattern", f.ranks)
	c.AlphaOf, err2 = patternsOf("lora-alpha-pattern", f.alphas)
	return &c, errors.Join(err1, err2, c.Check())
}

func patternsOf(flag string, list []string) ([]adapter.Pattern, error) {
	var out []adapter.Pattern
	for _, text := range list {
		at := strings.LastIndex(text, "=")
		if at < 1 {
			return nil, fmt.Errorf("--%s is %q, want NAME=NUMBER", flag, text)
		}
		v, err := strconv.ParseFloat(text[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("--%s is %q, want NAME=NUMBER", flag, text)
		}
		out = append(out, adapter.Pattern{Key: text[:at], Value: v})
	}
	return out, nil
}

// adjust freezes what does not train and adds the adapter.
func (j *job) adjust(m model.Model) error {
	c, err := j.f.lora.config(j.f.model)
	if err != nil {
		return err
	}
	if c != nil {
		if j.adapter, err = adapter.Attach(m, c, vocabOf(j.cfg), true); err != nil {
			return err
		}
	}
	return train.Freeze(model.AllParams(m), j.f.cfg.Freeze)
}

// vocabOf is the number of rows of the output embedding.
func vocabOf(cfg *hfconfig.File) int { return cfg.IntOr(0, "vocab_size", "text_config.vocab_size") }

// openAdapted opens a package with the adapter in a folder, "" for none.
func (a *app) openAdapted(dir, adapterDir string, dev *gpu.Device, o model.Options) (*model.Loaded, *adapter.Set, error) {
	if adapterDir == "" {
		l, err := model.Open(dir, dev, a.archs, o)
		return l, nil, err
	}
	c, err := adapter.Read(adapterDir)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := hfconfig.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	var set *adapter.Set
	o.Adjust = func(m model.Model) error {
		set, err = adapter.Attach(m, c, vocabOf(cfg), false)
		return err
	}
	l, err := model.Open(dir, dev, a.archs, o)
	if err != nil {
		return nil, nil, err
	}
	if err = errors.Join(adaptable(l), set.Load(dev, adapterDir)); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, set, nil
}

// adaptable refuses packages whose tensors have other names than the modules that PEFT would name.
func adaptable(l *model.Loaded) error {
	if l.Renamed() {
		return fmt.Errorf("adapters of a package inside another (model_type %s) are not supported: use its text model",
			l.Config.StringOr("", "model_type"))
	}
	return nil
}

func mergeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "merge MODEL ADAPTER OUT",
		Short: "Add a LoRA adapter to a package's weights",
		Long: `Add the adapter in the folder ADAPTER (adapter_config.json, adapter_model.safetensors) to the weights of the package in
the folder MODEL and write the package OUT: the arithmetic is f32, types, layouts and the size of shards are MODEL's.`,
		Args: cobra.ExactArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := modelFolder(c.Context(), c.ErrOrStderr(), args[0])
			if err != nil {
				return err
			}
			return a.merge(dir, args[1], args[2])
		},
	}
}

func (a *app) merge(dir, adapterDir, out string) (err error) {
	shard, err := largestShard(dir)
	if err != nil {
		return err
	}
	dev, err := a.open()
	if err != nil {
		return err
	}
	defer dev.Close()
	l, set, err := a.openAdapted(dir, adapterDir, dev, model.Options{Kernels: a.kernels})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := set.Merge(dev); err != nil {
		return err
	}
	return l.Save(out, model.SaveOptions{MaxShard: shard})
}

// largestShard is the size of the largest file of a package in several; 0 when it has one file.
func largestShard(dir string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*-of-*.safetensors"))
	size := int64(0)
	for _, name := range files {
		st, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		size = max(size, st.Size())
	}
	return size, err
}
