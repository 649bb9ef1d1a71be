package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// fake is a model that has parameters and nothing else.
type fake struct {
	arch   *Arch
	params []*nn.Param
}

func (f *fake) Arch() *Arch                                      { return f.arch }
func (f *fake) Params() []*nn.Param                              { return f.params }
func (f *fake) Linears() []*nn.Linear                            { return nil }
func (f *fake) Prepare(*gpu.Device, Options) error               { return nil }
func (f *fake) Logits(*nn.Recorder, *Inputs) (t gpu.Tensor)      { return t }
func (f *fake) Train(*nn.Recorder, *Inputs) (t gpu.Tensor)       { return t }
func (f *fake) Loss(*nn.Recorder, *Inputs) (t gpu.Tensor)        { return t }
func (f *fake) NewState(*gpu.Device, int, int) (State, error)    { return nil, nil }
func (f *fake) Step(*nn.Recorder, *Inputs, State) (t gpu.Tensor) { return t }
func (f *fake) Encode(*nn.Recorder, *Inputs, State)              {}

// fakeArch has every layout that Disk can say.
func fakeArch() *Arch {
	a := &Arch{Name: "fake", ModelTypes: []string{"fake", "fake_alias"},
		Packages: []Package{{ModelType: "fake_vl", ConfigPath: "text_config", Rename: []Rename{{"",
			"language_model."}}},
			{ModelType: "fake_vl2", ConfigPath: "text_config", Rename: []Rename{{"model.", "model.text."}}}}}
	a.New = func(cfg *hfconfig.File) (Model, error) {
		d := cfg.Int("hidden_size")
		if d == 0 {
			return nil, nil
		}
		linear := func(name string, rows int, disk nn.Disk) *nn.Param {
			return &nn.Param{Name: name, Shape: []int{rows, d}, Disk: disk, Init: nn.Init{Std: 0.02}}
		}
		qkv := func(i int) nn.Disk {
			return nn.Disk{Names: []string{"model.qkv.weight"}, Part: nn.Part{From: 2 * i, To: 2*i + 2,
				Groups: 2}}
		}
		expert := func(e int) []string {
			return []string{fmt.Sprintf("model.experts.%d.w%d", e/2, e%2+1)}
		}
		return &fake{a, []*nn.Param{
			linear("model.embed", 5, nn.Disk{Names: []string{"model.embed", "lm_head.weight"}}),
			linear("q", 4, qkv(0)), linear("k", 4, qkv(1)),
			linear("model.conv", 3, nn.Disk{Transposed: true}),
			{Name: "experts", Shape: []int{2, 6, d}, Disk: nn.Disk{Stack: 4, StackNames: expert},
				Init: nn.Init{Std: 1}},
			{Name: "model.norm", Shape: []int{d}, Init: nn.Init{Kind: nn.InitOnes}},
			{Name: "model.bias", Shape: []int{d}, Disk: nn.Disk{Optional: true},
				Init: nn.Init{Kind: nn.InitZeros}},
			{Name: "model.table", Shape: []int{3}, Index: true},
		}}, nil
	}
	return a
}

// tensorsOf gives the checkpoint of fakeArch with hidden_size 4, names rewritten.
func tensorsOf(name func(string) string) []safetensors.Tensor {
	var list []safetensors.Tensor
	add := func(n string, t safetensors.DType, shape ...int) {
		raw := make([]byte, product(shape)*t.Bits()/8)
		for i := range raw {
			raw[i] = byte(i*37+len(n)*11) & 0x3f
		}
		list = append(list, safetensors.Tensor{Name: name(n), DType: t, Shape: shape,
			Body: safetensors.Bytes(raw)})
	}
	add("model.table", safetensors.I64, 3)
	list[0].Body = safetensors.Bytes(make([]byte, 24))
	add("model.norm", safetensors.F64, 4)
	add("model.conv", safetensors.F16, 4, 3)
	add("model.embed", safetensors.BF16, 5, 4)
	for e := range 4 {
		add(fmt.Sprintf("model.experts.%d.w%d", e/2, e%2+1), safetensors.BF16, 3, 4)
	}
	add("model.qkv.weight", safetensors.F8E4M3, 12, 4)
	add("vision.weight", safetensors.F4, 7, 2)
	return list
}

const fakeConfig = "{\n  \"model_type\": \"fake\",   \"hidden_size\": 4\n}\n"

func writeModel(t *testing.T, config string, tensors []safetensors.Tensor) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"config.json": config, "tokenizer.json": "{}",
		"notes.bin": "x", ".hidden": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := safetensors.Write(dir, tensors,
		safetensors.Options{Metadata: map[string]string{"format": "pt", "x": "y"}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func device(t *testing.T) *gpu.Device {
	t.Helper()
	dev, err := gpu.Open(gpu.Options{NoCache: true})
	if err != nil {
		t.Skipf("no Vulkan device: %v", err)
	}
	t.Cleanup(dev.Close)
	return dev
}

func readFile(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestSaveUnchanged: in every storage type, in packages too, saving gives the same file back.
func TestSaveUnchanged(t *testing.T) {
	dev := device(t)
	nested := `{"model_type": "fake_vl", "text_config": {"hidden_size": 4}}`
	renamed := `{"model_type": "fake_vl2", "text_config": {"hidden_size": 4}}`
	flat := `{"model_type": "fake_vl", "hidden_size": 4}`
	vl := func(n string) string { return "language_model." + n }
	vl2 := func(n string) string { return strings.Replace(n, "model.", "model.text.", 1) }
	plain := func(n string) string { return n }
	for _, tt := range []struct {
		name, config string
		rename       func(string) string
		weights      gpu.DType
	}{
		{"f32", fakeConfig, plain, gpu.F32}, {"bf16", fakeConfig, plain, gpu.BF16}, {"f16", fakeConfig,
			plain, gpu.F16},
		{"package", nested, vl, gpu.F32}, {"renamed", renamed, vl2, gpu.F32}, {"flat", flat, vl, gpu.F32},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeModel(t, tt.config, tensorsOf(tt.rename))
			l, err := Open(dir, dev, []*Arch{fakeArch()}, Options{Weights: tt.weights, Train: true})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			want := tt.rename("vision.weight")
			if got := l.Untouched(); len(got) != 1 || got[0] != want {
				t.Errorf("untouched %v", got)
			}
			out := filepath.Join(t.TempDir(), "new", "folder")
			if err := l.Save(out, SaveOptions{}); err != nil {
				t.Fatal(err)
			}
			if readFile(t, dir, "model.safetensors") != readFile(t, out, "model.safetensors") {
				t.Error("the weights changed")
			}
			if readFile(t, dir, "config.json") != readFile(t, out, "config.json") {
				t.Error("the configuration changed")
			}
			if diff := cmp.Diff([]string{"config.json", "model.safetensors", "tokenizer.json"}, names(t,
				out)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSaveChanged changes one element of a slice, an optional tensor and a row of a part.
func TestSaveChanged(t *testing.T) {
	dev := device(t)
	tensors := tensorsOf(func(n string) string { return n })
	tensors = append(tensors, tensors[3])
	tensors[len(tensors)-1].Name = "lm_head.weight" // the tied copy
	dir := writeModel(t, fakeConfig, tensors)
	l, err := Open(dir, dev, []*Arch{fakeArch()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := map[string]*nn.Param{}
	for _, q := range l.Model.Params() {
		p[q.Name] = q
	}
	set := func(name string, at int, v float32) {
		values := make([]float32, p[name].Value.Len())
		if err := dev.Read(p[name].Value, values); err != nil {
			t.Fatal(err)
		}
		values[at] = v
		if err := dev.Write(p[name].Value, values); err != nil {
			t.Fatal(err)
		}
	}
	set("experts", 24+12+5, 0.5) // expert 1, w2, row 1, column 1
	set("model.bias", 2, 3)
	set("model.embed", 7, -2)
	set("model.conv", 4+1, 0.25)                                   // [3 4] row 1 column 1 = [4 3] row 1 column 1
	if err := l.Save(dir, SaveOptions{MaxShard: 60}); err != nil { // over itself, sharded
		t.Fatal(err)
	}
	before := writeModel(t, fakeConfig, tensors)
	old, err := safetensors.Open(before)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	now, err := safetensors.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	got := map[string]string{}
	for _, n := range now.Names() {
		info, _ := now.Info(n)
		b, _ := now.Raw(n)
		a, err := old.Raw(n)
		if err != nil {
			got[n] = "new " + string(info.DType)
			continue
		}
		size := max(info.DType.Bits()/8, 1)
		for i := 0; i < len(a); i += size {
			if string(a[i:i+size]) != string(b[i:i+size]) {
				got[n] += fmt.Sprintf("%d:%x ", i/size, b[i:i+size])
			}
		}
	}
	want := map[string]string{"model.experts.1.w2": "5:003f ", "model.embed": "7:00c0 ",
		"lm_head.weight": "7:00c0 ",
		"model.bias":     "new F32", "model.conv": "4:0034 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestSaveErrors(t *testing.T) {
	dev := device(t)
	dir := writeModel(t, fakeConfig, tensorsOf(func(n string) string { return n }))
	l, err := Open(dir, dev, []*Arch{fakeArch()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	q := l.Model.Params()[1].Value
	if err := dev.Write(q, make([]float32, q.Len())); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	err = l.Save(out, SaveOptions{})
	want := out + "/model.safetensors: tensor \"model.qkv.weight\": tensor model.qkv.weight: " +
		"float32 values are not written as F8_E4M3 (F32, F64, F16 and BF16 are) (choose another type to save as)"
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
	if got := names(t, out); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
	if err := l.Save(out, SaveOptions{DType: safetensors.BF16}); err != nil {
		t.Fatal(err)
	}
	s, err := safetensors.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	types := map[string]string{}
	for _, n := range []string{"model.norm", "model.qkv.weight", "model.table", "vision.weight"} {
		i, _ := s.Info(n)
		types[n] = string(i.DType)
	}
	if diff := cmp.Diff(map[string]string{"model.norm": "BF16", "model.qkv.weight": "BF16",
		"model.table":   "I64",
		"vision.weight": "F4"}, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

// TestCreate: a created model can be saved and opened, and is the same for the same seed.
func TestCreate(t *testing.T) {
	dev := device(t)
	cfg, err := hfconfig.Parse("c",
		[]byte(`{"model_type": "fake_vl2", "text_config": {"hidden_size": 4, "dtype": "bfloat16"}}`))
	if err != nil {
		t.Fatal(err)
	}
	save := func(seed uint64, weights gpu.DType) string {
		l, err := Create(cfg, seed, dev, []*Arch{fakeArch()}, Options{Weights: weights})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		dir := t.TempDir()
		if err := l.Save(dir, SaveOptions{}); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a, b, c, d := save(1, gpu.F32), save(1, gpu.F32), save(2, gpu.F32), save(1, gpu.BF16)
	if readFile(t, a, "model.safetensors") != readFile(t, b, "model.safetensors") {
		t.Error("the same seed gave other weights")
	}
	if readFile(t, a, "model.safetensors") != readFile(t, d, "model.safetensors") {
		t.Error("the storage type changed the weights")
	}
	if readFile(t, a, "model.safetensors") == readFile(t, c, "model.safetensors") {
		t.Error("another seed gave the same weights")
	}
	l, err := Open(a, dev, []*Arch{fakeArch()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, _ := safetensors.Open(a)
	defer s.Close()
	got := map[string]string{}
	for _, n := range s.Names() {
		i, _ := s.Info(n)
		got[n] = fmt.Sprint(i.DType, " ", i.Shape)
	}
	want := map[string]string{"model.text.embed": "BF16 [5 4]", "model.text.qkv.weight": "BF16 [8 4]",
		"model.text.conv": "BF16 [4 3]", "model.text.norm": "BF16 [4]", "model.text.bias": "BF16 [4]",
		"model.text.table": "I32 [3]"}
	for e := range 4 {
		want[fmt.Sprintf("model.text.experts.%d.w%d", e/2, e%2+1)] = "BF16 [3 4]"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}
}

// TestAssemble: values and gradients come in the layout of the checkpoint, and Reload restores the values.
func TestAssemble(t *testing.T) {
	dev := device(t)
	dir := writeModel(t, fakeConfig, tensorsOf(func(n string) string { return n }))
	l, err := Open(dir, dev, []*Arch{fakeArch()}, Options{Train: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	set, err := safetensors.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	check := func(what string, value func(*nn.Param) gpu.Tensor, keep bool, want func(name string,
		v []float32)) {
		var seen []string
		err := l.Assemble(value, keep, func(name string, shape []int, got []float32) error {
			seen = append(seen, name)
			v := make([]float32, product(shape))
			if err := set.Float32(name, v); err != nil {
				return err
			}
			want(name, v)
			if diff := cmp.Diff(v, append([]float32(nil), got...)); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", what, name, diff)
			}
			return nil
		})
		if err != nil || len(seen) != 8 {
			t.Errorf("%s: %v, %v", what, seen, err)
		}
	}
	value := func(p *nn.Param) gpu.Tensor { return p.Value }
	check("values", value, true, func(string, []float32) {})
	check("gradients", func(p *nn.Param) gpu.Tensor { return p.Grad }, false, func(_ string,
		v []float32) {
		clear(v)
	})
	conv := l.Model.Params()[3].Value
	if err := dev.Write(conv, make([]float32, conv.Len())); err != nil {
		t.Fatal(err)
	}
	check("changed", value, true, func(name string, v []float32) {
		if name == "model.conv" {
			clear(v)
		}
	})
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	check("reloaded", value, true, func(string, []float32) {})
	l.src = nil
	err = l.Assemble(value, true, nil)
	if err == nil ||
		err.Error() != "a created model has no checkpoint to compare with: save and open it first" {
		t.Errorf("error is %v", err)
	}
	l.src = Safetensors(set)
}
