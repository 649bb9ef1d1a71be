// Command demo does the main job on text that every machine with Go has: it trains a small language model on
// the source of the standard library and lets it write.
//
// Everything is done by bin/vulcast, with the commands that it prints; the result lies in demo/:
//
//	demo/model/        a Hugging Face package: config.json, tokenizer.json, model.safetensors, ...
//	demo/loss.png      the loss curve
//	demo/metrics.jsonl a line for each step
//
// A second run goes on from the last checkpoint, or, when the training was complete, trains once more as
// long.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/vulcast/vulcast/runtime/train"
)

type options struct {
	folder  string
	vulcast string
	minutes float64
	device  string
	fresh   bool
}

func main() {
	var o options
	flag.StringVar(&o.folder, "folder", "demo", "folder for the result")
	flag.StringVar(&o.vulcast, "vulcast", filepath.Join("bin", "vulcast"), "the vulcast command")
	flag.Float64Var(&o.minutes, "minutes", 2.4, "time to train")
	flag.StringVar(&o.device, "device", "", "Vulkan device, as vulcast --device")
	flag.BoolVar(&o.fresh, "fresh", false, "remove the result of an earlier run first")
	flag.Parse()
	signal.Ignore(os.Interrupt) // the command that runs gets it too, saves, and ends
	if err := demo(o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(o options) error {
	began := time.Now()
	if o.fresh {
		if err := remove(o.folder); err != nil {
			return err
		}
	}
	args, err := trainArgs(o)
	if err != nil {
		return err
	}
	if err := o.run(args...); err != nil {
		return err
	}
	fmt.Println("\nA sample that the saved package writes:")
	if err := o.run("generate", filepath.Join(o.folder, "model"), "func (s *Server) ", "--max-tokens", "160",
		"--temperature", "0.7", "--top-k", "40", "--seed", "1"); err != nil {
		return err
	}
	fmt.Printf("\nDone in %s. Write more: %s generate %s \"// Package\" --temperature 0.7\n",
		time.Since(began).Round(time.Second), o.vulcast, filepath.Join(o.folder, "model"))
	return nil
}

// trainArgs are the arguments of the training: of a new run, or of one that goes on.
func trainArgs(o options) ([]string, error) {
	list, err := train.Checkpoints(o.folder)
	if err != nil {
		return nil, err
	}
	started := exists(filepath.Join(o.folder, "run.toml"))
	if started && len(list) == 0 { // stopped before the first checkpoint
		return []string{"train", "--resume", "--out", o.folder}, nil
	}
	if started {
		again, err := ask(fmt.Sprintf("%s/ holds a run that was saved at %s. Go on with it?", o.folder, list[len(list)-1]))
		if err != nil {
			return nil, err
		}
		if again {
			return resumeArgs(o, list[len(list)-1])
		}
		if err := remove(o.folder); err != nil {
			return nil, err
		}
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src")
	if !exists(source) {
		return nil, fmt.Errorf("%s: the source of the standard library is not there; install Go with its source", source)
	}
	return []string{"train", "--data", filepath.Join(source, "**", "*.go"), "--exclude", "testdata,vendor,cmd,*_test.go",
		"--arch", "llama", "--shape", "2m", "--new-tokenizer", "4096", "--out", o.folder,
		"--seq", "128", "--batch", "4", "--minutes", fmt.Sprint(o.minutes), "--lr", "2e-3", "--min-lr", "1e-4", "--beta2", "0.98",
		"--warmup", "20", "--eval-batches", "40", "--save-minutes", "0.5"}, nil
}

// resumeArgs go on with a run. One that was complete gets as many steps again.
func resumeArgs(o options, last string) ([]string, error) {
	args := []string{"train", "--resume", "--out", o.folder}
	st, err := train.ReadStatus(filepath.Join(o.folder, "checkpoints", last))
	if err == nil && st.Steps > 0 && st.Step >= st.Steps {
		args = append(args, "--steps", fmt.Sprint(2*st.Steps))
	}
	return args, err
}

// ask asks at a terminal. Elsewhere nobody can answer, and the run goes on.
func ask(question string) (bool, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Println(question, "Yes: nobody is asked here. To start anew: go run ./tools/demo -fresh")
		return true, nil
	}
	fmt.Print(question, " [Y/n] ")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return !strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "n"), nil
}

// remove removes the folder of an earlier run, and nothing else.
func remove(folder string) error {
	if exists(folder) && !exists(filepath.Join(folder, "run.toml")) {
		return fmt.Errorf("%s is not the folder of a run (it has no run.toml): remove it yourself", folder)
	}
	return os.RemoveAll(folder)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run runs vulcast and shows the command.
func (o *options) run(args ...string) error {
	if o.device != "" {
		args = append(args, "--device", o.device)
	}
	fmt.Println("$", o.vulcast, quote(args))
	c := exec.Command(o.vulcast, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", o.vulcast, args[0], err)
	}
	return nil
}

// quote writes arguments as a shell takes them.
func quote(args []string) string {
	var list []string
	for _, a := range args {
		if strings.ContainsAny(a, " *?()\"$\\") {
			a = "'" + a + "'"
		}
		list = append(list, a)
	}
	return strings.Join(list, " ")
}
