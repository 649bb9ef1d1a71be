package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/generated/kernels"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
	"github.com/vulcast/vulcast/runtime/verify"
)

// bigram is the smallest language model: logits = W e[token] + c. It is written by hand on the nn primitives, and its
// truth (bigramTruth) in float64, so that the whole way of `vulcast verify` is tested without a generated model.
type bigram struct {
	arch  *model.Arch
	table *nn.Param
	head  *nn.Linear
}

// Sizes of the model and its fixture.
const (
	bigV, bigD = 12, 8
	bigB, bigT = 2, 5
)

func bigramArch() *model.Arch {
	a := &model.Arch{Name: "bigram", ModelTypes: []string{"bigram"}}
	a.New = func(f *hfconfig.File) (model.Model, error) {
		V, D := f.Int("vocab_size"), f.Int("hidden_size")
		w := &nn.Param{Name: "head.weight", Shape: []int{V, D}}
		return &bigram{a, &nn.Param{Name: "embed", Shape: []int{V, D}, Disk: nn.Disk{Transposed: true}},
			&nn.Linear{Weight: w, Bias: &nn.Param{Name: "head.bias", Shape: []int{V}}}}, nil
	}
	return a
}

func (m *bigram) Arch() *model.Arch                        { return m.arch }
func (m *bigram) Params() []*nn.Param                      { return []*nn.Param{m.table, m.head.Bias, m.head.Weight} }
func (m *bigram) Linears() []*nn.Linear                    { return []*nn.Linear{m.head} }
func (m *bigram) Prepare(*gpu.Device, model.Options) error { return nil }
func (m *bigram) Encode(*nn.Recorder, *model.Inputs, model.State) {
}

func (m *bigram) Logits(r *nn.Recorder, in *model.Inputs) gpu.Tensor {
	return r.Linear(m.head, r.Embed(m.table, in.Dec.Tokens))
}

func (m *bigram) Loss(r *nn.Recorder, in *model.Inputs) gpu.Tensor {
	loss, _ := r.CrossEntropy(in.Dec, m.Logits(r, in).Reshape(-1, bigV), in.Dec.Labels.Reshape(-1))
	return loss
}

func (m *bigram) Train(r *nn.Recorder, in *model.Inputs) gpu.Tensor {
	e := r.Embed(m.table, in.Dec.Tokens)
	logits := r.Linear(m.head, e).Reshape(-1, bigV)
	labels := in.Dec.Labels.Reshape(-1)
	loss, lse := r.CrossEntropy(in.Dec, logits, labels)
	dlogits := r.CrossEntropyGrad(in.Dec, logits, labels, lse).Reshape(bigB, bigT, bigV)
	r.EmbedGrad(m.table, in.Dec.Tokens, r.LinearGrad(m.head, e, dlogits, gpu.Tensor{}))
	return loss
}

func (m *bigram) NewState(*gpu.Device, int, int) (model.State, error) { return noState{}, nil }

func (m *bigram) Step(r *nn.Recorder, in *model.Inputs, _ model.State) gpu.Tensor {
	return m.Logits(r, in)
}

type noState struct{}

func (noState) Bytes() int64 { return 0 }
func (noState) Reset() error { return nil }
func (noState) Release()     {}

// bigramTruth is the model in float64: e [V D], w [V D], c [V].
type bigramTruth struct{ e, w, c []float64 }

func newTruth() *bigramTruth {
	fill := func(n int, f float64) []float64 {
		v := make([]float64, n)
		for i := range v { // values that BF16 holds exactly
			v[i] = math.Round(64*math.Sin(f*float64(i+1))) / 64
		}
		return v
	}
	return &bigramTruth{fill(bigV*bigD, 1.3), fill(bigV*bigD, 2.1), fill(bigV, 0.7)}
}

func (m *bigramTruth) logits(token int) []float64 {
	out := append([]float64(nil), m.c...)
	for v := range out {
		for d := range bigD {
			out[v] += m.w[v*bigD+d] * m.e[token*bigD+d]
		}
	}
	return out
}

// train returns the loss and the gradients, in the order e, w, c.
func (m *bigramTruth) train(tokens, labels []int) (loss float64, grads [3][]float64) {
	grads = [3][]float64{make([]float64, bigV*bigD), make([]float64, bigV*bigD), make([]float64, bigV)}
	count := 0.0
	for _, l := range labels {
		if l >= 0 {
			count++
		}
	}
	for i, l := range labels {
		if l < 0 {
			continue
		}
		z := m.logits(tokens[i])
		sum := 0.0
		for _, v := range z {
			sum += math.Exp(v)
		}
		loss += (math.Log(sum) - z[l]) / count
		for v := range z {
			dz := math.Exp(z[v]) / sum / count
			if v == l {
				dz -= 1 / count
			}
			grads[2][v] += dz
			for d := range bigD {
				grads[1][v*bigD+d] += dz * m.e[tokens[i]*bigD+d]
				grads[0][tokens[i]*bigD+d] += dz * m.w[v*bigD+d]
			}
		}
	}
	return loss, grads
}

// descend trains for some steps and returns the loss before each.
func (m *bigramTruth) descend(tokens, labels []int, h nn.Hyper, steps int) (losses []float64) {
	params := [3][]float64{m.e, m.w, m.c}
	var first, second [3][]float64
	for i, p := range params {
		first[i], second[i] = make([]float64, len(p)), make([]float64, len(p))
	}
	for s := 1; s <= steps; s++ {
		loss, grads := m.train(tokens, labels)
		losses = append(losses, loss)
		norm := 0.0
		for _, g := range grads {
			for _, v := range g {
				norm += v * v
			}
		}
		scale := 1.0
		if norm = math.Sqrt(norm); h.MaxNorm > 0 && norm > h.MaxNorm {
			scale = h.MaxNorm / (norm + 1e-6)
		}
		for i, p := range params {
			for k := range p {
				g := grads[i][k] * scale
				first[i][k] = h.Beta1*first[i][k] + (1-h.Beta1)*g
				second[i][k] = h.Beta2*second[i][k] + (1-h.Beta2)*g*g
				mean := first[i][k] / (1 - math.Pow(h.Beta1, float64(s)))
				root := math.Sqrt(second[i][k] / (1 - math.Pow(h.Beta2, float64(s))))
				p[k] -= h.LR*h.Decay*p[k] + h.LR*mean/(root+h.Eps)
			}
		}
	}
	return losses
}

// tensors lists e (transposed, as the checkpoint has it), w and c.
func bigramTensors(t safetensors.DType, e, w, c []float64) []safetensors.Tensor {
	et := make([]float64, len(e))
	for v := range bigV {
		for d := range bigD {
			et[d*bigV+v] = e[v*bigD+d]
		}
	}
	return []safetensors.Tensor{floatTensor("embed", t, []int{bigD, bigV}, et),
		floatTensor("head.bias", t, []int{bigV}, c), floatTensor("head.weight", t, []int{bigV, bigD}, w)}
}

func floatTensor(name string, t safetensors.DType, shape []int, v []float64) safetensors.Tensor {
	var raw []byte
	for _, x := range v {
		switch t {
		case safetensors.F64:
			raw = append(raw, le(math.Float64bits(x), 8)...)
		case safetensors.BF16:
			raw = append(raw, le(uint64(safetensors.ToBF16(float32(x))), 2)...)
		default:
			raw = append(raw, le(uint64(math.Float32bits(float32(x))), 4)...)
		}
	}
	return safetensors.Tensor{Name: name, DType: t, Shape: shape, Body: safetensors.Bytes(raw)}
}

func intTensor(name string, shape []int, v []int) safetensors.Tensor {
	var raw []byte
	for _, x := range v {
		raw = append(raw, le(uint64(x), 8)...)
	}
	return safetensors.Tensor{Name: name, DType: safetensors.I64, Shape: shape, Body: safetensors.Bytes(raw)}
}

func le(v uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return b
}

// bigramFixture writes the fixture of bigramTruth.
func bigramFixture(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bigram", "tiny")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.json": fmt.Sprintf(`{"model_type":"bigram","vocab_size":%d,"hidden_size":%d}`, bigV, bigD),
		"meta.json": `{"model_type":"bigram","kind":"causal","hf_fp32_err":{"logits":4e-7,"left":4e-7,"loss":2e-7,` +
			`"grads":3e-8,"grad_scale":0.2,"adamw2":1.2e-7}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tokens, mask := []int{1, 2, 3, 4, 5, 6, 7, 8, 0, 0}, []int{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}
	ids, targets := make([]int, len(tokens)), make([]int, len(tokens)) // labels of the file, and shifted
	for i := range ids {
		ids[i], targets[i] = -100, -100
		if mask[i] == 1 {
			ids[i] = tokens[i]
		}
	}
	for i := range targets {
		if i%bigT < bigT-1 {
			targets[i] = ids[i+1]
		}
	}
	m := newTruth()
	save := func(base string, list ...safetensors.Tensor) {
		if _, err := safetensors.Write(dir, list, safetensors.Options{Base: base}); err != nil {
			t.Fatal(err)
		}
	}
	save("model", bigramTensors(safetensors.BF16, m.e, m.w, m.c)...)
	loss, g := m.train(tokens, targets)
	save("grads", bigramTensors(safetensors.F32, g[0], g[1], g[2])...)
	shape, D := []int{bigB, bigT}, safetensors.F64
	left, leftMask := []int{1, 2, 3, 4, 5, 0, 0, 6, 7, 8}, []int{1, 1, 1, 1, 1, 0, 0, 1, 1, 1}
	list := []safetensors.Tensor{intTensor("input_ids", shape, tokens), intTensor("attention_mask", shape, mask),
		intTensor("labels", shape, ids), intTensor("left.input_ids", shape, left),
		intTensor("left.attention_mask", shape, leftMask), floatTensor("loss", D, []int{1}, []float64{loss})}
	all := func(tokens []int) (out []float64) {
		for _, k := range tokens {
			out = append(out, m.logits(k)...)
		}
		return out
	}
	logits := []int{bigB, bigT, bigV}
	list = append(list, floatTensor("logits64", D, logits, all(tokens)),
		floatTensor("left.logits", safetensors.F32, logits, all(left)))
	prompt, gen, steps := []int{3, 1}, []int{}, []float64{}
	for at := 1; len(gen) < 3; at = gen[len(gen)-1] {
		z := m.logits(at)
		best := 0
		for v := range z {
			if z[v] > z[best] {
				best = v
			}
		}
		gen, steps = append(gen, best), append(steps, z...)
	}
	list = append(list, intTensor("gen.prompt", []int{1, 2}, prompt), intTensor("gen.ids", []int{1, 3}, gen),
		floatTensor("gen.logits", safetensors.F32, []int{1, 3, bigV}, steps))
	two, eight := newTruth(), newTruth()
	losses := two.descend(tokens, targets, nn.Hyper{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-3}, 2)
	last, _ := two.train(tokens, targets)
	list = append(list, floatTensor("adamw2.losses", D, []int{3}, append(losses, last)))
	save("adamw2", bigramTensors(safetensors.F32, two.e, two.w, two.c)...)
	losses = eight.descend(tokens, targets, nn.Hyper{LR: 3e-3, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 0.1, MaxNorm: 1}, 8)
	save("expect", append(list, floatTensor("train8.losses", D, []int{8}, losses))...)
	return dir
}

// TestVerifyBigram runs the whole command on the device.
func TestVerifyBigram(t *testing.T) {
	if dev, err := gpu.Open(gpu.Options{NoCache: true}); err != nil {
		t.Skipf("no Vulkan device: %v", err)
	} else {
		dev.Close()
	}
	dir := bigramFixture(t)
	a := &app{name: "vulcast", archs: []*model.Arch{bigramArch()}, kernels: &kernels.NN}
	out, errs, err := run(a, "verify", "--json", filepath.Dir(filepath.Dir(dir)))
	var res verify.Result
	if jerr := json.Unmarshal([]byte(out), &res); jerr != nil || err != nil || errs != "1 passed, 0 failed\n" {
		t.Fatalf("%v %v\n%s%s", err, jerr, out, errs)
	}
	for _, name := range verify.CheckNames() {
		c := res.Checks[name]
		if c == nil || !c.Pass || c.Skipped != "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, dtype := range []string{"bf16", "f16"} {
		if out, errs, err := run(a, "verify", "--dtype", dtype, dir); err != nil {
			t.Errorf("%s: %v\n%s%s", dtype, err, out, errs)
		}
	}
	small := t.TempDir()
	if _, errs, err = run(a, "verify", "--shrink", small, dir); err != nil {
		t.Fatal(err, errs)
	}
	out, errs, err = run(a, "verify", "-v", "--checks", "grads,adamw2", small)
	if err != nil || !strings.HasPrefix(out, "pass bigram/tiny") || !strings.Contains(errs, "head.weight") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
	// a checkpoint that does not fit its configuration fails, and so does the command
	meta := filepath.Join(small, "bigram", "tiny", "config.json")
	if err := os.WriteFile(meta, []byte(`{"model_type":"bigram","vocab_size":11,"hidden_size":8}`), 0o666); err != nil {
		t.Fatal(err)
	}
	out, errs, err = run(a, "verify", small)
	if err != errQuiet || !strings.HasPrefix(out, "FAIL bigram/tiny") || !strings.HasSuffix(errs, "0 passed, 1 failed\n") ||
		!strings.Contains(out, "tensor embed is [8 12], want [8 11]") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}
