// Command drivers brings Vulkan drivers that run on a CPU, so that kernels can be tested on several.
//
//	drivers lavapipe      Mesa's CPU driver of this release, installed through apt
//	drivers mesa-new      Mesa's CPU driver of Debian's newest suite, unpacked into build/mesa-new
//	drivers swiftshader   SwiftShader, taken out of Debian's Chromium into build/swiftshader
//	drivers all           the three
//	drivers report        what each of those that are there offers
//
// Each brings a script build/drivers/run-NAME, which starts its arguments with that driver alone:
//
//	go test -exec "$PWD/build/drivers/run-swiftshader" ./runtime/gpu
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vulcast/vulcast/tools/internal/debs"
)

// A driver is brought by its function, which writes the script run.
type driver struct {
	name  string
	bring func(f debs.Fetcher, build, run string) error
}

var drivers = []driver{
	{"lavapipe", lavapipe},
	{"mesa-new", mesaNew},
	{"swiftshader", swiftshader},
}

func main() {
	build := flag.String("build", "build", "folder for what is fetched")
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() != 1 {
		usage()
		os.Exit(2)
	}
	if err := do(*build, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "drivers:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: drivers [-build DIR] lavapipe|mesa-new|swiftshader|all|report")
	flag.PrintDefaults()
}

// do carries out one command; what is there already is not brought again.
func do(build, command string) error {
	if command == "report" {
		return report(os.Stdout, build)
	}
	known := false
	for _, d := range drivers {
		if command != d.name && command != "all" {
			continue
		}
		known = true
		run := runScript(build, d.name)
		if _, err := os.Stat(run); err == nil {
			fmt.Println(run)
			continue
		}
		if err := d.bring(debs.Fetcher{Log: os.Stderr}, build, run); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		fmt.Println(run)
	}
	if !known {
		return fmt.Errorf("unknown command %q, want lavapipe, mesa-new, swiftshader, all or report", command)
	}
	return nil
}

// runScript is where a driver's script lies.
func runScript(build, name string) string { return filepath.Join(build, "drivers", "run-"+name) }
