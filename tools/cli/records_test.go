package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrainRecords trains on records from scratch and from a package, and meets bad ones.
func TestTrainRecords(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	var good strings.Builder
	for i := range 40 {
		fmt.Fprintf(&good, `{"prompt": "count to %d: ", "completion": "%s"}`+"\n", i%9, strings.Repeat("x", i%9))
	}
	file := filepath.Join(dir, "good.jsonl")
	bad := filepath.Join(dir, "bad.jsonl")
	for path, text := range map[string]string{file: good.String(), bad: good.String() + "{\"prompt\": 1}\nnot JSON\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "run")
	r := must(t, tinyTrain(file, out)...)
	if !strings.Contains(r.err, "examples to train on") || !strings.Contains(r.out, "held out: loss") {
		t.Errorf("output\n%s%s", r.err, r.out)
	}
	stopped := vulcast(t, "", tinyTrain(bad, filepath.Join(dir, "a"))...)
	if want := bad + ":42: not JSON"; stopped.status != 1 || !strings.Contains(stopped.err, want) {
		t.Errorf("status %d, message\n%s\nwant\n%s", stopped.status, stopped.err, want)
	}
	skipped := must(t, tinyTrain(bad, filepath.Join(dir, "b"), "--on-bad-record", "skip")...)
	if want := "2 records left out, 40 used"; !strings.Contains(skipped.err, want) {
		t.Errorf("message\n%s\nwant\n%s", skipped.err, want)
	}
	tuned := filepath.Join(dir, "tuned")
	r = must(t, "finetune", filepath.Join(out, "model"), "--data", file, "--out", tuned, "--seq", "32", "--batch", "2", "--rows",
		"padded")
	if !strings.Contains(r.out, "model: "+filepath.Join(tuned, "model")) {
		t.Errorf("output\n%s", r.out)
	}
	dry := must(t, "finetune", filepath.Join(out, "model"), "--data", file, "--seq", "32", "--dry-run", "--json")
	if !strings.Contains(dry.out, `"steps":`) || !strings.Contains(dry.out, `"optimizer":`) {
		t.Errorf("output\n%s", dry.out)
	}
}
