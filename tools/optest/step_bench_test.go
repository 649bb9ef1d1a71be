package optest

import (
	"testing"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// BenchmarkStepParts times the parts of a training step of Llama 135M that are no forward products, for 128 tokens.
func BenchmarkStepParts(b *testing.B) {
	d := device(b)
	const rows, vocab = 128, 49152
	alloc := func(typ gpu.DType, dims ...int) gpu.Tensor {
		x, err := d.Alloc(typ, dims...)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { d.Release(x) })
		return x
	}
	logits, x, hidden := alloc(gpu.F32, rows, vocab), alloc(gpu.F32, rows, 576), alloc(gpu.F32, rows, 1536)
	labels, lse := alloc(gpu.I32, rows), alloc(gpu.F32, rows, 2)
	batch := &nn.Batch{LossScale: alloc(gpu.F32, 1)}
	p := &nn.Param{Name: "w", Shape: []int{1536, 576}, Value: alloc(gpu.F32, 1536, 576), Grad: alloc(gpu.F32, 1536, 576)}
	table := &nn.Param{Name: "table", Shape: []int{vocab, 576}, Value: alloc(gpu.F32, vocab, 576), Grad: alloc(gpu.F32, vocab, 576)}
	l := &nn.Linear{Weight: p}
	moments := []nn.Moments{{M: alloc(gpu.F32, vocab, 576), V: alloc(gpu.F32, vocab, 576)}}
	hyper := alloc(gpu.F32, nn.HyperWords)
	one := make([]float32, nn.HyperWords)
	for i := range one {
		one[i] = 0.5
	}
	if err := d.Write(hyper, one); err != nil {
		b.Fatal(err)
	}
	weight := float64(p.Value.Len())
	for _, part := range []struct {
		name        string
		flops, data float64
		record      func(r *nn.Recorder)
	}{
		{"dx", 2 * rows * weight, 4 * weight, func(r *nn.Recorder) {
			l.Weight.Frozen = true
			r.LinearGrad(l, x, hidden, gpu.Tensor{})
			l.Weight.Frozen = false
		}},
		{"dweight", 2 * rows * weight, 4 * weight, func(r *nn.Recorder) { r.LinearGradWeights(l, x, hidden) }},
		{"dhead", 2 * rows * vocab * 576, 4 * vocab * 576, func(r *nn.Recorder) {
			r.LinearGradWeights(&nn.Linear{Weight: table}, x, logits)
		}},
		{"cross entropy", 0, 4 * rows * vocab, func(r *nn.Recorder) { r.CrossEntropy(batch, logits, labels) }},
		{"cross entropy grad", 0, 8 * rows * vocab, func(r *nn.Recorder) { r.CrossEntropyGrad(batch, logits, labels, lse) }},
		{"embed grad", 0, 4 * vocab * 576, func(r *nn.Recorder) { r.EmbedGrad(table, labels, x) }},
		{"sum rows", 0, 4 * rows * vocab, func(r *nn.Recorder) { r.SumRowsInto(logits, r.Alloc(gpu.F32, vocab), false) }},
		{"norm", 0, 4 * vocab * 576, func(r *nn.Recorder) { r.GradNorm([]*nn.Param{table}, hyper) }},
		{"adamw", 0, 28 * vocab * 576, func(r *nn.Recorder) { r.AdamW([]*nn.Param{table}, moments, hyper, gpu.Tensor{}) }},
	} {
		b.Run(part.name, func(b *testing.B) { benchPart(b, d, part.flops, part.data, part.record) })
	}
}

func benchPart(b *testing.B, d *gpu.Device, flops, data float64, record func(r *nn.Recorder)) {
	r := recorder(d, gpu.F32)
	record(r)
	rec, err := r.Finish()
	if err != nil {
		b.Fatal(err)
	}
	defer rec.Close()
	if err := rec.Run(); err != nil {
		b.Fatal(err)
	}
	before := cpuTime()
	b.ResetTimer()
	for range b.N {
		if err := rec.Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	s := (cpuTime() - before).Seconds() / 2 / float64(b.N)
	b.ReportMetric(1e3*s, "cpu-ms")
	b.ReportMetric(data/s/1e9, "GB/cpu-s")
	if flops > 0 {
		b.ReportMetric(flops/s/1e9, "GFLOP/cpu-s")
	}
}
