package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

func TestConfigType(t *testing.T) {
	for _, tt := range []struct{ name, in, want, err string }{
		{"nothing", `{}`, "F32", ""}, {"new", `{"dtype": "bfloat16"}`, "BF16", ""},
		{"old", `{"torch_dtype": "float16"}`, "F16", ""}, {"f32", `{"dtype": "float32"}`, "F32", ""},
		{"other", `{"dtype": "int8"}`, "",
			`c: "dtype" is "int8", want float32, bfloat16 or float16 (or choose a type to save as)`},
	} {
		f, err := hfconfig.Parse("c", []byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := configType(f)
		if string(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %s, %v", tt.name, got, err)
		}
	}
}

// TestCreateConflict: two parameters give one tensor two shapes.
func TestCreateConflict(t *testing.T) {
	dev := device(t)
	a := &Arch{Name: "x", ModelTypes: []string{"x"}}
	a.New = func(*hfconfig.File) (Model, error) {
		part := func(name string, cols, from int) *nn.Param {
			return &nn.Param{Name: name, Shape: []int{2, cols},
				Disk: nn.Disk{Names: []string{"w"}, Part: nn.Part{From: from, To: from + 2}}}
		}
		return &fake{a, []*nn.Param{part("a", 3, 0), part("b", 4, 2)}}, nil
	}
	cfg, _ := hfconfig.Parse("c", []byte(`{"model_type": "x"}`))
	l, err := Create(cfg, 1, dev, []*Arch{a}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Save(t.TempDir(), SaveOptions{})
	if err == nil || err.Error() != "tensor w would be [4 3] for parameter a but [4 4] for b" {
		t.Errorf("error is %v", err)
	}
	if l.Untouched() != nil {
		t.Error("a created model has no untouched tensors")
	}
}

// TestSaveValue saves other tensors in the parameters' place, as an optimizer's precise copies.
func TestSaveValue(t *testing.T) {
	dev := device(t)
	dir := writeModel(t, fakeConfig, tensorsOf(func(n string) string { return n }))
	l, err := Open(dir, dev, []*Arch{fakeArch()}, Options{Weights: gpu.BF16})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	master, err := dev.Alloc(gpu.F32, 5, 4)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, 20)
	values[3] = 0.1
	if err := dev.Write(master, values); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	err = l.Save(out, SaveOptions{DType: safetensors.F32, Value: func(p *nn.Param) (v gpu.Tensor) {
		if p.Name == "model.embed" {
			v = master
		}
		return v
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := safetensors.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := make([]float32, 20)
	if err := s.Float32("model.embed", got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(values, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDescribe(t *testing.T) {
	cfg, _ := hfconfig.Parse("c", []byte(fakeConfig))
	m, err := Describe(cfg, []*Arch{fakeArch()})
	if err != nil {
		t.Fatal(err)
	}
	if got := WeightBytes(m.Params(), Options{Train: true}); got != 2*4*(20+16+16+12+48+4+4)+12 {
		t.Errorf("%d bytes", got)
	}
	bad, _ := hfconfig.Parse("c", []byte(`{"model_type": 3}`))
	if _, err := Describe(bad, nil); err == nil || err.Error() != `c: "model_type" is 3, want a string` {
		t.Errorf("error is %v", err)
	}
	kinds := Causal.String() + Masked.String() + Seq2Seq.String()
	if kinds != "causalmaskedseq2seq" {
		t.Error(kinds)
	}
}

// TestOutOfMemory: a device with too little memory refuses before anything is read.
func TestOutOfMemory(t *testing.T) {
	device(t)
	dev, err := gpu.Open(gpu.Options{NoCache: true, MaxMemory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	a := &Arch{Name: "x", ModelTypes: []string{"x"}}
	a.New = func(*hfconfig.File) (Model, error) {
		return &fake{a, []*nn.Param{{Name: "big", Shape: []int{1 << 10, 1 << 12}}}}, nil
	}
	cfg, _ := hfconfig.Parse("c", []byte(`{"model_type": "x"}`))
	_, err = Create(cfg, 1, dev, []*Arch{a}, Options{})
	if err == nil || !strings.Contains(err.Error(), "big") || !strings.Contains(err.Error(), "16.0 MiB") {
		t.Errorf("error is %v", err)
	}
}

func TestDecoder(t *testing.T) {
	enc := &nn.Batch{B: 2}
	in := &Inputs{Dec: &nn.Batch{B: 1}, Enc: enc}
	if b := in.Decoder(); b.Enc != enc || b.B != 1 || in.Dec.Enc != nil {
		t.Errorf("%+v", b)
	}
	if b := (&Inputs{Enc: enc}).Decoder(); b.Enc != enc {
		t.Errorf("%+v", b)
	}
}
