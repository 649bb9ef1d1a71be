// Command vulcast trains and runs Transformer language models on any Vulkan device: every architecture of specs/.
package main

import (
	"os"

	"github.com/vulcast/vulcast/generated"
	"github.com/vulcast/vulcast/generated/kernels"
	"github.com/vulcast/vulcast/tools/cli"
)

func main() { os.Exit(cli.Main("vulcast", generated.All(), &kernels.NN)) }
