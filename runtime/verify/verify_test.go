package verify

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// bytesOf lays numbers out as elements of a type.
func bytesOf(t safetensors.DType, values ...float64) []byte {
	var b []byte
	for _, v := range values {
		switch t {
		case safetensors.F64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case safetensors.I64:
			b = binary.LittleEndian.AppendUint64(b, uint64(int64(v)))
		case safetensors.BF16:
			b = binary.LittleEndian.AppendUint16(b, safetensors.ToBF16(float32(v)))
		default:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		}
	}
	return b
}

func tensor(name string, t safetensors.DType, shape []int, values ...float64) safetensors.Tensor {
	return safetensors.Tensor{Name: name, DType: t, Shape: shape, Body: safetensors.Bytes(bytesOf(t,
		values...))}
}

func write(t testing.TB, dir, base string, list ...safetensors.Tensor) {
	t.Helper()
	if _, err := safetensors.Write(dir, list, safetensors.Options{Base: base}); err != nil {
		t.Fatal(err)
	}
}

// Numbers of the fixture: 1 x 3 tokens, vocabulary 4, one matrix "w" of the model and one "vision" outside
// it.
var (
	logits  = []float64{1, 2, 3, 4, 0, -1, 0.5, 2, 9, 9, 9, 9} // the last position is padding
	genRows = []float64{0, 3, 9, 1, 5, 0, 0, 1}                // token 2 ends, so 1 is chosen, then 0
	weights = []float64{0.5, -0.25, 1, 2}
	grads   = []float64{0.1, -0.2, 0.3, 0}
	updated = []float64{0.499, -0.249, 0.999, 2}
)

// makeFixture writes a causal fixture.
func makeFixture(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "toy", "tiny")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.json":            `{"model_type": "toy"}`,
		"generation_config.json": `{"eos_token_id": 2}`,
		"meta.json": `{"model_type": "toy", "kind": "causal", "hf_fp32_err": {"logits": 1e-6, "left": 1e-6, "loss": 1e-6,
			"grads": 1e-7, "grad_scale": 0.3, "adamw2": 1e-7, "train8": 1e-6}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	I, F, D, B := safetensors.I64, safetensors.F32, safetensors.F64, safetensors.BF16
	bt := []int{1, 3}
	write(t, dir, "expect", tensor("input_ids", I, bt, 1, 2, 0), tensor("attention_mask", I, bt, 1, 1, 0),
		tensor("labels", I, bt, 1, 2, -100), tensor("logits64", D, []int{1, 3, 4}, logits...), tensor("loss",
			D, []int{1}, 2),
		tensor("left.input_ids", I, bt, 0, 1, 2), tensor("left.attention_mask", I, bt, 0, 1, 1),
		tensor("left.position_ids", I, bt, 0, 0, 1), tensor("left.logits", F, []int{1, 3, 4}, logits...),
		tensor("adamw2.losses", D, []int{3}, 2, 1.5, 1), tensor("train8.losses", D, []int{8}, 2, 1.9, 1.8,
			1.7, 1.6, 1.5, 1.4, 1.3),
		tensor("gen.prompt", I, []int{1, 2}, 1, 2), tensor("gen.ids", I, []int{1, 2}, 1, 0),
		tensor("gen.logits", F, []int{1, 2, 4}, genRows...), tensor("logits", F, []int{1, 3, 4}, logits...))
	write(t, dir, "model", tensor("w", B, []int{2, 2}, weights...), tensor("vision", B, []int{2}, 1, 2),
		tensor("table", I, []int{1}, 7))
	write(t, dir, "grads", tensor("w", F, []int{2, 2}, grads...), tensor("vision", F, []int{2}, 0, 0),
		tensor("table", I, []int{1}, 0))
	write(t, dir, "adamw2", tensor("w", F, []int{2, 2}, updated...), tensor("vision", F, []int{2}, 1, 2),
		tensor("table", I, []int{1}, 7))
	return dir
}

// toy returns the fixture's own numbers, changed by what a test wants.
type toy struct {
	dir      string
	steps    int
	training int // which list of losses
	broken   map[string]func([]float64)
	fail     error
}

func (e *toy) values(name string, v []float64) []float32 {
	v = append([]float64(nil), v...)
	if f := e.broken[name]; f != nil {
		f(v)
	}
	out := make([]float32, len(v))
	for i := range v {
		out[i] = float32(v[i])
	}
	return out
}

func (e *toy) Forward(in step) ([]float32, error) {
	if in.dec.B*in.dec.T == 3 && in.dec.Tokens[2] == 1 { // the decoding's tokens at once
		full := append([]float64{0, 0, 0, 0}, genRows...)
		return e.values("full", full), e.fail
	}
	if in.dec.Seg[0] == 0 {
		return e.values("left", append([]float64(nil), logits...)), e.fail
	}
	return e.values("logits", logits), e.fail
}

func (e *toy) Loss(step) (float64, error) {
	if e.training == 1 {
		return float64(e.values("loss3", []float64{1})[0]), e.fail
	}
	return float64(e.values("loss", []float64{2})[0]), e.fail
}

func (e *toy) Train(step) (float64, error) {
	e.steps++
	l := 2 - 0.1*float64(e.steps-1)
	if e.training == 1 {
		l = 2 - 0.5*float64(e.steps-1)
	}
	return float64(e.values("train", []float64{l})[0]), e.fail
}
func (e *toy) Update(h nn.Hyper) error {
	if h.MaxNorm == 1 && (h.LR != 3e-3 || h.Decay != 0.1) || h.Step != e.steps {
		return fmt.Errorf("hyperparameters %+v", h)
	}
	return nil
}
func (e *toy) Tensors(g bool, visit func(string, []int, []float32) error) error {
	if g {
		return visit("w", []int{2, 2}, e.values("grads", grads))
	}
	return visit("w", []int{2, 2}, e.values("updated", updated))
}
func (e *toy) Untouched() []string { return []string{"vision", "table"} }
func (e *toy) Reload() error       { e.training++; e.steps = 0; return nil }
func (e *toy) Decode(prompt, feed []int32, seq2seq bool) ([][]float32, error) {
	if fmt.Sprint(prompt, feed, seq2seq) != "[1 2] [1] false" {
		return nil, fmt.Errorf("decoding %v %v", prompt, feed)
	}
	v := e.values("gen", genRows)
	return [][]float32{v[:4], v[4:]}, e.fail
}
func (e *toy) Save(dir string) error {
	for _, name := range []string{"config.json", "model.safetensors"} {
		b, err := os.ReadFile(filepath.Join(e.dir, name))
		if err != nil {
			return err
		}
		if e.broken["save "+name] != nil {
			b[len(b)-1] ^= 1
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// verifyToy runs all checks with an engine.
func verifyToy(t testing.TB, dir string, e *toy, o Options) Result {
	t.Helper()
	f, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e.dir = dir
	res := Result{Fixture: f.Name, Checks: map[string]*Check{}}
	if err := res.checks(f, e, o); err != nil {
		t.Fatal(err)
	}
	return res
}

func TestAllPass(t *testing.T) {
	var log strings.Builder
	res := verifyToy(t, makeFixture(t), &toy{}, Options{Verbose: &log})
	for _, name := range checkNames {
		if c := res.Checks[name]; c == nil || !c.Pass || c.Skipped != "" || c.Error != "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if !res.Pass || res.Fixture != "toy/tiny" || !strings.Contains(log.String(),
		"train8.losses[7] is 1.29999995, want 1.3") {
		t.Errorf("%+v\n%s", res, log.String())
	}
}

// TestEachFails breaks one quantity at a time, just beyond its bound, and wants that check alone to fail.
func TestEachFails(t *testing.T) {
	at := func(i int, d float64) func([]float64) { return func(v []float64) { v[i] += d } }
	nan := func(v []float64) { v[0] = math.NaN() }
	tests := []struct {
		name   string
		broken map[string]func([]float64)
		fails  string // the check, and what it says
		want   string
	}{
		{"logits", map[string]func([]float64){"logits": at(1, 5e-6)}, "logits",
			"5.01e-06 > 4e-06 at row 0, position 0, token 1"},
		{"logits nan", map[string]func([]float64){"logits": nan}, "logits",
			"+Inf > 4e-06 at row 0, position 0, token 0"},
		{"padding does not count", map[string]func([]float64){"logits": at(9, 5)}, "", ""},
		{"within", map[string]func([]float64){"logits": at(1, 3e-6)}, "", ""},
		{"left", map[string]func([]float64){"left": at(4, 5e-6)}, "left",
			"5e-06 > 4e-06 at row 0, position 1, token 0"},
		{"left padding", map[string]func([]float64){"left": at(0, 5)}, "", ""},
		{"loss", map[string]func([]float64){"loss": at(0, 1e-5)}, "loss", "1e-05 > 4e-06"},
		{"grads", map[string]func([]float64){"grads": at(3, 1e-6)}, "grads", "1e-06 > 4e-07 at w[1 1]"},
		{"grads nan", map[string]func([]float64){"grads": nan}, "grads", "+Inf > 4e-07 at w[0 0]"},
		{"updated", map[string]func([]float64){"updated": at(2, 1e-6)}, "adamw2",
			"1.01e-06 > 2.38e-07 at w[1 0]"},
		{"losses", map[string]func([]float64){"loss3": at(0, 1e-3)}, "adamw2",
			"(losses off by 0.001 relative, bound 0.0001, at loss 2)"},
		{"token", map[string]func([]float64){"gen": at(3, 3)}, "generate",
			"3 > 4e-05 at step 0, token 3 (step 0 chose token 3, want 1)"},
		{"gen logits", map[string]func([]float64){"gen": at(5, 1e-4)}, "generate",
			"0.0001 > 4e-05 at step 1, token 1"},
		{"saved", map[string]func([]float64){"save model.safetensors": nan}, "roundtrip", "1 > 0 at table"},
		{"saved config", map[string]func([]float64){"save config.json": nan}, "roundtrip",
			"1 > 0 at config.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := verifyToy(t, makeFixture(t), &toy{broken: tt.broken}, Options{})
			for name, c := range res.Checks {
				if c.Pass != (name != tt.fails) {
					t.Errorf("%s: %+v", name, c)
				}
			}
			if res.Pass != (tt.fails == "") {
				t.Errorf("pass is %v", res.Pass)
			}
			if want := "  " + tt.fails + " " + tt.want; tt.fails != "" && !strings.Contains(res.String(),
				want) {
				t.Errorf("%s\ndoes not say %q", res, want)
			}
		})
	}
	losses := verifyToy(t, makeFixture(t), &toy{broken: map[string]func([]float64){"train": at(0, 1e-3)}},
		Options{})
	if c := losses.Checks["train8"]; c.Pass || c.Worst != "loss 7" {
		t.Errorf("train8: %+v", c)
	}
}

func TestEngineErrors(t *testing.T) {
	res := verifyToy(t, makeFixture(t), &toy{fail: fmt.Errorf("device lost")}, Options{})
	for _, name := range []string{"logits", "left", "loss", "grads", "adamw2", "train8", "generate"} {
		if c := res.Checks[name]; c.Pass || c.Error != "device lost" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	b, err := json.Marshal(res.Checks["logits"])
	if want := `{"err":"inf","bound":0,"pass":false,"error":"device lost"}`; err != nil || string(b) != want {
		t.Errorf("json is %s, want %s", b, want)
	}
	if !strings.Contains(res.String(), "FAIL toy/tiny 0.0s  logits: device lost") {
		t.Error(res.String())
	}
	for _, n := range []Number{1.5, Number(math.Inf(1))} {
		var back Number
		b, _ := json.Marshal(n)
		if err := json.Unmarshal(b, &back); err != nil || back != n {
			t.Errorf("%v became %s and %v", n, b, back)
		}
	}
	var nan Number
	if b, _ := json.Marshal(Number(math.NaN())); json.Unmarshal(b, &nan) != nil || nan == nan {
		t.Errorf("NaN became %s and %v", b, nan)
	}
}

// TestSkips removes files and wants the checks that need them skipped, by name.
func TestSkips(t *testing.T) {
	dir := makeFixture(t)
	for _, name := range []string{"grads", "adamw2"} {
		if err := os.Remove(filepath.Join(dir, name+".safetensors")); err != nil {
			t.Fatal(err)
		}
	}
	I, D := safetensors.I64, safetensors.F64
	write(t, dir, "expect", tensor("input_ids", I, []int{1, 3}, 1, 2, 0), tensor("attention_mask", I,
		[]int{1, 3}, 1, 1, 0),
		tensor("labels", I, []int{1, 3}, 1, 2, -100), tensor("logits64", D, []int{1, 3, 4}, logits...))
	res := verifyToy(t, dir, &toy{}, Options{})
	got := map[string]string{}
	for name, c := range res.Checks {
		got[name] = c.Skipped
	}
	want := map[string]string{"logits": "", "left": "no left.logits", "loss": "no loss",
		"grads":  "no grads.safetensors",
		"adamw2": "no adamw2.safetensors", "train8": "no train8.losses", "generate": "no gen.ids", "roundtrip": ""}
	if diff := cmp.Diff(want, got); diff != "" || !res.Pass {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(res.String(), "left skipped") {
		t.Error(res.String())
	}
}

func TestChosenChecks(t *testing.T) {
	res := verifyToy(t, makeFixture(t), &toy{}, Options{Checks: []string{"loss", "grads"}})
	if len(res.Checks) != 2 || res.Checks["loss"] == nil || res.Checks["grads"] == nil {
		t.Errorf("%+v", res.Checks)
	}
	if _, err := ParseChecks("loss,gards"); err == nil ||
		err.Error() != `no check "gards"; there are logits, left, loss, `+
			`grads, adamw2, train8, generate, roundtrip` {
		t.Errorf("error is %v", err)
	}
	if list, err := ParseChecks("loss,grads"); err != nil || len(list) != 2 || len(CheckNames()) != 8 {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := ParseChecks(""); err != nil || list != nil {
		t.Errorf("%v, %v", list, err)
	}
}

// TestExempt: decoding is then compared with the model's own forward pass.
func TestExempt(t *testing.T) {
	exempt := func(fixture, check string) string {
		if fixture == "toy/tiny" && check == "generate" {
			return "known"
		}
		return ""
	}
	far := func(v []float64) { v[len(v)-1] += 3 }
	res := verifyToy(t, makeFixture(t), &toy{broken: map[string]func([]float64){"gen": far, "full": far}},
		Options{Exempt: exempt})
	if c := res.Checks["generate"]; !c.Pass ||
		c.Note != "compared with the model's own uncached decoding: known" {
		t.Errorf("%+v", c)
	}
	res = verifyToy(t, makeFixture(t), &toy{broken: map[string]func([]float64){"gen": far}},
		Options{Exempt: exempt})
	if c := res.Checks["generate"]; c.Pass {
		t.Errorf("%+v", c)
	}
}

func TestUnusedTensors(t *testing.T) {
	dir := makeFixture(t)
	F := safetensors.F32
	write(t, dir, "grads", tensor("w", F, []int{2, 2}, grads...), tensor("vision", F, []int{2}, 0, 0.5))
	write(t, dir, "adamw2", tensor("w", F, []int{2, 2}, updated...), tensor("more", F, []int{1}, 1),
		tensor("vision", F, []int{2}, 1, 2))
	res := verifyToy(t, dir, &toy{}, Options{})
	if c := res.Checks["grads"]; c.Pass || c.Worst != "vision[1]" || c.Err != 0.5 {
		t.Errorf("%+v", c)
	}
	if c := res.Checks["adamw2"]; c.Pass ||
		c.Error != "the checkpoint has no tensor more, which adamw2.safetensors has" {
		t.Errorf("%+v", c)
	}
	write(t, dir, "grads", tensor("w", F, []int{4}, grads...), tensor("vision", F, []int{2}, 0, 0))
	write(t, dir, "adamw2", tensor("w", F, []int{2, 2}, updated...))
	res = verifyToy(t, dir, &toy{}, Options{})
	got := []string{res.Checks["grads"].Error, res.Checks["adamw2"].Error}
	want := []string{dir + "/grads.safetensors: tensor w is [4], the checkpoint has [2 2]",
		dir + `/adamw2.safetensors: no tensor "vision" (the model does not use this tensor)`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDecoderInputs(t *testing.T) {
	dir := makeFixture(t)
	edit := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	edit("meta.json", `{"kind": "seq2seq"}`)
	edit("config.json", `{"decoder_start_token_id": 9, "pad_token_id": 8}`)
	f, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := f.mainStep()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{9, 1, 2}, in.dec.Tokens); diff != "" || in.enc == nil ||
		in.dec.Seg[2] != 1 || in.enc.Seg[2] != 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]int32{1, 2, -100}, in.dec.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	shifted, err := f.shifted([]int32{1, -100, -100, 5, 6, 7}, 3)
	if diff := cmp.Diff([]int32{9, 1, 8, 9, 5, 6}, shifted); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	edit("config.json", `{}`)
	_, err = f.mainStep()
	if err == nil || !strings.Contains(err.Error(),
		`"decoder_start_token_id" is missing, want a whole number`) {
		t.Errorf("error is %v", err)
	}
}

func TestChoose(t *testing.T) {
	d := decoding{ends: []int{1}, forced: 3}
	if got := d.choose([]float32{1, 9, 2, 0}, false); got != 2 {
		t.Errorf("chose %d, want 2", got)
	}
	if got := d.choose([]float32{1, 9, 2, 0}, true); got != 3 {
		t.Errorf("chose %d, want 3", got)
	}
}

func TestFindAndLoad(t *testing.T) {
	dir := makeFixture(t)
	root := filepath.Dir(filepath.Dir(dir))
	list, err := Find([]string{root})
	if diff := cmp.Diff([]string{dir}, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	empty := t.TempDir()
	if _, err := Find([]string{root, empty}); err == nil ||
		err.Error() != empty+": no fixture in it (a folder with expect.safetensors)" {
		t.Errorf("error is %v", err)
	}
	meta := filepath.Join(dir, "meta.json")
	if err := os.WriteFile(meta, []byte(`{"kind": "odd"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil ||
		err.Error() != meta+`: kind is "odd", want causal, masked, seq2seq or wrapper` {
		t.Errorf("error is %v", err)
	}
	for kind, want := range map[string]model.Kind{"causal": model.Causal, "wrapper": model.Causal,
		"masked":  model.Masked,
		"seq2seq": model.Seq2Seq} {
		if kindOf(kind) != want {
			t.Errorf("%s is %v", kind, kindOf(kind))
		}
	}
	res := Run(empty, Options{})
	if res.Pass || !strings.Contains(res.Error, "meta.json") {
		t.Errorf("%+v", res)
	}
}
