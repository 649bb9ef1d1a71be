package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResumeAdapter: an adapter's run that goes on from a checkpoint, as the message of an interrupt says, ends with the
// bits of the run that was not stopped, dropout included.
func TestResumeAdapter(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	data, base, run := texts(t), filepath.Join(dir, "base"), filepath.Join(dir, "run")
	must(t, tinyTrain(data, base)...)
	must(t, "finetune", filepath.Join(base, "model"), "--data", data, "--out", run, "--seq", "32", "--batch", "2", "--steps", "6",
		"--save-every", "2", "--keep", "0", "--lora-rank", "4", "--lora-dropout", "0.2")
	weights := filepath.Join(run, "adapter", "adapter_model.safetensors")
	want, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(run, "checkpoints", "*"))
	if err != nil || len(list) < 2 {
		t.Fatalf("checkpoints %q, error %v", list, err)
	}
	for _, gone := range append(list[1:], filepath.Join(run, "adapter")) {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	if r := must(t, "train", "--resume", "--out", run); !strings.Contains(r.err, "going on after step 2") {
		t.Errorf("messages\n%s", r.err)
	}
	got, err := os.ReadFile(weights)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the adapter of the resumed run differs, error %v", err)
	}
}
