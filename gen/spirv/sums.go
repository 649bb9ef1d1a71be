package spirv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// A sum is one line of SHADERS.sum.
type sum struct{ comp, spv, version string }

func readSums(dir string) (map[string]sum, error) {
	sums := map[string]sum{}
	path := filepath.Join(dir, SumFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return sums, nil
	}
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("%s:%d: %d fields, want name, two hashes and a version", path, i+1, len(f))
		}
		sums[f[0]] = sum{f[1], f[2], f[3]}
	}
	return sums, nil
}

func writeSums(dir string, sums map[string]sum) error {
	var b strings.Builder
	for _, name := range sortedNames(sums) {
		s := sums[name]
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", name, s.comp, s.spv, s.version)
	}
	return WriteFile(filepath.Join(dir, SumFile), []byte(b.String()))
}

func sortedNames(sums map[string]sum) []string {
	names := make([]string, 0, len(sums))
	for name := range sums {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Find returns the glslc under root/build/glslc (put there by tools/glslc), else the one on PATH, else "".
// Kernels that use cooperative matrices need the former; the rest compile with any glslc of 2023 or later.
func Find(root string) string {
	own, err := filepath.Abs(filepath.Join(root, "build", "glslc", "bin", "glslc"))
	if err == nil {
		if _, err := os.Stat(own); err == nil {
			return own
		}
	}
	path, err := exec.LookPath("glslc")
	if err != nil {
		return ""
	}
	return path
}
