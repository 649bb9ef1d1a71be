package model

import (
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

func TestOpenErrors(t *testing.T) {
	dev := device(t)
	with := func(change func([]safetensors.Tensor) []safetensors.Tensor) []safetensors.Tensor {
		return change(tensorsOf(func(n string) string { return n }))
	}
	all := with(func(l []safetensors.Tensor) []safetensors.Tensor { return l })
	other := fakeArch()
	other.Name = "other"
	clash := fakeArch()
	clash.New = func(*hfconfig.File) (Model, error) {
		return &fake{clash, []*nn.Param{{Name: "a", Shape: []int{5, 4},
			Disk: nn.Disk{Names: []string{"model.embed"}}},
			{Name: "b", Shape: []int{5, 4}, Disk: nn.Disk{Names: []string{"model.embed"}}}}}, nil
	}
	twins := fakeArch()
	twins.New = func(*hfconfig.File) (Model, error) {
		return &fake{twins, []*nn.Param{{Name: "a"},
			{Name: "a"}}}, nil
	}
	tests := []struct {
		name    string
		config  string
		tensors []safetensors.Tensor
		archs   []*Arch
		want    string
	}{
		{"no type", `{}`, all, nil, `DIR/config.json: "model_type" is missing, want a string`},
		{"unknown", `{"model_type":"xyz"}`, all, nil,
			"DIR/config.json: model_type \"xyz\" is no known architecture " +
				"(4 are; `vulcast archs` lists them)"},
		{"near", `{"model_type":"fakest"}`, all, nil,
			"DIR/config.json: model_type \"fakest\" is no known architecture " +
				"(near: fake, fake_alias, fake_vl, fake_vl2)"},
		{"two archs", fakeConfig, all, []*Arch{fakeArch(), other},
			`DIR/config.json: model_type "fake" belongs to fake and to other`},
		{"config", `{"model_type":"fake"}`, all, nil,
			`model_type "fake": DIR/config.json: "hidden_size" is missing, want a whole number`},
		{"twins", fakeConfig, all, []*Arch{twins}, "architecture fake: two parameters are named a"},
		{"claimed twice", fakeConfig, all, []*Arch{clash},
			"DIR/model.safetensors: 1 of the model's tensors do not fit:\n" +
				"  tensor model.embed is claimed by parameters a and b"},
		{"all at once", fakeConfig, with(func(l []safetensors.Tensor) []safetensors.Tensor {
			l[0].DType, l[0].Shape = safetensors.U8, []int{24}       // table
			l[1].DType, l[1].Shape = safetensors.I64, []int{4}       // norm
			l[3].DType, l[3].Shape = safetensors.BF16, []int{4, 5}   // embed
			l[4].Name, l[5].Name = "model.embed.weight", "model.bia" // experts
			return l
		}), nil, "DIR/model.safetensors: 5 of the model's tensors do not fit:\n" +
			"  tensor model.embed is [4 5], want [5 4]\n" +
			"  tensor model.experts.0.w1 is missing, want [3 4]\n" +
			"  tensor model.experts.0.w2 is missing, want [3 4]\n" +
			"  tensor model.norm has type I64, want a floating-point type\n" +
			"  tensor model.table is [24], want [3]"},
		{"spellings differ", fakeConfig, with(func(l []safetensors.Tensor) []safetensors.Tensor {
			return append(l, safetensors.Tensor{Name: "lm_head.weight", DType: safetensors.BF16,
				Shape: []int{5, 4},
				Body:  safetensors.Bytes(make([]byte, 40))})
		}), nil, "DIR/model.safetensors: 1 of the model's tensors do not fit:\n" +
			"  tensors model.embed and lm_head.weight are two spellings of one parameter but differ"},
		{"scales", fakeConfig, with(func(l []safetensors.Tensor) []safetensors.Tensor {
			return append(l, safetensors.Tensor{Name: "model.qkv.weight_scale_inv", DType: safetensors.F32,
				Shape: []int{1}, Body: safetensors.Bytes(make([]byte, 4))})
		}), nil, "DIR/model.safetensors: 1 of the model's tensors do not fit:\n" +
			"  tensor model.qkv.weight is F8_E4M3 with scales in model.qkv.weight_scale_inv, which are not applied: use a " +
			"checkpoint in BF16, F16 or F32"},
		{"index type", fakeConfig, with(func(l []safetensors.Tensor) []safetensors.Tensor {
			l[0].DType = safetensors.F64
			return l
		}), nil, "DIR/model.safetensors: 1 of the model's tensors do not fit:\n" +
			"  tensor model.table has type F64, want an integer type"},
		{"integers too large", fakeConfig, with(func(l []safetensors.Tensor) []safetensors.Tensor {
			l[0].Body = safetensors.Bytes([]byte("........................"))
			return l
		}), nil, "DIR/model.safetensors: tensor model.table: element 0 of an integer table does not fit 32 bits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeModel(t, tt.config, tt.tensors)
			archs := tt.archs
			if archs == nil {
				archs = []*Arch{fakeArch()}
			}
			_, err := Open(dir, dev, archs, Options{})
			if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != tt.want {
				t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), dev, nil, Options{})
	if !os.IsNotExist(err) {
		t.Errorf("error is %v", err)
	}
}

func TestSpellings(t *testing.T) {
	r := &resolved{rename: []Rename{{"model.", "language_model.model."}, {"model.", "model.text."},
		{".q_proj.", ".to_q."}}}
	for _, tt := range []struct {
		name string
		in   []string
		want []string
	}{
		{"renamed", []string{"model.a"}, []string{"language_model.model.a", "model.text.a"}},
		{"kept", []string{"lm_head"}, []string{"lm_head"}},
		{"tied", []string{"model.a", "lm_head"}, []string{"language_model.model.a", "model.text.a", "lm_head"}},
		{"inside", []string{"model.0.q_proj.weight", "x.q_proj.bias"}, []string{"language_model.model.0.to_q.weight",
			"model.text.0.to_q.weight", "x.to_q.bias"}},
		{"once", []string{"model.a", "model.a"}, []string{"language_model.model.a", "model.text.a"}},
	} {
		if diff := cmp.Diff(tt.want, r.spellings(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCheckMemory(t *testing.T) {
	params := []*nn.Param{{Name: "small", Shape: []int{4}}, {Name: "big", Shape: []int{1 << 20, 1 << 10}},
		{Name: "mid", Shape: []int{1 << 10, 1 << 10}, Frozen: true}, {Name: "mid2", Shape: []int{1 << 10,
			1 << 10}}}
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"f32", Options{},
			"the weights take 4.01 GiB but the device has 1.0 MiB free; largest: big [1048576 1024] 4.00 GiB, " +
				"mid [1024 1024] 4.0 MiB, mid2 [1024 1024] 4.0 MiB; store weights as BF16 or F16, or use a larger device"},
		{"train bf16", Options{Weights: gpu.BF16, Train: true},
			"the weights and gradients take 6.01 GiB but the device has " +
				"1.0 MiB free; largest: big [1048576 1024] 6.00 GiB, mid2 [1024 1024] 6.0 MiB, mid [1024 1024] 2.0 MiB; " +
				"freeze parameters (train adapters), or use a larger device"},
		{"bf16", Options{Weights: gpu.BF16},
			"the weights take 2.00 GiB but the device has 1.0 MiB free; largest: " +
				"big [1048576 1024] 2.00 GiB, mid [1024 1024] 2.0 MiB, mid2 [1024 1024] 2.0 MiB; use a larger device"},
	} {
		if err := checkMemory(params, tt.o, 1<<20); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error is\n%v\nwant\n%s", tt.name, err, tt.want)
		}
		if err := checkMemory(params, tt.o, 1<<40); err != nil {
			t.Error(err)
		}
	}
	if got := bytesText(512); got != "0.5 KiB" {
		t.Error(got)
	}
}

func TestRows(t *testing.T) {
	r := RowsOf(2, 3, []int32{1, 2, 3, 4, 5, 6}, []int32{1, 1, 0, 0, 1, 1}, true)
	r.SetLabels([]int32{7, 8, -100, -100, 9, 10}, true)
	want := Rows{B: 2, T: 3, S: 3, Tokens: []int32{1, 2, 3, 4, 5, 6}, Pos: []int32{0, 1, 1, 0, 0, 1},
		Seg: []int32{1, 1, 0, 0, 1, 1}, Labels: []int32{8, -100, -100, 9, 10,
			-100}, LossScale: float32(1) / 3}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	q := RowsOf(1, 3, []int32{1, 2, 3}, nil, false)
	q.SetLabels([]int32{-100, -100, -100}, false)
	if diff := cmp.Diff([]int32{0, 1, 2}, q.Pos); diff != "" || q.LossScale != 0 {
		t.Errorf("scale %g, positions (-want +got):\n%s", q.LossScale, diff)
	}
}

func TestBatch(t *testing.T) {
	dev := device(t)
	r := RowsOf(1, 2, []int32{3, 4}, nil, false)
	r.SetLabels([]int32{1, 2}, false)
	b, err := NewBatch(dev, r, true)
	if err != nil {
		t.Fatal(err)
	}
	var keys [2]int32
	if err := dev.Read(b.KeySeg, keys[:]); err != nil || keys != [2]int32{1, 1} {
		t.Errorf("keys %v, %v", keys, err)
	}
	err = FillBatch(dev, b, RowsOf(1, 3, nil, nil, false))
	if err == nil || err.Error() != "rows are 1 x 3 over 3 keys, the batch is 1 x 2 over 2" {
		t.Errorf("error is %v", err)
	}
	r.Tokens = nil
	if err := FillBatch(dev, b, r); err == nil || !strings.HasPrefix(err.Error(), "tokens of the batch: ") {
		t.Errorf("error is %v", err)
	}
	if err := ReleaseBatch(dev, b); err != nil {
		t.Error(err)
	}
}

// quantized is a source with a type that safetensors does not know.
type quantized struct{ TensorSource }

func (q quantized) Info(name string) (TensorInfo, bool) {
	i, ok := q.TensorSource.Info(name)
	if name == "model.embed" || name == "vision.weight" {
		i.Type = "Q9"
	}
	return i, ok
}

func TestQuantizedSource(t *testing.T) {
	dev := device(t)
	dir := writeModel(t, fakeConfig, tensorsOf(func(n string) string { return n }))
	set, err := safetensors.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg, _ := hfconfig.Load(dir)
	l, err := OpenSource(cfg, quantized{Safetensors(set)}, dev, []*Arch{fakeArch()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Save(t.TempDir(), SaveOptions{})
	if err == nil ||
		err.Error() != "tensor model.embed has type Q9, which safetensors cannot hold: choose a type to save as" {
		t.Errorf("error is %v", err)
	}
	err = l.Save(t.TempDir(), SaveOptions{DType: safetensors.F16})
	if err == nil ||
		err.Error() != "tensor vision.weight has type Q9, which safetensors cannot hold, and is not part of "+
			"the model, so it cannot be converted" {
		t.Errorf("error is %v", err)
	}
	for _, tt := range l.covering()["model.embed"] {
		var out strings.Builder
		if err := l.writeCovered(&out, TensorInfo{"model.embed", "Q9", []int{5, 4}}, []binding{tt},
			safetensors.BF16, SaveOptions{}); err != nil {
			t.Fatal(err)
		}
		raw, _ := set.Raw("model.embed")
		if out.String() != string(raw) {
			t.Error("values changed")
		}
	}
}
