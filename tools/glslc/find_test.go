package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	in := "shaderc v2026.4 v2026.4\nspirv-tools \nglslang 16.4.0\n\nTarget: SPIR-V 1.0\n"
	if got, want := oneLine(in), "shaderc v2026.4 v2026.4; glslang 16.4.0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFirstError(t *testing.T) {
	status := errors.New("exit status 1")
	tests := []struct{ name, in, want string }{
		{"error line", "a.comp:1: warning: x\na.comp:2: error: y\n1 error generated.\n", "a.comp:2: error: y"},
		{"no error line", "Killed\n", "exit status 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := firstError([]byte(tt.in), status); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFindTooOld finds only a compiler that fails every probe, and has to say why it was refused.
func TestFindTooOld(t *testing.T) {
	bin := t.TempDir()
	old := "#!/bin/sh\necho \"probe: error: extension not supported\" >&2\nexit 1\n"
	for _, name := range []string{"glslc", "spirv-val"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(old), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	_, err := find(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "extension not supported") {
		t.Errorf("got error %v, want the compiler's own words", err)
	}
}

// TestProbes runs the probes through the fetched compiler, where `make generate` has fetched one.
func TestProbes(t *testing.T) {
	path := filepath.Join("..", "..", "build", "glslc", "bin", "glslc")
	if _, err := exec.LookPath(path); err != nil {
		t.Skip("no build/glslc; `go run ./tools/glslc fetch` brings it")
	}
	c, err := test(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c.Version)
}
