package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/gpu"
)

func devicesCommand(*app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "devices",
		Short: "List the Vulkan devices and what kernels may count on",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := gpu.List()
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), list)
			}
			return printDevices(c.OutOrStdout(), list)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON array with every property")
	return c
}

func printDevices(w io.Writer, list []gpu.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\tNAME\tTYPE\tMEMORY\tSUBGROUP\tMATRICES\tDRIVER")
	for _, d := range list {
		fmt.Fprintf(t, "%d\t%s\t%s\t%.1f GiB\t%d\t%s\t%s\n", d.Index, d.Name, d.Type,
			float64(d.MemoryBytes)/(1<<30), d.SubgroupSize, matrices(d), d.Driver)
	}
	return t.Flush()
}

// matrices says which cooperative matrices a device has.
func matrices(d gpu.Info) string {
	var list []string
	if len(d.CoopMat) > 0 {
		list = append(list, "KHR")
	}
	if d.CoopMat2 {
		list = append(list, "NV2")
	}
	if d.BF16Coop {
		list = append(list, "bf16")
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
