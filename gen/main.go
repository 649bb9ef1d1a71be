// Command gen makes everything under generated/ from specs/ and shaders/.
//
//	go run ./gen              generates all architectures and removes what no spec asks for
//	go run ./gen llama gpt2   generates these architectures only
//	go run ./gen -check       reports what is stale and changes nothing; needs no shader compiler
//	go run ./gen -kernels     only the library kernels
//	go run ./gen -dump llama  prints the intermediate representation
//
// It must run in the root of the module.
package main

import (
	"flag"
	"fmt"
	"os"
)

//go:generate go -C .. run ./gen

func main() {
	kernels := flag.Bool("kernels", false, "only the library kernels of shaders/")
	check := flag.Bool("check", false, "report stale files, change nothing")
	dump := flag.Bool("dump", false, "print the intermediate representation of the named architectures")
	flag.Parse()
	if err := run(*kernels, *check, *dump, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kernels, check, dump bool, names []string) error {
	if _, err := os.Stat("specs/ops"); err != nil {
		return fmt.Errorf("gen runs in the root of the module, where specs/ is: %w", err)
	}
	switch {
	case kernels && check:
		return checkKernels()
	case kernels:
		return buildKernels()
	case dump:
		return dumpModules(names)
	}
	t, err := makeTree(names)
	if err != nil {
		return err
	}
	if check {
		return t.check()
	}
	return t.write(len(names) == 0)
}

func dumpModules(names []string) error {
	table, err := loadTable()
	if err != nil {
		return err
	}
	for _, n := range names {
		m, err := build(n, table)
		if err != nil {
			return err
		}
		fmt.Print(m)
	}
	return nil
}
