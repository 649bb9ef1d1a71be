package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/adapter"
	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/tokenizer"
	"github.com/vulcast/vulcast/runtime/train"
)

// trainFlags are the flags of the command.
type trainFlags struct {
	settingsFlags
	lora     loraFlags
	cfg      train.Config
	schedule string

	data, evalData, exclude []string
	holdout                 float64
	seq                     int
	join                    bool

	model, arch, shape, tokenizer string
	set, special                  []string
	newTokens                     int
	out, dtype                    string
	resume, dryRun, json          bool

	rows, onBad, truncate string // of records
	learnAll              bool
	maskPart              float64
}

// finetuneCommand is train with other defaults, for a package.
func finetuneCommand(a *app) *cobra.Command {
	f := &trainFlags{cfg: train.DefaultConfig()}
	f.cfg.Steps, f.cfg.Epochs, f.cfg.LR, f.cfg.MinLR, f.cfg.Warmup = 0, 1, 2e-5, 0, 10
	f.cfg.Beta2, f.cfg.WeightDecay = 0.999, 0
	c := &cobra.Command{
		Use:   "finetune [flags] --data FILES --out FOLDER MODEL",
		Short: "Train a package further on examples",
		Long: `Train the package in the folder MODEL further, all of its parameters: "vulcast train --model MODEL" with the
defaults of fine-tuning (a low learning rate, one pass over the data). See "vulcast help train" for data and results.

With --lora-rank only a LoRA adapter is trained; the result is FOLDER/adapter, in PEFT's format ("vulcast generate --adapter",
"vulcast merge").`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.model = args[0]
			}
			return a.trainOrPrint(c, f)
		},
	}
	f.add(c)
	f.inputFlags(c)
	f.runFlags(c)
	f.lora.add(c)
	return c
}

func trainCommand(a *app) *cobra.Command {
	f := &trainFlags{cfg: train.DefaultConfig()}
	c := &cobra.Command{
		Use:   "train [flags] --data FILES --out FOLDER",
		Short: "Train a model on texts, from scratch or from a package",
		Long: `Train a model on texts, all of its parameters, from scratch (--arch) or from a package (--model).

FOLDER becomes the run: run.toml (all settings), metrics.jsonl, loss.png, checkpoints/, and at the end model/, a Hugging
Face package. Kill the run at any moment: "vulcast train --resume --out FOLDER" goes on from the last checkpoint and ends
with the same bits as a run that was never stopped. An interrupt saves first.

Plain texts are encoded, an end token behind each, and cut into rows of --seq tokens without padding; texts in one row do not
see each other. A part of the texts is held out: its loss is reported beside that of a unigram baseline.

Files of records (.jsonl, .json, .csv, .tsv, .parquet, all but the last also with .gz or .zst) make an example each, by the
fields that they have: text; prompt and completion; instruction (input) and output; question and answer; messages or
conversations, through the package's chat template; input_ids and labels. Only completions and what the assistant says is
learnt. Encoder-decoders read source and target, or another of these pairs: a pair a row.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.trainOrPrint(c, f) },
	}
	f.add(c)
	f.inputFlags(c)
	f.runFlags(c)
	f.lora.add(c)
	return c
}

func (f *trainFlags) inputFlags(c *cobra.Command) {
	s := c.Flags()
	s.StringSliceVar(&f.data, "data", nil, "texts: files, folders, patterns (** crosses folders)")
	s.StringSliceVar(&f.evalData, "eval-data", nil, "texts to evaluate on, instead of holding some out")
	s.StringSliceVar(&f.exclude, "exclude", nil, "leave out texts whose paths match these patterns")
	s.Float64Var(&f.holdout, "holdout", 0.02, "part of the texts to hold out for evaluation; 0 = none")
	s.IntVar(&f.seq, "seq", 512, "tokens of a row")
	s.BoolVar(&f.join, "join", false, "let the texts of a row see each other")
	s.StringVar(&f.rows, "rows", rowsAuto, "how records become rows: packed (several a row, that do not see each other), padded "+
		"(one a row), blocks (one stream, cut); auto = packed, and blocks for plain texts")
	s.StringVar(&f.onBad, "on-bad-record", stopBad, "stop, or skip and count")
	s.StringVar(&f.truncate, "truncate", string(data.CutEnd), "of records longer than a row cut the end or the start, or "+
		"call them bad (error)")
	s.BoolVar(&f.learnAll, "learn-prompts", false, "learn prompts and users' messages too, not completions alone")
	s.Float64Var(&f.maskPart, "mask-part", 0.15, "of masked language models: the part of the tokens to predict")
	s.StringVar(&f.model, "model", "", "package to start from")
	s.StringVar(&f.arch, "arch", "", "start from random weights: a config.json, or a model_type (see `vulcast archs`)")
	s.StringVar(&f.shape, "shape", "3m", "size of a new model of a model_type: "+shapeNames())
	s.StringArrayVar(&f.set, "set", nil, "change a key of the new model's configuration: key=value")
	s.StringVar(&f.tokenizer, "tokenizer", "", "tokenizer file or folder (default: the package's)")
	s.IntVar(&f.newTokens, "new-tokenizer", 0, "train a byte-level BPE tokenizer of this many tokens on the texts")
	s.StringSliceVar(&f.special, "special-tokens", nil, "further special tokens of a new tokenizer, such as [MASK]")
	s.StringVar(&f.out, "out", "", "folder of the run")
	s.BoolVar(&f.resume, "resume", false, "go on with the run in --out; its run.toml gives the settings")
	s.BoolVar(&f.dryRun, "dry-run", false, "show data, model and memory, and train nothing")
	s.BoolVar(&f.json, "json", false, "print the result as JSON")
	s.StringVar(&f.dtype, "dtype", "f32", "storage of weights and activations: f32, bf16 or f16 (arithmetic, optimizer and "+
		"gradients are f32)")
}

func (f *trainFlags) runFlags(c *cobra.Command) {
	s, v := c.Flags(), &f.cfg
	s.IntVar(&v.Steps, "steps", v.Steps, "optimizer steps; 0 = as --epochs or --minutes say")
	s.Float64Var(&v.Epochs, "epochs", v.Epochs, "passes over the data, when --steps is 0")
	s.Float64Var(&v.Minutes, "minutes", 0, "time to train, when --steps and --epochs are 0")
	s.IntVar(&v.Batch, "batch", v.Batch, "rows of a micro-batch")
	s.IntVar(&v.Accumulate, "accumulate", v.Accumulate, "micro-batches of a step")
	s.Float64Var(&v.LR, "lr", v.LR, "highest learning rate")
	s.Float64Var(&v.MinLR, "min-lr", v.MinLR, "lowest learning rate of the schedule")
	s.StringVar(&f.schedule, "schedule", string(v.Schedule), "constant, linear, cosine or wsd (stable, then a decay)")
	s.IntVar(&v.Warmup, "warmup", v.Warmup, "steps of linear warm-up")
	s.IntVar(&v.Decay, "decay", 0, "steps of the decay of wsd")
	s.Float64Var(&v.Beta1, "beta1", v.Beta1, "AdamW's decay of the mean of gradients")
	s.Float64Var(&v.Beta2, "beta2", v.Beta2, "AdamW's decay of the mean of their squares")
	s.Float64Var(&v.Eps, "eps", v.Eps, "AdamW's epsilon")
	s.Float64Var(&v.WeightDecay, "weight-decay", v.WeightDecay, "decoupled weight decay")
	s.StringArrayVar(&v.NoDecay, "no-decay", v.NoDecay, "parameters without decay, as regular expressions; \"vector\" stands for "+
		"biases and norms")
	s.StringArrayVar(&v.Freeze, "freeze", nil, "parameters to leave as they are, as regular expressions")
	s.Float64Var(&v.MaxNorm, "max-norm", v.MaxNorm, "gradient norm to clip to; 0 = no clipping")
	s.Uint64Var(&v.Seed, "seed", 0, "seed of new weights, the order of the data and what is held out")
	s.IntVar(&v.EvalEvery, "eval-every", 0, "steps between evaluations; 0 = at the end only")
	s.IntVar(&v.EvalBatches, "eval-batches", 0, "batches of an evaluation, spread over the held-out texts; 0 = all")
	s.IntVar(&v.SaveEvery, "save-every", 0, "steps between checkpoints; 0 = none")
	s.Float64Var(&v.SaveMinutes, "save-minutes", v.SaveMinutes, "minutes between checkpoints; 0 = none")
	s.IntVar(&v.Keep, "keep", v.Keep, "checkpoints to keep; 0 = all")
}

// trainOrPrint reads the settings and does what the flags say.
func (a *app) trainOrPrint(c *cobra.Command, f *trainFlags) error {
	if f.model != "" {
		dir, err := modelFolder(c.Context(), c.ErrOrStderr(), f.model)
		if err != nil {
			return err
		}
		f.model = dir
	}
	if f.resume && f.config == "" {
		if f.out == "" {
			return errors.New("--resume needs --out, the folder of the run")
		}
		f.config = filepath.Join(f.out, "run.toml")
	}
	if f.config != "" {
		if err := apply(c, f.config); err != nil {
			return err
		}
	}
	f.cfg.Schedule = train.Schedule(f.schedule)
	if f.lora.c.Rank != 0 && !c.Flags().Changed("lr") {
		f.cfg.LR = loraRate
	}
	if f.cfg.Steps > 0 && (f.cfg.Epochs > 0 || f.cfg.Minutes > 0) && !c.Flags().Changed("steps") {
		f.cfg.Steps = 0
	}
	if f.cfg.Steps > 0 && !c.Flags().Changed("warmup") {
		f.cfg.Warmup = min(f.cfg.Warmup, f.cfg.Steps/10)
	}
	if f.print {
		return writeSettings(c.OutOrStdout(), c)
	}
	if err := f.check(); err != nil {
		return err
	}
	return a.train(c, f)
}

// check reports flags that do not go together, before any work is done.
func (f *trainFlags) check() error {
	_, lora := f.lora.config(f.model)
	errs := []error{f.cfg.Check(), lora}
	if len(f.data) == 0 {
		errs = append(errs, errors.New("--data is missing: the texts to train on"))
	}
	if f.out == "" && !f.dryRun {
		errs = append(errs, errors.New("--out is missing: the folder of the run"))
	}
	if (f.model == "") == (f.arch == "") {
		errs = append(errs, errors.New("want either --model (start from a package) or --arch (start from random weights)"))
	}
	if f.lora.c.Rank != 0 && f.model == "" {
		errs = append(errs, errors.New("--lora-rank needs --model: an adapter changes a trained package"))
	}
	if f.tokenizer != "" && f.newTokens > 0 {
		errs = append(errs, errors.New("--tokenizer and --new-tokenizer exclude each other"))
	}
	if f.arch != "" && f.tokenizer == "" && f.newTokens == 0 {
		errs = append(errs, errors.New("a new model needs --tokenizer or --new-tokenizer"))
	}
	if f.holdout < 0 || f.holdout >= 1 {
		errs = append(errs, fmt.Errorf("--holdout is %g, want at least 0 and below 1", f.holdout))
	}
	errs = append(errs, oneOf("rows", f.rows, rowsAuto, rowsBlocks, rowsPacked, rowsPadded),
		oneOf("on-bad-record", f.onBad, stopBad, skipBad),
		oneOf("truncate", f.truncate, string(data.CutEnd), string(data.CutStart), string(data.Refuse)))
	if f.maskPart <= 0 || f.maskPart > 1 {
		errs = append(errs, fmt.Errorf("--mask-part is %g, want above 0 and at most 1", f.maskPart))
	}
	if f.seq < 1 {
		errs = append(errs, fmt.Errorf("--seq is %d, want at least 1", f.seq))
	}
	_, err := parseDType(f.dtype)
	return errors.Join(append(errs, err)...)
}

// oneOf wants a flag to have one of some values.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s is %q, want one of %s", flag, value, strings.Join(allowed, ", "))
}

// job is a run on its way from flags to a package.
type job struct {
	*app
	f     *trainFlags
	say   func(format string, args ...any) // to standard error
	cfg   *hfconfig.File                   // of the model
	tok   *tokenizer.Tokenizer
	kind  model.Kind
	end   int32 // token behind each text; -1 = none
	opts  model.Options
	train *data.Tokens
	held  *data.Tokens // nil = no evaluation
	rows  data.Set
	eval  data.Set // nil = no evaluation

	adapter *adapter.Set // that is trained; nil = the model is
}

// train runs the command.
func (a *app) train(c *cobra.Command, f *trainFlags) error {
	j := &job{app: a, f: f, say: func(format string, args ...any) { fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...) }}
	if err := j.openOutput(); err != nil {
		return err
	}
	if err := j.loadData(); err != nil {
		return err
	}
	dev, err := a.open()
	if err != nil {
		return err
	}
	defer dev.Close()
	plan, err := j.plan(dev)
	if err != nil {
		return err
	}
	j.say("%s: %d parameters, %s of device memory (weights %s, gradients %s, optimizer %s, activations %s)", dev.Info.Name,
		plan.Parameters, train.ByteText(plan.Total), train.ByteText(plan.Weights), train.ByteText(plan.Gradients),
		train.ByteText(plan.Optimizer), train.ByteText(plan.Activations))
	if f.dryRun {
		return j.printDryRun(c.OutOrStdout(), plan)
	}
	if err := j.writeStart(c); err != nil {
		return err
	}
	l, err := j.openModel(dev)
	if err != nil {
		return err
	}
	defer l.Close()
	return j.run(c, l)
}

// openOutput checks the folder of the run before any work is done.
func (j *job) openOutput() error {
	if j.f.dryRun {
		return nil
	}
	if j.f.resume {
		_, err := os.Stat(filepath.Join(j.f.out, "run.toml"))
		return err
	}
	if list, err := train.Checkpoints(j.f.out); err == nil && len(list) > 0 {
		return fmt.Errorf("%s holds a run that was saved at %s: go on with `vulcast train --resume --out %s`, or choose "+
			"another folder", j.f.out, list[len(list)-1], j.f.out)
	}
	return train.CheckOutput(j.f.out)
}

// run trains and writes the package.
func (j *job) run(c *cobra.Command, l *model.Loaded) error {
	m := newMeter(c.ErrOrStderr())
	t, err := train.New(l, j.rows, j.eval, j.f.cfg, train.Options{Folder: j.f.out, Progress: m.show, Resume: j.f.resume})
	if err != nil {
		return err
	}
	defer t.Close()
	if t.Step() > 0 {
		j.say("going on after step %d", t.Step())
	}
	res, err := t.Run(c.Context())
	m.clear()
	if errors.Is(err, train.ErrInterrupted) {
		return fmt.Errorf("%w; go on with `vulcast train --resume --out %s`", err, j.f.out)
	}
	if errors.Is(err, gpu.ErrDeviceLost) {
		return fmt.Errorf("%w; go on from the last checkpoint with `vulcast train --resume --out %s`", err, j.f.out)
	}
	if err != nil {
		return err
	}
	if err := j.writePackage(l, t); err != nil {
		return err
	}
	return j.printResult(c.OutOrStdout(), res)
}
