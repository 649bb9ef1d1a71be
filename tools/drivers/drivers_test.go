package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValue(t *testing.T) {
	info := "\tdriverInfo         = \n\tsubgroupSize       = 8\n\tVK_KHR_cooperative_matrix : extension revision 2\n"
	tests := []struct{ name, want string }{
		{"driverInfo", ""},
		{"subgroupSize", "8"},
		{"VK_KHR_cooperative_matrix", "extension revision 2"},
		{"VK_NV_cooperative_matrix2", "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := value([]byte(info), tt.name); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRunWith(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "run")
	if err := runWith(script, filepath.Join(dir, "icd.json")); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(script, "sh", "-c", `echo "$VK_DRIVER_FILES $VK_ICD_FILENAMES $1"`, "sh", "a b").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := dir + "/icd.json " + dir + "/icd.json a b\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteManifest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "icd.json")
	if err := writeManifest(path, "/lib/driver.so"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
    "ICD": {
        "library_path": "/lib/driver.so",
        "api_version": "1.3.0"
    },
    "file_format_version": "1.0.1"
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDoUnknown(t *testing.T) {
	if err := do(t.TempDir(), "radeon"); err == nil {
		t.Error("an unknown driver was accepted")
	}
}
