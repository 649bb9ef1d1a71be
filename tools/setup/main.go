// Command setup installs what building and running this project needs and the machine lacks: a C compiler for
// cgo, the Vulkan loader, and Mesa's CPU driver where no Vulkan device answers.
//
// It installs through apt, as root or with a sudo that asks for no password; otherwise it prints the command
// that an administrator has to run, and fails. A machine that lacks nothing is left alone.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vulcast/vulcast/tools/internal/debs"
)

//go:embed probe/devices.c
var probe []byte

func main() {
	if err := setup(debs.Fetcher{Log: os.Stderr}); err != nil {
		fmt.Fprintln(os.Stderr, "setup:", err)
		os.Exit(1)
	}
}

// setup installs what is missing, and probes again after each installation.
func setup(f debs.Fetcher) error {
	dir, err := os.MkdirTemp("", "setup")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	program, err := buildProbe(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if err := f.Install("gcc", "libc6-dev"); err != nil {
			return err
		}
		if program, err = buildProbe(dir); err != nil {
			return err
		}
	}
	found, err := devices(program)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if err := f.Install("libvulkan1", "mesa-vulkan-drivers"); err != nil {
			return err
		}
		if found, err = devices(program); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "C compiler and Vulkan loader are there; Vulkan devices: %s\n", found)
	return nil
}

// buildProbe compiles the probe with the C compiler that cgo would use.
func buildProbe(dir string) (string, error) {
	cc, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return "", fmt.Errorf("go env CC: %w", err)
	}
	words := strings.Fields(string(cc))
	if len(words) == 0 {
		return "", errors.New("go env CC is empty: no C compiler")
	}
	source, program := filepath.Join(dir, "probe.c"), filepath.Join(dir, "probe")
	if err := os.WriteFile(source, probe, 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command(words[0], append(words[1:], "-o", program, source, "-ldl")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the C compiler %q does not work: %w\n%s", words[0], err, out)
	}
	return program, nil
}

// devices runs the probe and returns the number of Vulkan devices, at least 1, as text.
func devices(program string) (string, error) {
	out, err := exec.Command(program).Output()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("no Vulkan device answers: %s (%w)", text, err)
	}
	return text, nil
}
