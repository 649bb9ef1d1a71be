// Command gen makes everything under generated/ from specs/ and shaders/.
//
//	go run ./gen            renders and compiles what changed
//	go run ./gen -check     reports what is stale and changes nothing; needs no compiler
//	go run ./gen -kernels   only the library kernels
//
// It must run in the root of the module.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	kernels := flag.Bool("kernels", false, "only the library kernels of shaders/")
	check := flag.Bool("check", false, "report stale files, change nothing")
	flag.Parse()
	if err := run(*kernels, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kernels, check bool) error {
	if check {
		return checkKernels()
	}
	return buildKernels()
}
