package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vulcast/vulcast/runtime/generate"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/tokenizer"
	"github.com/vulcast/vulcast/runtime/train"
)

// samplingFlags say how tokens are chosen.
type samplingFlags struct {
	o      generate.Options
	dtype  string
	greedy bool
	lora   string // folder of an adapter
}

func (f *samplingFlags) add(s *pflag.FlagSet) {
	s.IntVar(&f.o.MaxTokens, "max-tokens", 128, "tokens to write at most; 0 = as many as the model allows")
	s.Float64Var(&f.o.Temperature, "temperature", 0, "divides the logits; 0 = always the likeliest token")
	s.IntVar(&f.o.TopK, "top-k", 0, "only the k likeliest tokens; 0 = all")
	s.Float64Var(&f.o.TopP, "top-p", 0, "only the likeliest tokens that together reach this probability; 0 = all")
	s.Float64Var(&f.o.MinP, "min-p", 0, "only tokens with this part of the likeliest one's probability; 0 = all")
	s.Float64Var(&f.o.Repetition, "repetition-penalty", 1, "makes tokens that occurred less likely; 1 = off")
	s.Uint64Var(&f.o.Seed, "seed", 0, "seed of the random choices")
	s.StringArrayVar(&f.o.Stop, "stop", nil, "end at this text, which is left out; may be given several times")
	s.BoolVar(&f.greedy, "greedy", false, "always take the likeliest token, whatever the package says")
	s.StringVar(&f.lora, "adapter", "", "folder of a LoRA adapter to use")
	s.StringVar(&f.dtype, "dtype", "f32", "storage of weights, activations and caches: f32, bf16 or f16")
}

// chooser is a model ready to write.
type chooser struct {
	dev  *gpu.Device
	l    *model.Loaded
	tok  *tokenizer.Tokenizer
	g    *generate.Generator
	o    generate.Options
	conf *hfconfig.File // generation_config.json, or an empty one
}

// openChooser loads a package for generation. What the flags leave open is taken from its
// generation_config.json.
func (a *app) openChooser(flags *pflag.FlagSet, f *samplingFlags, dir string) (c *chooser, err error) {
	typ, err := parseDType(f.dtype)
	if err != nil {
		return nil, err
	}
	c = &chooser{o: f.o}
	if err := c.options(flags, f, dir); err != nil {
		return nil, err
	}
	if c.tok, err = tokenizer.Load(dir); err != nil {
		return nil, err
	}
	if c.dev, err = a.open(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	o := model.Options{Weights: typ, Activations: typ, Kernels: a.kernels}
	if c.l, _, err = a.openAdapted(dir, f.lora, c.dev, o); err != nil {
		return c, err
	}
	c.o.StopTokens = stopTokens(c.conf, c.l.Config)
	if err := errors.Join(c.conf.Err(), c.l.Config.Err()); err != nil {
		return c, err
	}
	c.g, err = generate.New(c.l, c.tok, train.MaxPositions(c.l))
	return c, err
}

// options takes what flags leave open from generation_config.json.
func (c *chooser) options(flags *pflag.FlagSet, f *samplingFlags, dir string) error {
	path := filepath.Join(dir, "generation_config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text, err = []byte("{}"), nil
	}
	if err != nil {
		return err
	}
	if c.conf, err = hfconfig.Parse(path, text); err != nil {
		return err
	}
	random := c.conf.BoolOr(false, "do_sample")
	from := func(flag, key string, at *float64, def float64) {
		if !flags.Changed(flag) && random {
			*at = c.conf.FloatOr(def, key)
		}
	}
	from("temperature", "temperature", &c.o.Temperature, 1)
	from("top-p", "top_p", &c.o.TopP, 0)
	from("min-p", "min_p", &c.o.MinP, 0)
	if !flags.Changed("repetition-penalty") {
		c.o.Repetition = c.conf.FloatOr(1, "repetition_penalty")
	}
	if !flags.Changed("top-k") && random {
		c.o.TopK = c.conf.IntOr(50, "top_k")
	}
	if f.greedy {
		c.o.Temperature = 0
	}
	return errors.Join(c.conf.Err(), c.o.Check())
}

// stopTokens are the ids that end a text.
func stopTokens(files ...*hfconfig.File) []int32 {
	for _, f := range files {
		var list []int32
		for _, id := range f.IntsOr(nil, "eos_token_id", "text_config.eos_token_id") {
			list = append(list, int32(id))
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

func (c *chooser) close() error {
	var err error
	if c.g != nil {
		err = c.g.Close()
	}
	if c.l != nil {
		err = errors.Join(err, c.l.Close())
	}
	if c.dev != nil {
		c.dev.Close()
	}
	return err
}

type generateFlags struct {
	samplingFlags
	prompts []string
	raw     bool
	json    bool
	quiet   bool
}

func generateCommand(a *app) *cobra.Command {
	f := &generateFlags{}
	c := &cobra.Command{
		Use:   "generate [flags] MODEL [PROMPT]",
		Short: "Continue a text",
		Long: `Continue a text with MODEL, the folder of a package or OWNER/REPO of the Hub. Without PROMPT, standard input is read.

The text streams to standard output; the speed goes to standard error. Several --prompt are continued at the same time and
printed one after the other. What the flags leave open is as the package's generation_config.json says.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return a.generate(c, f, args) },
	}
	f.add(c.Flags())
	c.Flags().StringArrayVar(&f.prompts, "prompt", nil, "a prompt; may be given several times")
	c.Flags().BoolVar(&f.raw, "no-special", false, "do not add the tokenizer's special tokens to the prompt")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object a prompt")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "do not print the speed")
	return c
}

// generated is a line of --json.
type generatedText struct {
	Prompt  string          `json:"prompt"`
	Text    string          `json:"text"`
	IDs     []int32         `json:"ids"`
	Reason  generate.Reason `json:"reason"`
	Prefill float64         `json:"prefill_tokens_per_second"`
	Decode  float64         `json:"decode_tokens_per_second"`
}

func (a *app) generate(c *cobra.Command, f *generateFlags, args []string) error {
	prompts := append(f.prompts, args[1:]...)
	if len(prompts) == 0 {
		text, err := textOf(c.InOrStdin(), nil)
		if err != nil {
			return err
		}
		prompts = []string{text}
	}
	dir, err := modelFolder(c.Context(), c.ErrOrStderr(), args[0])
	if err != nil {
		return err
	}
	ch, err := a.openChooser(c.Flags(), &f.samplingFlags, dir)
	if err != nil {
		return err
	}
	defer ch.close()
	ids, err := ch.encode(prompts, !f.raw)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.OutOrStdout())
	stream := len(prompts) == 1 && !f.json
	if stream {
		fmt.Fprint(out, prompts[0])
	}
	texts, err := ch.g.Run(c.Context(), ids, ch.o, func(t generate.Token) error {
		if !stream {
			return nil
		}
		fmt.Fprint(out, t.Text)
		return out.Flush()
	})
	if err != nil {
		return errors.Join(err, out.Flush())
	}
	if err := printTexts(out, ch, f, prompts, texts); err != nil {
		return err
	}
	if !f.quiet {
		printSpeed(c.ErrOrStderr(), ch.g.Stats)
	}
	for _, t := range texts {
		if t.Reason == generate.Interrupted {
			return errors.New("interrupted")
		}
	}
	return nil
}

// printTexts ends the streamed text, or prints all of them.
func printTexts(out *bufio.Writer, ch *chooser, f *generateFlags, prompts []string, texts []generate.Output) error {
	st := ch.g.Stats
	for i, t := range texts {
		switch {
		case f.json:
			x := generatedText{prompts[i], t.Text, t.Tokens, t.Reason, perSecond(st.Prompt, st.PromptTime),
				perSecond(st.Written-len(texts), st.WrittenTime)}
			if err := writeLine(out, x); err != nil {
				return err
			}
		case len(texts) == 1:
			fmt.Fprintln(out)
		default:
			fmt.Fprintf(out, "--- %d\n%s%s\n", i, prompts[i], t.Text)
		}
	}
	return out.Flush()
}

// encode turns prompts into ids. An empty prompt becomes the token that texts begin with.
func (c *chooser) encode(prompts []string, special bool) ([][]int32, error) {
	var list [][]int32
	for _, p := range prompts {
		ids, err := c.tok.EncodeChecked(p, special)
		if err != nil {
			return nil, err
		}
		if begin := c.l.TextConfig().IntOr(-1, "bos_token_id", "eos_token_id"); len(ids) == 0 && begin >= 0 {
			ids = []int32{int32(begin)}
		}
		list = append(list, ids)
	}
	return list, c.l.TextConfig().Err()
}

func perSecond(n int, d time.Duration) float64 {
	if d <= 0 || n <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

func printSpeed(w io.Writer, s generate.Stats) {
	fmt.Fprintf(w, "prompt: %d tokens in %.2f s; written: %d tokens, %.1f tokens/s\n", s.Prompt, s.PromptTime.Seconds(),
		s.Written, perSecond(s.Written-1, s.WrittenTime))
}
