// Package cli is the command line: of vulcast, with all architectures, and of each architecture's own program.
//
//	vulcast COMMAND [flags] [arguments]
//
// Results go to standard output, progress and messages to standard error; the exit status is 0 only on
// success. Each command stands in its own file and is listed in commands below.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// commands makes every command, in the order of the help text.
var commands = []func(*app) *cobra.Command{
	archsCommand, devicesCommand, doctorCommand, verifyCommand,
	trainCommand, finetuneCommand, mergeCommand,
	generateCommand, chatCommand, tokenizeCommand, planCommand, benchCommand, pullCommand,
}

// app is what the commands share.
type app struct {
	name    string // of the program
	archs   []*model.Arch
	kernels *nn.Kernels

	device     string // flag: index or part of the name
	validation bool   // flag
}

// open opens the chosen device.
func (a *app) open() (*gpu.Device, error) {
	return gpu.Open(gpu.Options{Device: a.device, Validation: a.validation})
}

// Main runs the program's command with the process's arguments and returns the exit status. archs are the architectures
// that it serves, k the kernels that they share.
func Main(name string, archs []*model.Arch, k *nn.Kernels) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a := &app{name: name, archs: archs, kernels: k}
	if err := a.root().ExecuteContext(ctx); err != nil {
		if err != errQuiet {
			fmt.Fprintln(os.Stderr, name+":", err)
		}
		return 1
	}
	return 0
}

// root makes the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           cmp.Or(a.name, "vulcast"),
		Short:         a.short(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&a.device, "device", "",
		"device to use: its number in `vulcast devices`, or part of its name (default: the best)")
	root.PersistentFlags().BoolVar(&a.validation, "validation", false,
		"run under the Vulkan validation layer")
	for _, c := range commands {
		root.AddCommand(c(a))
	}
	return root
}

// short says what the program is for.
func (a *app) short() string {
	if len(a.archs) == 1 {
		return "Train and run " + a.archs[0].Name + " models on any Vulkan device"
	}
	return "Train and run Transformer language models on any Vulkan device"
}
