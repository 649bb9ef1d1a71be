package spirv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/gen/emitglsl"
)

const trivial = "#version 450\nlayout(binding = 0) buffer B { uint b[]; };\nvoid main() { b[0] = 1; }\n"

func TestBuildAndCheck(t *testing.T) {
	glslc := Find("../..")
	if glslc == "" {
		t.Skip("no glslc: install the package glslc or run tools/glslc")
	}
	dir := t.TempDir()
	ks := []emitglsl.Kernel{{Name: "one", Text: trivial}, {Name: "two", Text: trivial + "// two\n"}}
	if err := Check(dir, ks); err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") {
		t.Errorf("Check of an empty directory: %v, want both kernels named", err)
	}
	if err := Build(dir, ks, glslc); err != nil {
		t.Fatal(err)
	}
	if err := Check(dir, ks); err != nil {
		t.Error(err)
	}
	if err := Build(dir, ks, "/no/compiler"); err != nil {
		t.Errorf("a build without changes ran the compiler: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "two.spv"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Check(dir, ks); err == nil || strings.Contains(err.Error(), "one") {
		t.Errorf("Check with a changed two.spv: %v", err)
	}
	if err := Prune(dir, ks[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "two.comp")); err == nil {
		t.Error("Prune left two.comp")
	}
	if err := Check(dir, ks[:1]); err != nil {
		t.Error(err)
	}
}

func TestBuildReportsErrors(t *testing.T) {
	glslc := Find("../..")
	if glslc == "" {
		t.Skip("no glslc: install the package glslc or run tools/glslc")
	}
	dir := t.TempDir()
	err := Build(dir, []emitglsl.Kernel{{Name: "bad", Text: "#version 450\nvoid main() { x = 1; }\n"}}, glslc)
	if err == nil || !strings.Contains(err.Error(), "bad.comp") {
		t.Errorf("got %v, want glslc's message about bad.comp", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bad.spv")); err == nil {
		t.Error("a failed compile left bad.spv")
	}
}
