// Command glslc finds or fetches a shader compiler that can build every kernel of this project.
//
//	glslc find     print the path of a suitable glslc, or fail
//	glslc fetch    the same, but fetch one into build/glslc when there is none
//
// Suitable means: it compiles the shaders in probe/, which use GL_KHR_cooperative_matrix,
// GL_NV_cooperative_matrix2 and GL_EXT_bfloat16, and the spirv-val beside it accepts the result. Stable
// distributions often ship an older one. The path goes to standard output, everything else to standard error.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vulcast/vulcast/tools/internal/debs"
)

// packages hold the compiler and the SPIR-V tools; apt adds what they depend on.
var packages = []string{"glslc", "spirv-tools"}

// programs are what the packages are fetched for.
var programs = []string{"glslc", "spirv-val", "spirv-opt", "spirv-as", "spirv-dis"}

func main() {
	dir := flag.String("dir", filepath.Join("build", "glslc"), "folder to fetch into and to look in first")
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() != 1 || flag.Arg(0) != "find" && flag.Arg(0) != "fetch" {
		usage()
		os.Exit(2)
	}
	c, err := find(*dir)
	if err != nil && flag.Arg(0) == "fetch" {
		fmt.Fprintf(os.Stderr, "%v\nfetching one into %s\n", err, *dir)
		c, err = fetch(*dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "glslc:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, c.Version)
	fmt.Println(c.Path)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: glslc [-dir DIR] find|fetch")
	flag.PrintDefaults()
}

// fetch unpacks the compiler of Debian's newest suite into dir and tests it.
func fetch(dir string) (compiler, error) {
	if err := (debs.Fetcher{Log: os.Stderr}).Newer(dir, packages...); err != nil {
		return compiler{}, err
	}
	root, err := debs.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		return compiler{}, err
	}
	for _, name := range programs {
		if err := root.Wrap(filepath.Join(dir, "bin", name), filepath.Join("usr", "bin", name)); err != nil {
			return compiler{}, err
		}
	}
	return test(filepath.Join(dir, "bin", "glslc"))
}
