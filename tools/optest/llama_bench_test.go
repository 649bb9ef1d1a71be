package optest

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// llamaLinears are the products of Llama 135M: 30 layers and the head.
func llamaLinears(b *testing.B, d *gpu.Device, typ gpu.DType) (all []*nn.Linear) {
	add := func(out, in int) {
		x, err := d.Alloc(typ, out, in)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { d.Release(x) })
		all = append(all, &nn.Linear{Weight: &nn.Param{Name: fmt.Sprint(len(all)), Shape: x.Shape, Value: x}})
	}
	for range 30 {
		for _, s := range [][2]int{{576, 576}, {192, 576}, {192, 576}, {576, 576}, {1536, 576}, {1536, 576}, {576, 1536}} {
			add(s[0], s[1])
		}
	}
	add(49152, 576)
	return all
}

// BenchmarkLlamaProducts times the products of one forward pass of Llama 135M. "cpu-s" is processor time over the number of
// processors: on a busy machine it tells more than the clock.
func BenchmarkLlamaProducts(b *testing.B) {
	d := device(b)
	for _, typ := range []gpu.DType{gpu.F32, gpu.BF16, gpu.F16} {
		all := llamaLinears(b, d, typ)
		for _, rows := range []int{1, 4, 32, 128, 512} {
			b.Run(fmt.Sprintf("%v/rows=%d", typ, rows), func(b *testing.B) { benchForward(b, d, all, rows) })
		}
	}
}

func benchForward(b *testing.B, d *gpu.Device, all []*nn.Linear, rows int) {
	r := recorder(d, gpu.F32)
	x := map[int]gpu.Tensor{576: r.Alloc(gpu.F32, rows, 576), 1536: r.Alloc(gpu.F32, rows, 1536)}
	r.Fill(x[576], 0x3f000000)
	r.Fill(x[1536], 0x3f000000)
	weights, bytes := 0, int64(0)
	for i, l := range all {
		in := x[l.Weight.Shape[1]]
		if i == len(all)-1 && rows > 8 {
			in = in.Slice(0, 1) // a prompt needs the logits of its last token
		}
		weights += in.Rows() * l.Weight.Value.Len()
		bytes += l.Weight.Value.Bytes()
		r.Free(r.Linear(l, in))
	}
	rec, err := r.Finish()
	if err != nil {
		b.Fatal(err)
	}
	defer rec.Close()
	if err := rec.Run(); err != nil {
		b.Fatal(err)
	}
	before, start := cpuTime(), time.Now()
	b.ResetTimer()
	for range b.N {
		if err := rec.Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	s := (cpuTime() - before).Seconds() / 2 / float64(b.N)
	wall := time.Since(start).Seconds() / float64(b.N)
	b.ReportMetric(float64(rows)/wall, "tok/s")
	b.ReportMetric(float64(rows)/s, "tok/cpu-s")
	b.ReportMetric(2*float64(weights)/s/1e9, "GFLOP/cpu-s")
	b.ReportMetric(float64(bytes)/s/1e9, "GB/cpu-s")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
