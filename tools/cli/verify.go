package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/verify"
)

// exemptions are the fixtures whose decoding is not judged against the reference, because the reference's
// cached decoding differs from its own uncached decoding there; the model must agree with itself instead.
//
// Source: the README of the reference fixtures.
var exemptions = []string{"bert-generation/*", "cpmant/*", "prophetnet/*", "phi3/longrope",
	"llama/rope_dynamic"}

// exempt is verify.Options.Exempt.
func exempt(fixture, check string) string {
	for _, e := range exemptions {
		if ok, _ := path.Match(e, fixture); ok && check == "generate" {
			return "the reference's cached decoding differs from its uncached decoding"
		}
	}
	return ""
}

// verifyFlags are the flags of the command.
type verifyFlags struct {
	json, keepGoing, verbose bool
	match, checks, shrink    string
	dtype                    string
}

func verifyCommand(a *app) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify [flags] DIR...",
		Short: "Compare models with reference fixtures: logits, loss, gradients, optimizer steps, decoding",
		Long: `Compare models with what a reference implementation computed for them.

Each DIR is a fixture (a folder with expect.safetensors) or a tree of them. A line per fixture goes to standard
output; the last line on standard error says how many passed. The exit status is 1 when any failed.

Checks: ` + strings.Join(verify.CheckNames(), ", ") + `. With --dtype f32 the bounds are those
that the reference's own float32 run meets; bf16 and f16 have looser ones, and do not judge decoded tokens.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			return a.verify(c, f, dirs)
		},
	}
	c.Flags().BoolVar(&f.json, "json", false, "one JSON object a line")
	c.Flags().BoolVar(&f.keepGoing, "keep-going", true, "go on after a fixture that fails")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print the error of every tensor to standard error")
	c.Flags().StringVar(&f.match, "match", "", "only fixtures whose name matches this regular expression")
	c.Flags().StringVar(&f.checks, "checks", "", "only these checks, separated by commas")
	c.Flags().StringVar(&f.dtype, "dtype", "f32", "storage of weights and activations: f32, bf16 or f16")
	c.Flags().StringVar(&f.shrink, "shrink", "",
		"check nothing, write small fixtures into this folder instead")
	return c
}

// verify runs the command.
func (a *app) verify(c *cobra.Command, f verifyFlags, dirs []string) error {
	checks, err := verify.ParseChecks(f.checks)
	if err != nil {
		return err
	}
	list, err := fixtures(dirs, f.match)
	if err != nil {
		return err
	}
	if f.shrink != "" {
		return shrink(c.ErrOrStderr(), list, f.shrink)
	}
	storage, err := storageType(f.dtype)
	if err != nil {
		return err
	}
	dev, err := a.open()
	if err != nil {
		return err
	}
	defer dev.Close()
	o := verify.Options{Dev: dev, Archs: a.archs, Kernels: a.kernels, Checks: checks, Exempt: exempt, Storage: storage}
	if f.verbose {
		o.Verbose = c.ErrOrStderr()
	}
	passed, failed := 0, 0
	for _, dir := range list {
		if err := c.Context().Err(); err != nil {
			return fmt.Errorf("interrupted after %d of %d fixtures", passed+failed, len(list))
		}
		res := verify.Run(dir, o)
		if err := printResult(c.OutOrStdout(), res, f.json); err != nil {
			return err
		}
		if res.Pass {
			passed++
			continue
		}
		failed++
		if !f.keepGoing {
			break
		}
	}
	fmt.Fprintf(c.ErrOrStderr(), "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return errQuiet
	}
	return nil
}

// storageType reads the flag --dtype.
func storageType(name string) (gpu.DType, error) {
	switch name {
	case "f32":
		return gpu.F32, nil
	case "bf16":
		return gpu.BF16, nil
	case "f16":
		return gpu.F16, nil
	}
	return 0, fmt.Errorf("--dtype is %q, want f32, bf16 or f16", name)
}

// errQuiet ends the program with status 1; what is to be said was said.
var errQuiet = errors.New("")

func printResult(w io.Writer, res verify.Result, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(w, res)
		return err
	}
	return json.NewEncoder(w).Encode(res)
}

// fixtures lists the fixtures in dirs whose names match.
func fixtures(dirs []string, match string) ([]string, error) {
	re, err := regexp.Compile(match)
	if err != nil {
		return nil, fmt.Errorf("--match: %w", err)
	}
	all, err := verify.Find(dirs)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, dir := range all {
		if re.MatchString(verify.NameOf(dir)) {
			list = append(list, dir)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--match %q: none of %d fixtures has such a name", match, len(all))
	}
	return list, nil
}

// shrink writes small fixtures under the same names.
func shrink(w io.Writer, list []string, dst string) error {
	for _, dir := range list {
		to := filepath.Join(dst, filepath.FromSlash(verify.NameOf(dir)))
		if err := verify.Shrink(dir, to); err != nil {
			return err
		}
		fmt.Fprintln(w, to)
	}
	return nil
}
