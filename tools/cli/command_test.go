package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vulcast/vulcast/runtime/gpu"
)

var binary string // the command, built by buildCommand

var buildCommand = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "vulcast-test-")
	if err != nil {
		return err
	}
	binary = filepath.Join(dir, "vulcast")
	out, err := exec.Command("go", "build", "-o", binary, "../vulcast").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

var anyDevice = sync.OnceValue(func() error {
	list, err := gpu.List()
	if err == nil && len(list) == 0 {
		err = errors.New("there is none")
	}
	return err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binary != "" {
		if err := os.RemoveAll(filepath.Dir(binary)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// needDevice skips a test with the reason when there is no Vulkan device.
func needDevice(t *testing.T) {
	t.Helper()
	if err := anyDevice(); err != nil {
		t.Skipf("no Vulkan device: %v", err)
	}
}

// result is what a command left.
type result struct {
	out, err string
	status   int
}

// command prepares vulcast with arguments.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if err := buildCommand(); err != nil {
		t.Fatal(err)
	}
	return exec.Command(binary, args...)
}

// vulcast runs the command.
func vulcast(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	c := command(t, args...)
	var out, err bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &err
	var exit *exec.ExitError
	if e := c.Run(); e != nil && !errors.As(e, &exit) {
		t.Fatal(e)
	}
	return result{out.String(), err.String(), c.ProcessState.ExitCode()}
}

// must runs the command and wants status 0.
func must(t *testing.T, args ...string) result {
	t.Helper()
	r := vulcast(t, "", args...)
	if r.status != 0 {
		t.Fatalf("vulcast %s: status %d\n%s", strings.Join(args, " "), r.status, r.err)
	}
	return r
}

// texts writes a few small files to train on and returns their folder.
func texts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 6 {
		var b strings.Builder
		for j := range 60 {
			fmt.Fprintf(&b, "line %d of text %d counts %d apples and %d pears.\n", j, i, j*i%7, (j+i)%5)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tinyTrain are the arguments of a training of a few seconds.
func tinyTrain(data, out string, more ...string) []string {
	args := []string{"train", "--data", data, "--out", out, "--arch", "llama", "--shape", "1m", "--set", "hidden_size=32",
		"--set", "intermediate_size=64", "--set", "num_hidden_layers=2", "--new-tokenizer", "300", "--seq", "32", "--batch",
		"2", "--steps", "8", "--warmup", "2", "--holdout", "0.2"}
	return append(args, more...)
}

func TestTrainAndGenerate(t *testing.T) {
	needDevice(t)
	out := filepath.Join(t.TempDir(), "run")
	r := must(t, tinyTrain(texts(t), out, "--steps", "40", "--lr", "1e-2")...)
	if !strings.Contains(r.out, "unigram baseline") || !strings.Contains(r.err, "step 40/40") {
		t.Errorf("output\n%s\n%s", r.out, r.err)
	}
	for _, name := range []string{"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors",
		"generation_config.json", "../loss.png", "../metrics.jsonl", "../run.toml"} {
		if _, err := os.Stat(filepath.Join(out, "model", name)); err != nil {
			t.Error(err)
		}
	}
	model := filepath.Join(out, "model")
	one := must(t, "generate", model, "line 3", "--max-tokens", "12").out
	two := must(t, "generate", model, "line 3", "--max-tokens", "12", "--json").out
	text := strings.TrimSuffix(strings.TrimPrefix(one, "line 3"), "\n")
	if !strings.HasPrefix(one, "line 3") || len(text) < 6 || !strings.Contains(two, `"reason":"length"`) {
		t.Errorf("texts %q and %q", one, two)
	}
	template := filepath.Join(t.TempDir(), "chat.jinja")
	if err := os.WriteFile(template, []byte("{% for m in messages %}{{ m.content }} {% endfor %}"), 0o666); err != nil {
		t.Fatal(err)
	}
	talk := vulcast(t, "line 3\n\n/clear\ncounts\n", "chat", model, "--template", template, "--max-tokens", "5")
	if talk.status != 0 || strings.Count(talk.out, "\n") < 2 {
		t.Errorf("a conversation: status %d, %q\n%s", talk.status, talk.out, talk.err)
	}
	again := must(t, tinyTrain(texts(t), filepath.Join(t.TempDir(), "second"), "--model", model, "--arch", "",
		"--new-tokenizer", "0")...)
	if !strings.Contains(again.err, "step 8/8") {
		t.Errorf("training from a package\n%s", again.err)
	}
}

// TestBadInput: a clear message, status 1, and nothing on standard output.
func TestBadInput(t *testing.T) {
	needDevice(t)
	data, dir := texts(t), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	full := filepath.Dir(write("full/x", ""))
	empty := filepath.Dir(write("empty/x.txt", ""))
	unknown := write("unknown.json", `{"model_type": "lama"}`)
	small := write("small.json", `{"model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
		"num_attention_heads": 2, "vocab_size": 290, "max_position_embeddings": 16, "rms_norm_eps": 1e-5}`)
	settings := write("run.toml", "lr = 0.1\nbacth = 3\n")
	out := filepath.Join(dir, "out")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no data", []string{"train", "--out", out, "--arch", "llama", "--new-tokenizer", "300"}, "--data is missing"},
		{"no such data", tinyTrain(filepath.Join(dir, "none"), out), "no such file"},
		{"empty data", tinyTrain(empty, out), "the data set is empty"},
		{"output is a file", tinyTrain(data, settings), "the output folder is a file"},
		{"output is not empty", tinyTrain(data, full), "the output folder is not empty (x ...)"},
		{"output cannot be written", tinyTrain(data, "/proc/x/y"), "the output folder cannot be made"},
		{"unknown model_type", tinyTrain(data, out, "--arch", unknown), `model_type "lama" is no known architecture`},
		{"vocabulary", tinyTrain(data, out, "--arch", small),
			"the tokenizer has ids up to 299, but the model's vocabulary has 290 tokens"},
		{"too long", tinyTrain(data, out, "--arch", small, "--new-tokenizer", "290"),
			"rows of 32 tokens are longer than the model allows (16 positions)"},
		{"too little memory", tinyTrain(data, out, "--set", "hidden_size=4096", "--set", "intermediate_size=16384",
			"--set", "num_attention_heads=32", "--set", "num_key_value_heads=32", "--set", "num_hidden_layers=100"),
			"but the device has"},
		{"setting", tinyTrain(data, out, "--config", settings), `"bacth" is no setting of vulcast train (did you mean "batch"?)`},
		{"schedule", tinyTrain(data, out, "--schedule", "cos"), `schedule is "cos", want one of constant`},
		{"dtype", tinyTrain(data, out, "--dtype", "f8"), `--dtype is "f8", want f32, bf16 or f16`},
		{"freeze", tinyTrain(data, out, "--freeze", "nothing"), `no parameter matches "nothing"`},
		{"adapter of a new model", tinyTrain(data, out, "--lora-rank", "4"), "--lora-rank needs --model"},
		{"nothing to resume", []string{"train", "--resume", "--out", filepath.Join(dir, "none")}, "run.toml: no such file"},
		{"device", tinyTrain(data, out, "--device", "no such device"), "no such device"},
		{"generate without a model", []string{"generate", dir, "x"}, "no tokenizer"},
		{"bench shape", []string{"bench", "--shape", "9q"}, `--shape is "9q", want one of 1m, 2m, 3m`},
		{"bench batch", []string{"bench", "--batch", "0"}, "--batch is 0, want at least 1"},
		{"tokenize", []string{"tokenize", "--tokenizer", filepath.Join(dir, "none"), "x"}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := vulcast(t, "", tt.args...)
			if r.status != 1 || !strings.Contains(r.err, tt.want) || r.out != "" {
				t.Errorf("status %d, output %q, message\n%s\nwant\n%s", r.status, r.out, r.err, tt.want)
			}
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTokenize(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tokenizer.json")
	text := `{"version":"1.0","added_tokens":[{"id":0,"content":"<e>","special":true,"single_word":false,"lstrip":false,` +
		`"rstrip":false,"normalized":false}],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,` +
		`"trim_offsets":true,"use_regex":true},"post_processor":null,"decoder":{"type":"ByteLevel"},"model":{"type":"BPE",` +
		`"vocab":{"<e>":0,"a":1,"b":2,"ab":3},"merges":[["a","b"]]}}`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.json")
	text = strings.Replace(strings.Replace(text, `,"ab":3`, "", 1), `["a","b"]`, "", 1)
	if err := os.WriteFile(other, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, stdin string
		args        []string
		want        result
	}{
		{"text", "", []string{"--tokenizer", file, "abb"}, result{"3\t\"ab\"\n2\t\"b\"\n", "", 0}},
		{"json", "\"abb<e>\"\n\"\"\n", []string{"--json", "--tokenizer", file}, result{
			`{"ids":[3,2,0],"ids_special":[3,2,0],"decoded":"abb<e>","decoded_skip_special":"abb"}` + "\n" +
				`{"ids":[],"ids_special":[],"decoded":"","decoded_skip_special":""}` + "\n", "", 0}},
		{"bad line", "\"a\"\nabc\n", []string{"--json", "--tokenizer", file}, result{
			`{"ids":[1],"ids_special":[1],"decoded":"a","decoded_skip_special":"a"}` + "\n",
			"vulcast: standard input, line 2: want a JSON string: invalid character 'a' looking for beginning of value\n", 1}},
		{"no difference", "ab", []string{"--diff", file, "--tokenizer", file}, result{"the same 1 tokens\n", "", 0}},
		{"difference", "bab", []string{"--diff", other, "--tokenizer", file}, result{
			"2 and 3 tokens; they differ from token 1 on, after \"b\"\n< 3\t\"ab\"\n> 1\t\"a\"\n> 2\t\"b\"\n", "", 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := vulcast(t, tt.stdin, append([]string{"tokenize"}, tt.args...)...); got != tt.want {
				t.Errorf("got\n%+v\nwant\n%+v", got, tt.want)
			}
		})
	}
}
