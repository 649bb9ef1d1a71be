package cli

import (
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
	for _, a := range archs {
		info := archInfo{Name: a.Name, Kind: a.Kind.String(), ModelTypes: a.ModelTypes}
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
