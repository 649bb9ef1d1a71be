package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed probe/*.comp
var probes embed.FS

// A compiler is a glslc that passed the feature test.
type compiler struct {
	Path    string // absolute
	Version string // of its three parts, on one line
}

// find returns the first suitable compiler: the one in dir, then the one on PATH.
func find(dir string) (compiler, error) {
	var problems []error
	c, err := test(filepath.Join(dir, "bin", "glslc"))
	if err == nil {
		return c, nil
	}
	problems = append(problems, err)
	path, err := exec.LookPath("glslc")
	if err != nil {
		problems = append(problems, errors.New("no glslc on PATH"))
		return compiler{}, errors.Join(problems...)
	}
	if c, err = test(path); err == nil {
		return c, nil
	}
	return compiler{}, errors.Join(append(problems, err)...)
}

// test compiles and validates every probe shader with the glslc at path and the spirv-val beside it.
func test(path string) (compiler, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return compiler{}, err
	}
	if _, err := os.Stat(path); err != nil {
		return compiler{}, err
	}
	validator, err := exec.LookPath(filepath.Join(filepath.Dir(path), "spirv-val"))
	if err != nil {
		return compiler{}, fmt.Errorf("%s: no spirv-val beside it (package spirv-tools)", path)
	}
	tmp, err := os.MkdirTemp("", "probe")
	if err != nil {
		return compiler{}, err
	}
	defer os.RemoveAll(tmp)
	names, err := probes.ReadDir("probe")
	if err != nil {
		return compiler{}, err
	}
	for _, entry := range names {
		if err := compile(path, validator, tmp, entry.Name()); err != nil {
			return compiler{}, err
		}
	}
	version, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		return compiler{}, fmt.Errorf("%s --version: %w", path, err)
	}
	return compiler{Path: path, Version: oneLine(string(version))}, nil
}

// compile puts one probe shader through compiler and validator.
func compile(path, validator, tmp, name string) error {
	text, err := probes.ReadFile("probe/" + name)
	if err != nil {
		return err
	}
	source, module := filepath.Join(tmp, name), filepath.Join(tmp, name+".spv")
	if err := os.WriteFile(source, text, 0o644); err != nil {
		return err
	}
	const target = "vulkan1.3"
	out, err := exec.Command(path, "-Werror", "--target-env="+target, "-O", "-o", module, source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s cannot compile the probe %s: %s", path, name, firstError(out, err))
	}
	out, err = exec.Command(validator, "--target-env", target, module).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s rejects the probe %s: %s", validator, name, firstError(out, err))
	}
	return nil
}

// firstError returns the first line of a compiler's output that holds "error", or err when there is none.
func firstError(out []byte, err error) string {
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "error") {
			return strings.TrimSpace(line)
		}
	}
	return err.Error()
}

// oneLine joins the lines of glslc's version report that name a version; some builds leave a part's empty.
func oneLine(version string) string {
	var parts []string
	for line := range strings.Lines(version) {
		line = strings.TrimSpace(line)
		if len(strings.Fields(line)) > 1 && !strings.HasPrefix(line, "Target") {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}
