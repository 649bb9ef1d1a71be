package gpu

import "testing"

func recordN(d *Device, x Tensor, n int) *Recorder {
	r := d.NewRecorder()
	spec, push := []uint32{64, 1}, []uint32{64, 1}
	for range n {
		y := r.Alloc(U32, 64)
		r.Dispatch(&types, [3]int{1, 1, 1}, spec, nil, x, Tensor{}, y)
		r.Dispatch(&inc, [3]int{1, 1, 1}, spec, push, y)
		r.Free(y)
	}
	return r
}

// BenchmarkRecord measures Alloc, two Dispatches and Free.
func BenchmarkRecord(b *testing.B) {
	d := open(b, Options{})
	x := must[Tensor](b)(d.Alloc(U32, 64))
	b.ReportAllocs()
	b.ResetTimer()
	ok(b, recordN(d, x, b.N).Err())
}

// BenchmarkFinish100 measures Finish of 100 dispatches, without compiling.
func BenchmarkFinish100(b *testing.B) {
	d := open(b, Options{})
	x := must[Tensor](b)(d.Alloc(U32, 64))
	for b.Loop() {
		rec := must[*Recording](b)(recordN(d, x, 50).Finish())
		b.StopTimer()
		ok(b, rec.Close())
		b.StartTimer()
	}
}

// BenchmarkRun0 and BenchmarkRun100 measure a run without and with 100 tiny dispatches, each behind a
// barrier.
func BenchmarkRun0(b *testing.B) { benchmarkRun(b, 0) }

func BenchmarkRun100(b *testing.B) { benchmarkRun(b, 50) }

func benchmarkRun(b *testing.B, n int) {
	d := open(b, Options{})
	x := must[Tensor](b)(d.Alloc(U32, 64))
	ok(b, d.Write(x, make([]uint32, 64)))
	rec := must[*Recording](b)(recordN(d, x, n).Finish())
	ok(b, rec.Run())
	for b.Loop() {
		ok(b, rec.Run())
	}
}

// BenchmarkWrite and BenchmarkRead measure transfers of 64 MiB through staging.
func BenchmarkWrite(b *testing.B) { benchmarkTransfer(b, (*Device).Write) }

func BenchmarkRead(b *testing.B) { benchmarkTransfer(b, (*Device).Read) }

func benchmarkTransfer(b *testing.B, move func(*Device, Tensor, any) error) {
	d := open(b, Options{forceStaging: true})
	x := must[Tensor](b)(d.Alloc(U8, 64<<20))
	data := make([]byte, 64<<20)
	b.SetBytes(64 << 20)
	for b.Loop() {
		ok(b, move(d, x, data))
	}
}
