package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKill ends a run with SIGKILL at random moments, also while it writes checkpoints, and resumes it until
// it is done: the weights are those of a run that was never killed, bit for bit.
func TestKill(t *testing.T) {
	needDevice(t)
	data := texts(t)
	args := func(out string) []string {
		return tinyTrain(data, out, "--steps", "150", "--save-every", "1", "--keep", "2", "--seed", "5")
	}
	whole := filepath.Join(t.TempDir(), "whole")
	must(t, args(whole)...)

	out := filepath.Join(t.TempDir(), "killed")
	random := rand.New(rand.NewPCG(1, 2))
	const kills = 12
	killed := 0
	for tries := 0; ; tries++ {
		a := args(out)
		if _, err := os.Stat(filepath.Join(out, "run.toml")); err == nil {
			a = []string{"train", "--resume", "--out", out}
		} else if err := os.RemoveAll(out); err != nil { // killed before anything was there
			t.Fatal(err)
		}
		c := command(t, a...)
		var messages bytes.Buffer
		c.Stderr = &messages
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// Once there is enough of it, let the run end.
		timer := time.AfterFunc(time.Duration(random.Int64N(int64(1500*time.Millisecond))), func() {
			if tries < kills {
				c.Process.Kill() // an error says that it has ended
			}
		})
		err := c.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		if tries >= kills {
			t.Fatalf("resuming after %d kills: %v\n%s", killed, err, messages.String())
		}
		killed++
	}
	t.Logf("killed %d times", killed)
	if killed < 3 {
		t.Errorf("the run was killed %d times only", killed)
	}
	for _, name := range []string{"model/model.safetensors", "model/config.json", "model/tokenizer.json"} {
		want, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != string(got) {
			t.Errorf("%s differs", name)
		}
	}
}

// TestFullDisk: a checkpoint that does not fit the disk is an error, and leaves neither a half-written one
// nor a lost run. A limit on the size of files stands for the disk.
func TestFullDisk(t *testing.T) {
	needDevice(t)
	out := filepath.Join(t.TempDir(), "run")
	args := tinyTrain(texts(t), out)
	c := command(t, args...)
	limited := exec.Command("sh", append([]string{"-c", `ulimit -f 300 && exec "$0" "$@"`, c.Path}, args...)...)
	text, err := limited.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "checkpoint of step 8: ") || !strings.Contains(string(text), "file too large") {
		t.Errorf("%v\n%s", err, text)
	}
	entries, err := os.ReadDir(filepath.Join(out, "checkpoints"))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	must(t, "train", "--resume", "--out", out)
}
