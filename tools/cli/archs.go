package cli

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/model"
)

// archInfo is an architecture as `vulcast archs --json` shows it.
type archInfo struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	ModelTypes []string `json:"model_types"`
	Packages   []string `json:"packages,omitempty"` // model types of larger packages that contain it
	Proof      *proof   `json:"proof,omitempty"`
}

// proof is what a verification run said of an architecture.
type proof struct {
	Passed int     `json:"fixtures_passed"`
	Failed int     `json:"fixtures_failed,omitempty"`
	Worst  float64 `json:"worst_of_bound"` // largest error as a multiple of its bound
	Date   string  `json:"date"`
}

// provenJSON is written by tools/proven.
//
//go:embed proven.json
var provenJSON []byte

// proofs are the proofs of architectures by name.
func proofs() (map[string]*proof, error) {
	var list []struct {
		Name string `json:"name"`
		proof
	}
	if err := json.Unmarshal(provenJSON, &list); err != nil {
		return nil, fmt.Errorf("proven.json: %w", err)
	}
	m := map[string]*proof{}
	for i := range list {
		if list[i].Passed+list[i].Failed > 0 {
			m[list[i].Name] = &list[i].proof
		}
	}
	return m, nil
}

func archsCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "archs",
		Short: "List the architectures and the model types that each serves",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return printArchs(c.OutOrStdout(), a.archs, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON array")
	return c
}

func printArchs(w io.Writer, archs []*model.Arch, asJSON bool) error {
	list := []archInfo{}
	proven, err := proofs()
	if err != nil {
		return err
	}
	for _, a := range archs {
		info := archInfo{Name: a.Name, Kind: a.Kind.String(), ModelTypes: a.ModelTypes, Proof: proven[a.Name]}
		for _, p := range a.Packages {
			info.Packages = append(info.Packages, p.ModelType)
		}
		list = append(list, info)
	}
	if asJSON {
		return writeJSON(w, list)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ARCHITECTURE\tKIND\tMODEL TYPES")
	for _, i := range list {
		types := strings.Join(i.ModelTypes, ", ")
		if len(i.Packages) > 0 {
			types += "; in " + strings.Join(i.Packages, ", ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", i.Name, i.Kind, types)
	}
	return t.Flush()
}

// writeJSON writes one value, indented.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
