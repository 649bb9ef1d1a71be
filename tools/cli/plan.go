package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

type planFlags struct {
	shape, arch, dtype string
	batch, seq         int
	json               bool
}

func planCommand(a *app) *cobra.Command {
	f := &planFlags{}
	c := &cobra.Command{
		Use:   "plan [flags] [MODEL]",
		Short: "Tell the device memory that training takes, before anything runs",
		Long: `Tell the device memory that training takes, before anything runs: a step is recorded with planned memory, of which
none is allocated.

MODEL is a folder with a config.json, or that file; without it, --shape names a size. The exit status is 1 when the run does
not fit the device; the message says what would.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.plan(c, f, args) },
	}
	s := c.Flags()
	s.StringVar(&f.shape, "shape", "", "named size: "+shapeNames())
	s.StringVar(&f.arch, "arch", defaultArch, "model_type of --shape")
	s.StringVar(&f.dtype, "dtype", "f32", "storage of weights and activations: f32, bf16 or f16")
	s.IntVar(&f.batch, "batch", 1, "rows of a step")
	s.IntVar(&f.seq, "seq", 512, "tokens of a row")
	s.BoolVar(&f.json, "json", false, "one JSON object")
	return c
}

// defaultArch is the model_type of named shapes.
const defaultArch = "llama"

func (a *app) plan(c *cobra.Command, f *planFlags, args []string) error {
	if (len(args) == 1) == (f.shape != "") {
		return errors.New("want either MODEL or --shape")
	}
	var cfg *hfconfig.File
	var err error
	if len(args) == 1 {
		cfg, err = hfconfig.Load(args[0])
	} else {
		cfg, err = newConfig(f.arch, f.shape, nil)
	}
	if err != nil {
		return err
	}
	typ, err := parseDType(f.dtype)
	if err != nil {
		return err
	}
	conf := train.DefaultConfig()
	conf.Batch = f.batch
	if err := conf.Check(); err != nil {
		return err
	}
	dev, err := a.open()
	if err != nil {
		return err
	}
	defer dev.Close()
	o := model.Options{Weights: typ, Activations: typ, Train: true, Kernels: a.kernels}
	plan, err := train.Fit(func() (model.Model, error) { return model.Describe(cfg, a.archs) }, dev, o, conf, f.seq,
		dev.Info.MemoryBytes-dev.MemoryUse())
	if plan.Total > 0 {
		err = errors.Join(err, printPlan(c.OutOrStdout(), plan, f.json))
	}
	return err
}

func printPlan(w io.Writer, p train.Plan, asJSON bool) error {
	if asJSON {
		return writeLine(w, p)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "parameters\t%d\t\ntrained\t%d\t\n", p.Parameters, p.Trained)
	for _, part := range []struct {
		name  string
		bytes int64
	}{{"weights", p.Weights}, {"gradients", p.Gradients}, {"optimizer", p.Optimizer}, {"activations", p.Activations},
		{"inputs", p.Inputs}, {"total", p.Total}} {
		fmt.Fprintf(t, "%s\t%s\t\n", part.name, train.ByteText(part.bytes))
	}
	return t.Flush()
}

// writeLine writes one value as a line of JSON.
func writeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
