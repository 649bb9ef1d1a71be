package traintest

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/vulcast/vulcast/generated"
	"github.com/vulcast/vulcast/generated/kernels"
	"github.com/vulcast/vulcast/runtime/adapter"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// Golden runs are ten AdamW steps (learning rate 1e-2, betas 0.9 and 0.999, no decay) of PEFT 0.21.2 on PyTorch in float32, from
// start/ to end/, on the batch of a fixture.
const (
	loraLossBound = 1e-5 // relative
	loraStepBound = 1e-5 // of an element
)

func TestLoRAGoldens(t *testing.T) {
	dirs, err := filepath.Glob("testdata/lora/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { loraGolden(t, dir) })
	}
}

func loraGolden(t *testing.T, dir string) {
	dev := device(t)
	var want struct {
		Fixture string
		Losses  []float64
	}
	text, err := os.ReadFile(filepath.Join(dir, "losses.json"))
	if err = errors.Join(err, json.Unmarshal(text, &want)); err != nil {
		t.Fatal(err)
	}
	fixture := filepath.Join("../cli/testdata/fixtures", want.Fixture, "tiny")
	l, set := openAdapted(t, dev, fixture, filepath.Join(dir, "start"))
	for _, p := range l.Model.Params() {
		if p.Grad.Valid() {
			t.Fatalf("%s has a gradient", p.Name)
		}
	}
	in := fixtureInputs(t, l, fixture)
	for i, loss := range loraSteps(t, l, in, len(want.Losses)) {
		if e := math.Abs(loss-want.Losses[i]) / want.Losses[i]; !(e <= loraLossBound) {
			t.Errorf("step %d: loss %.7f, want %.7f", i, loss, want.Losses[i])
		}
	}
	saved := t.TempDir()
	if err := set.Save(dev, saved); err != nil {
		t.Fatal(err)
	}
	sameTensors(t, saved, filepath.Join(dir, "end"), loraStepBound)
	if c, err := adapter.Read(saved); err != nil || c.Rank != set.Config.Rank {
		t.Errorf("the saved configuration: %+v, %v", c, err)
	}
}

// openAdapted opens a model with an adapter to train.
func openAdapted(t *testing.T, dev *gpu.Device, fixture, dir string) (*model.Loaded, *adapter.Set) {
	t.Helper()
	c, err := adapter.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var set *adapter.Set
	l, err := model.Open(fixture, dev, generated.All(), model.Options{Train: true, Kernels: &kernels.NN, Adjust: func(m model.Model) error {
		set, err = adapter.Attach(m, c, 0, true)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := set.Load(dev, dir); err != nil {
		t.Fatal(err)
	}
	return l, set
}

// fixtureInputs are a fixture's batch.
func fixtureInputs(t *testing.T, l *model.Loaded, fixture string) *model.Inputs {
	t.Helper()
	expect, err := safetensors.Open(filepath.Join(fixture, "expect.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer expect.Close()
	ints := func(name string) ([]int32, []int) {
		info, ok := expect.Info(name)
		if !ok {
			return nil, nil
		}
		raw, err := expect.Raw(name)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]int32, info.Len())
		for i := range out {
			at := raw[i*len(raw)/len(out):]
			out[i] = int32(uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16 | uint32(at[3])<<24)
		}
		return out, info.Shape
	}
	ids, shape := ints("input_ids")
	mask, _ := ints("attention_mask")
	labels, labelShape := ints("labels")
	rows := model.RowsOf(shape[0], shape[1], ids, mask, false)
	in, dec := &model.Inputs{}, rows
	kind := l.Arch.Kind
	if kind == model.Seq2Seq {
		ids, _ := ints("decoder_input_ids")
		dec = model.RowsOf(labelShape[0], labelShape[1], ids, nil, false)
		if in.Enc, err = model.NewBatch(l.Dev, rows, false); err != nil {
			t.Fatal(err)
		}
	}
	dec.SetLabels(labels, kind == model.Causal)
	if in.Dec, err = model.NewBatch(l.Dev, dec, false); err != nil {
		t.Fatal(err)
	}
	return in
}

// loraSteps trains the adapters and returns the loss before each step.
func loraSteps(t *testing.T, l *model.Loaded, in *model.Inputs, steps int) (losses []float64) {
	t.Helper()
	var params []*nn.Param
	var moments []nn.Moments
	alloc := func(shape ...int) gpu.Tensor {
		x, err := l.Dev.Alloc(gpu.F32, shape...)
		if err = errors.Join(err, l.Dev.Write(x, make([]float32, x.Len()))); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, p := range model.AllParams(l.Model) {
		if p.Grad.Valid() {
			params = append(params, p)
			moments = append(moments, nn.Moments{M: alloc(p.Shape...), V: alloc(p.Shape...)})
		}
	}
	hyper := alloc(nn.HyperWords)
	r := l.NewRecorder()
	tokens := l.Model.Train(r, in)
	r.AdamW(params, moments, hyper, gpu.Tensor{})
	rec, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	out := make([]float32, tokens.Len())
	for i := range steps {
		h := nn.Hyper{LR: 1e-2, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: i + 1}
		if err := errors.Join(l.Dev.Write(hyper, h.Words()), rec.Run(), l.Dev.Read(tokens, out)); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, v := range out {
			sum += float64(v)
		}
		losses = append(losses, sum)
	}
	return losses
}

// sameTensors wants two adapters to have the same tensors.
func sameTensors(t *testing.T, found, wanted string, bound float64) {
	t.Helper()
	var sets [2]*safetensors.Set
	for i, dir := range []string{found, wanted} {
		s, err := safetensors.Open(filepath.Join(dir, "adapter_model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sets[i] = s
	}
	if a, b := len(sets[0].Names()), len(sets[1].Names()); a != b {
		t.Errorf("%d tensors, want %d", a, b)
	}
	worst := 0.0
	for _, name := range sets[1].Names() {
		info, _ := sets[1].Info(name)
		a, b := make([]float32, info.Len()), make([]float32, info.Len())
		if err := errors.Join(sets[0].Float32(name, a), sets[1].Float32(name, b)); err != nil {
			t.Fatal(err)
		}
		for i := range a {
			worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
		}
	}
	t.Logf("largest difference of an element: %.2g", worst)
	if !(worst <= bound) {
		t.Errorf("an element differs by %g, want at most %g", worst, bound)
	}
}

// TestMerge: a merged package has the loss of base and adapter.
func TestMerge(t *testing.T) {
	dev := device(t)
	for _, name := range []string{"llama-rslora", "gpt2"} {
		fixture, dir := filepath.Join("../cli/testdata/fixtures", map[bool]string{true: "gpt2", false: "llama"}[name == "gpt2"], "tiny"),
			filepath.Join("testdata/lora", name, "end")
		l, set := openAdapted(t, dev, fixture, dir)
		want := loraSteps(t, l, fixtureInputs(t, l, fixture), 1)[0]
		if err := errors.Join(set.Load(dev, dir), set.Merge(dev)); err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		if err := l.Save(out, model.SaveOptions{DType: safetensors.F32}); err != nil {
			t.Fatal(err)
		}
		merged, err := model.Open(out, dev, generated.All(), model.Options{Train: true, Kernels: &kernels.NN})
		if err != nil {
			t.Fatal(err)
		}
		got := loraSteps(t, merged, fixtureInputs(t, merged, fixture), 1)[0]
		if err := merged.Close(); err != nil {
			t.Error(err)
		}
		if e := math.Abs(got-want) / want; !(e <= 1e-6) {
			t.Errorf("%s: loss of the merged model %.7f, want %.7f", name, got, want)
		}
	}
}
