package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// An attentionCase is one set of shapes and options.
type attentionCase struct {
	name                      string
	B, T, S, H, K, E, V, base int
	causal                    bool
	window                    int
	softcap                   float64
	bias                      int // batches of the bias; 0: none
	sinks, slopes, segs       bool
	storage                   gpu.DType
	dropout                   float64
	family                    string
}

var attentionCases = []attentionCase{
	{name: "causal", B: 2, T: 17, S: 17, H: 3, K: 3, E: 16, V: 16, causal: true},
	{name: "grouped", B: 2, T: 33, S: 33, H: 9, K: 3, E: 64, V: 64, causal: true, segs: true},
	{name: "one key head", B: 1, T: 21, S: 21, H: 7, K: 1, E: 8, V: 8, causal: true},
	{name: "width 1", B: 2, T: 9, S: 9, H: 2, K: 1, E: 1, V: 1, causal: true},
	{name: "odd widths", B: 2, T: 13, S: 13, H: 4, K: 2, E: 7, V: 5, segs: true},
	{name: "wide value", B: 1, T: 19, S: 19, H: 2, K: 2, E: 24, V: 96, causal: true},
	{name: "wide key", B: 1, T: 19, S: 19, H: 4, K: 2, E: 192, V: 128, causal: true},
	{name: "width 256", B: 1, T: 70, S: 70, H: 2, K: 1, E: 256, V: 256, causal: true},
	{name: "width 512", B: 1, T: 40, S: 40, H: 1, K: 1, E: 512, V: 512, causal: true},
	{name: "width 576 to 512", B: 1, T: 12, S: 12, H: 4, K: 1, E: 576, V: 512, causal: true},
	{name: "bidirectional", B: 2, T: 40, S: 40, H: 2, K: 2, E: 32, V: 32, segs: true},
	{name: "window", B: 2, T: 150, S: 150, H: 2, K: 1, E: 16, V: 16, causal: true, window: 11},
	{name: "window both sides", B: 1, T: 90, S: 90, H: 2, K: 2, E: 16, V: 16, window: 7, segs: true},
	{name: "softcap", B: 1, T: 30, S: 30, H: 4, K: 2, E: 32, V: 32, causal: true, softcap: 3},
	{
		name:   "sinks",
		B:      2,
		T:      30,
		S:      30,
		H:      4,
		K:      2,
		E:      32,
		V:      32,
		causal: true,
		window: 8,
		sinks:  true,
		segs:   true,
	},
	{name: "shared bias", B: 3, T: 14, S: 14, H: 2, K: 2, E: 16, V: 16, bias: 1},
	{name: "batch bias", B: 2, T: 14, S: 14, H: 4, K: 2, E: 16, V: 16, bias: 2, causal: true},
	{name: "alibi", B: 2, T: 70, S: 70, H: 4, K: 4, E: 16, V: 16, slopes: true, causal: true, segs: true},
	{name: "cross", B: 2, T: 11, S: 75, H: 4, K: 4, E: 16, V: 16, segs: true},
	{name: "cross bias", B: 2, T: 75, S: 11, H: 4, K: 4, E: 16, V: 16, segs: true, bias: 1},
	{name: "decode", B: 2, T: 1, S: 300, H: 6, K: 2, E: 64, V: 64, base: 257, causal: true, segs: true},
	{
		name:   "decode window sinks",
		B:      1,
		T:      3,
		S:      500,
		H:      4,
		K:      1,
		E:      32,
		V:      32,
		base:   401,
		causal: true,
		window: 100,
		sinks:  true,
	},
	{name: "long", B: 1, T: 300, S: 300, H: 3, K: 1, E: 64, V: 64, causal: true, segs: true},
	{name: "dropout", B: 2, T: 37, S: 37, H: 4, K: 2, E: 16, V: 16, causal: true, segs: true, dropout: 0.3},
	{
		name:    "dropout window wide",
		B:       2,
		T:       37,
		S:       37,
		H:       2,
		K:       2,
		E:       96,
		V:       96,
		causal:  true,
		window:  10,
		dropout: 0.1,
	},
	{name: "dropout widest", B: 1, T: 19, S: 19, H: 2, K: 1, E: 160, V: 160, dropout: 0.1, bias: 1},
	{
		name:    "bf16",
		B:       2,
		T:       33,
		S:       33,
		H:       4,
		K:       2,
		E:       32,
		V:       32,
		causal:  true,
		segs:    true,
		storage: gpu.BF16,
	},
}

// inputs makes the arrays and the batch of a case.
func (c attentionCase) inputs() *refrun.Call {
	r := rand.New(rand.NewPCG(7, uint64(c.T*1000+c.E)))
	in := []*refrun.Array{
		normals(r, c.B, c.T, c.H, c.E),
		normals(r, c.B, c.S, c.K, c.E),
		normals(r, c.B, c.S, c.K, c.V),
		nil,
		nil,
		nil,
		normals(r, c.B, c.T, c.H, c.V),
	}
	if c.bias > 0 {
		in[3] = normals(r, c.bias, c.H, c.T, c.S)
	}
	if c.sinks {
		in[4] = normals(r, c.H)
	}
	if c.slopes {
		in[5] = normals(r, c.H)
		for i := range in[5].Data {
			in[5].Data[i] = math.Abs(in[5].Data[i])
		}
	}
	b := &refrun.Batch{B: c.B, T: c.T, S: c.S, Base: c.base}
	if c.segs {
		b.Seg, b.KeySeg = segments(c.B, c.T), segments(c.B, c.S)
	}
	scale := float64(float32(1 / math.Sqrt(float64(c.E))))
	return &refrun.Call{
		In:    in,
		Batch: b,
		Attr: map[string]any{"scale": scale, "softcap": c.softcap, "causal": c.causal, "window": c.window,
			"dropout": c.dropout, "seed0": 12, "seed1": 34, "key": 56},
	}
}

// segments packs two sequences in every row and pads the last fifth of odd rows.
func segments(rows, n int) []int {
	seg := make([]int, rows*n)
	for i := range seg {
		b, t := i/n, i%n
		seg[i] = 1 + t/(n/2+1)
		if b%2 == 1 && t >= n-n/5 {
			seg[i] = 0
		}
	}
	return seg
}

// runAttention returns y, lse and, unless forward only, dq, dk, dv, dbias, dsinks from the device.
func runAttention(t *testing.T, c attentionCase, call *refrun.Call, forward bool) [][]float64 {
	d := device(t)
	x := make([]gpu.Tensor, 7)
	for i, a := range call.In {
		typ := c.storage
		if i >= 3 && i <= 5 {
			typ = gpu.F32
		}
		x[i] = upload(t, d, typ, a)
	}
	b := &nn.Batch{
		B:      c.B,
		T:      c.T,
		S:      c.S,
		Seg:    uploadInts(t, d, call.Batch.Seg, c.B, c.T),
		KeySeg: uploadInts(t, d, call.Batch.KeySeg, c.B, c.S),
	}
	if c.base > 0 {
		b.Base = uploadWords(t, d, uint32(c.base))
	}
	a := nn.AttentionAttrs{
		Scale:   float32(call.Attr["scale"].(float64)),
		Causal:  c.causal,
		Window:  c.window,
		Softcap: float32(c.softcap),
		Slopes:  x[5],
		Dropout: float32(c.dropout),
		Key:     56,
	}
	r := recorder(d, c.storage)
	r.Training, r.Seed, r.Family = true, uploadWords(t, d, 12, 34), c.family
	y, lse := r.Attention(b, b, x[0], x[1], x[2], x[3], x[4], a)
	outs := []gpu.Tensor{y, lse}
	if !forward {
		dq, dk, dv, dbias, dsinks := r.AttentionGrad(b, b, x[0], x[1], x[2], x[3], x[4], y, lse, x[6], a)
		outs = append(outs, dq, dk, dv, dbias, dsinks)
	}
	run(t, r)
	var got [][]float64
	for _, o := range outs {
		if o.Valid() {
			got = append(got, download(t, d, o))
		} else {
			got = append(got, nil)
		}
	}
	return got
}

func TestAttention(t *testing.T) { testAttention(t) }

// TestAttentionTile runs the GPU kernels on every device.
func TestAttentionTile(t *testing.T) {
	d := device(t)
	if !d.Info.IsCPU {
		t.Skip("TestAttention has run these kernels")
	}
	if testing.Short() {
		t.Skip("slow to compile on CPU drivers")
	}
	d.Info.IsCPU = false
	defer func() { d.Info.IsCPU = true }()
	testAttention(t)
}

func testAttention(t *testing.T) {
	for _, c := range attentionCases {
		t.Run(c.name, func(t *testing.T) { checkAttention(t, c) })
	}
}

// checkAttention compares all results of a case with the reference.
func checkAttention(t *testing.T, c attentionCase) {
	t.Helper()
	call := c.inputs()
	got := runAttention(t, c, call, false)
	want, err := refrun.Kernels()["attention"](call)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := refrun.Kernels()["attention_grad"](call)
	if err != nil {
		t.Fatal(err)
	}
	tol := 4e-6
	if c.storage != gpu.F32 {
		tol = 1e-2
	}
	report := ""
	for i, name := range []string{"y", "lse", "dq", "dk", "dv", "dbias", "dsinks"} {
		w := append(want, grads...)[i]
		if w == nil {
			continue
		}
		if got[i] == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		report += fmt.Sprintf(" %s %.1e", name, near(t, name, got[i], w, tol))
	}
	t.Log(report)
}

// TestAttentionChunks makes one binding reach too little for the whole batch, and compares bit by bit with
// the whole.
func TestAttentionChunks(t *testing.T) {
	d := device(t)
	c := attentionCase{
		name:    "chunks",
		B:       5,
		T:       64,
		S:       64,
		H:       4,
		K:       2,
		E:       16,
		V:       16,
		causal:  true,
		segs:    true,
		bias:    1,
		dropout: 0.2,
	}
	whole := runAttention(t, c, c.inputs(), false)
	again := runAttention(t, c, c.inputs(), false)
	limit := d.Info.MaxStorageBufferRange
	defer func() { d.Info.MaxStorageBufferRange = limit }()
	c.bias = 0
	plain := runAttention(t, c, c.inputs(), false)
	d.Info.MaxStorageBufferRange = 2 * 64 * 4 * 16 * 4 // two rows of the batch
	parts := runAttention(t, c, c.inputs(), false)
	for i := range whole {
		if d := cmp.Diff(whole[i], again[i]); d != "" {
			t.Errorf("result %d differs from run to run: %s", i, d)
		}
		if d := cmp.Diff(plain[i], parts[i]); d != "" {
			t.Errorf("result %d in chunks differs: %s", i, d)
		}
	}
}

func TestAttentionErrors(t *testing.T) {
	d := device(t)
	alloc := func(typ gpu.DType, dims ...int) gpu.Tensor {
		return upload(t, d, typ, normals(rand.New(rand.NewPCG(1, 1)), dims...))
	}
	q, k := alloc(gpu.F32, 1, 4, 4, 8), alloc(gpu.F32, 1, 4, 2, 8)
	for _, c := range []struct {
		name          string
		q, k, v, bias gpu.Tensor
		a             nn.AttentionAttrs
		want          string
	}{
		{"heads", q, alloc(gpu.F32, 1, 4, 3, 8), alloc(gpu.F32, 1, 4, 3, 8), gpu.Tensor{}, nn.AttentionAttrs{}, "K dividing H"},
		{"value length", q, k, alloc(gpu.F32, 1, 5, 2, 8), gpu.Tensor{}, nn.AttentionAttrs{}, "v is F32[1 5 2 8], want shape [1 4 2 8]"},
		{"bias shape", q, k, k, alloc(gpu.F32, 1, 2, 4, 4), nn.AttentionAttrs{}, "bias is"},
		{"odd 16-bit width", alloc(gpu.BF16, 1, 4, 4, 6), alloc(gpu.BF16, 1, 4, 2, 6), alloc(gpu.BF16, 1, 4, 2, 6), gpu.Tensor{},
			nn.AttentionAttrs{}, "multiples of 4"},
		{"dropout without seed", q, k, k, gpu.Tensor{}, nn.AttentionAttrs{Dropout: 0.1}, "needs Recorder.Seed"},
		{"dropout of all", q, k, k, gpu.Tensor{}, nn.AttentionAttrs{Dropout: 1}, "less than 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recorder(d, gpu.F32)
			r.Training = true
			b := &nn.Batch{B: 1, T: 4, S: 4}
			r.Attention(b, b, c.q, c.k, c.v, c.bias, gpu.Tensor{}, c.a)
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
