// Package spirv compiles rendered kernels with glslc and keeps the record that tells fresh files from stale ones.
//
// In a directory of kernels every NAME has NAME.comp, NAME.spv and a line in SHADERS.sum:
//
//	name  sha256 of NAME.comp  sha256 of NAME.spv  compiler version
//
// Build compiles what changed; Check compares texts, files and record without needing a compiler.
package spirv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vulcast/vulcast/gen/emitglsl"
)

// SumFile is the name of the record kept in each directory of kernels.
const SumFile = "SHADERS.sum"

// Build writes NAME.comp and NAME.spv of every kernel into dir and brings SHADERS.sum up to date. Kernels whose text,
// binary and record agree are left alone, so a build without changes runs no compiler. Lines of kernels that are not in
// ks stay (Prune removes them). glslc is the compiler's path as found by Find.
func Build(dir string, ks []emitglsl.Kernel, glslc string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sums, err := readSums(dir)
	if err != nil {
		return err
	}
	c := compiler{path: glslc}
	for _, k := range ks {
		if fresh(dir, k, sums) == nil {
			continue
		}
		line, err := c.build(dir, k)
		if err != nil {
			return errors.Join(err, writeSums(dir, sums))
		}
		sums[k.Name] = line
	}
	return writeSums(dir, sums)
}

// Check reports every kernel of ks whose files in dir are missing, stale or changed by hand.
func Check(dir string, ks []emitglsl.Kernel) error {
	sums, err := readSums(dir)
	if err != nil {
		return err
	}
	var problems []error
	for _, k := range ks {
		problems = append(problems, fresh(dir, k, sums))
	}
	return errors.Join(problems...)
}

// Prune removes the files and records of kernels in dir that are not in keep.
func Prune(dir string, keep []emitglsl.Kernel) error {
	sums, err := readSums(dir)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, k := range keep {
		kept[k.Name] = true
	}
	for _, name := range sortedNames(sums) {
		if kept[name] {
			continue
		}
		delete(sums, name)
		for _, ext := range []string{".comp", ".spv"} {
			err := os.Remove(filepath.Join(dir, name+ext))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return writeSums(dir, sums)
}

// fresh is nil when the kernel's text, its two files and its record agree.
func fresh(dir string, k emitglsl.Kernel, sums map[string]sum) error {
	at := filepath.Join(dir, k.Name)
	s, ok := sums[k.Name]
	if !ok {
		return fmt.Errorf("%s: no line in %s: run go generate", at, SumFile)
	}
	text, err := os.ReadFile(at + ".comp")
	if err != nil || string(text) != k.Text {
		return fmt.Errorf("%s.comp is stale: run go generate", at)
	}
	code, err := os.ReadFile(at + ".spv")
	if err != nil || hash(text) != s.comp || hash(code) != s.spv {
		return fmt.Errorf("%s.spv is stale: run go generate", at)
	}
	return nil
}

// A compiler runs glslc and, when it stands beside it or on PATH, spirv-val.
type compiler struct {
	path    string
	version string
}

// build compiles one kernel into dir through temporary files and returns its record.
func (c *compiler) build(dir string, k emitglsl.Kernel) (sum, error) {
	at := filepath.Join(dir, k.Name)
	if err := WriteFile(at+".comp", []byte(k.Text)); err != nil {
		return sum{}, err
	}
	if c.path == "" {
		return sum{}, fmt.Errorf("%s.comp changed and no glslc was found: run go run ./tools/glslc, or install glslc", at)
	}
	tmp := at + ".spv.tmp"
	defer os.Remove(tmp)
	args := []string{"-fshader-stage=compute", "-O", "--target-env=vulkan1.2", at + ".comp", "-o", tmp}
	if out, err := exec.Command(c.path, args...).CombinedOutput(); err != nil {
		return sum{}, fmt.Errorf("glslc %s.comp: %w\n%s", at, err, out)
	}
	if err := c.validate(tmp); err != nil {
		return sum{}, fmt.Errorf("%s.comp: %w", at, err)
	}
	code, err := os.ReadFile(tmp)
	if err != nil {
		return sum{}, err
	}
	if err := WriteFile(at+".spv", code); err != nil {
		return sum{}, err
	}
	version, err := c.versionLine()
	return sum{comp: hash([]byte(k.Text)), spv: hash(code), version: version}, err
}

func (c *compiler) validate(spv string) error {
	val := filepath.Join(filepath.Dir(c.path), "spirv-val")
	if _, err := os.Stat(val); err != nil {
		if val, err = exec.LookPath("spirv-val"); err != nil {
			return nil // validation is a second opinion; glslc has accepted the text
		}
	}
	if out, err := exec.Command(val, "--target-env", "vulkan1.2", spv).CombinedOutput(); err != nil {
		return fmt.Errorf("spirv-val: %w\n%s", err, out)
	}
	return nil
}

func (c *compiler) versionLine() (string, error) {
	if c.version != "" {
		return c.version, nil
	}
	out, err := exec.Command(c.path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", c.path, err)
	}
	var parts []string
	for line := range strings.SplitSeq(string(out), "\n") {
		if line == "" || strings.HasPrefix(line, "Target") {
			break
		}
		parts = append(parts, strings.Join(strings.Fields(line), "-"))
	}
	c.version = strings.Join(parts, ",")
	return c.version, nil
}

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// WriteFile replaces a file through a temporary one, and only when its bytes change.
func WriteFile(path string, b []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, b) {
		return nil
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
