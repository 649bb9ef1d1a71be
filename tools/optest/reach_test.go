package optest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// shortReach makes the device's bindings reach only n bytes for the rest of the test.
func shortReach(t *testing.T, d *gpu.Device, n int64) {
	if d.Info.MinOffsetAlign > 16 {
		t.Skipf("pieces of these small odd rows cannot begin at multiples of %d bytes", d.Info.MinOffsetAlign)
	}
	keep := d.Info.MaxStorageBufferRange
	d.Info.MaxStorageBufferRange = n
	t.Cleanup(func() { d.Info.MaxStorageBufferRange = keep })
}

// TestReachLinear runs a layer whose every operand is larger than one binding reaches.
func TestReachLinear(t *testing.T) {
	d := device(t)
	for _, act := range []gpu.DType{gpu.F32, gpu.BF16} {
		t.Run(act.String(), func(t *testing.T) {
			const rows, in, out = 300, 64, 514
			rnd := rand.New(rand.NewPCG(31, 1))
			arrays := []*refrun.Array{normals(rnd, rows, in), normals(rnd, out, in), normals(rnd, out), normals(rnd, rows, out)}
			x, dy := upload(t, d, act, arrays[0]), upload(t, d, act, arrays[3])
			l := &nn.Linear{Weight: param(t, d, "weight", act, arrays[1]), Bias: param(t, d, "bias", gpu.F32, arrays[2])}
			shortReach(t, d, 32<<10)
			r := recorder(d, act)
			y := r.Linear(l, x)
			dx := r.LinearGrad(l, x, dy, gpu.Tensor{})
			before := r.Ops()
			run(t, r)
			if before < 20 {
				t.Errorf("only %d dispatches: nothing was split", before)
			}
			call := &refrun.Call{In: arrays}
			want, _ := refrun.Kernels()["linear"](call)
			grads, _ := refrun.Kernels()["linear_grad"](call)
			near(t, "y", download(t, d, y), want[0], sumTolerance(in, act))
			near(t, "dx", download(t, d, dx), grads[0], sumTolerance(out, act))
			near(t, "dweight", download(t, d, l.Weight.Grad), grads[1], sumTolerance(rows, gpu.F32))
			near(t, "dbias", download(t, d, l.Bias.Grad), grads[2], sumTolerance(rows, gpu.F32))
		})
	}
}

func TestReachMatmul(t *testing.T) {
	d := device(t)
	shortReach(t, d, 8<<10)
	for layout := range 3 {
		for _, lead := range [][]int{nil, {3}} {
			c := matmulCase{m: 70, n: 66, k: 80, ta: layout == 1, tb: layout == 2, la: lead, lb: lead, add: true}
			t.Run(fmt.Sprint(layout, lead), func(t *testing.T) { checkMatmul(t, d, "", c) })
		}
	}
	r := recorder(d, gpu.F32)
	a, b := r.Alloc(gpu.F32, 8, 8), r.Alloc(gpu.F32, 8, 9000)
	r.Fill(a, 0)
	r.Fill(b, 0)
	r.Matmul(a, b, nn.MatmulOpts{})
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "one binding reaches") {
		t.Errorf("rows that do not fit: error %v", err)
	}
}

func TestReachEmbedAndLoss(t *testing.T) {
	d := device(t)
	const vocab, width, rows = 500, 36, 250
	rnd := rand.New(rand.NewPCG(31, 2))
	table, dy, logits := normals(rnd, vocab, width), normals(rnd, rows, width), normals(rnd, rows, vocab)
	ints, index := make([]int, rows), &refrun.Array{Shape: []int{rows}, Data: make([]float64, rows)}
	for i := range ints {
		ints[i] = rnd.IntN(vocab)
		index.Data[i] = float64(ints[i])
	}
	p := param(t, d, "table", gpu.F32, table)
	tokens, tdy, tl := uploadInts(t, d, ints, rows), upload(t, d, gpu.F32, dy), upload(t, d, gpu.F32, logits)
	b := &nn.Batch{LossScale: upload(t, d, gpu.F32, &refrun.Array{Shape: []int{1}, Data: []float64{1}})}
	shortReach(t, d, 16<<10)
	r := recorder(d, gpu.F32)
	y := r.Embed(p, tokens)
	r.EmbedGrad(p, tokens, tdy)
	loss, lse := r.CrossEntropy(b, tl, tokens)
	dx := r.CrossEntropyGrad(b, tl, tokens, lse)
	run(t, r)
	call := &refrun.Call{In: []*refrun.Array{table, index, dy}, Batch: &refrun.Batch{LossScale: 1}}
	want, _ := refrun.Kernels()["embed"](call)
	near(t, "y", download(t, d, y), want[0], 0)
	want, _ = refrun.Kernels()["embed_grad"](call)
	near(t, "grad", download(t, d, p.Grad), want[0], 1e-6)
	call.In = []*refrun.Array{logits, index}
	want, _ = refrun.Kernels()["cross_entropy"](call)
	near(t, "loss", download(t, d, loss), want[0], 1e-6)
	want, _ = refrun.Kernels()["cross_entropy_grad"](call)
	near(t, "dlogits", download(t, d, dx), want[0], 1e-6)
}
