package gpu

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestGarbageCollector loops runtime.GC while pipelines are compiled, recordings are made and thousands of
// submissions run. Vulkan structs in Go memory, or in C memory that only a finalizer keeps, do not survive
// this.
func TestGarbageCollector(t *testing.T) {
	d := open(t, Options{})
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			runtime.GC()
		}
	}()
	defer func() {
		stop.Store(true)
		<-done
	}()
	const n = 8
	x := must[Tensor](t)(d.Alloc(U32, n))
	ok(t, d.Write(x, make([]uint32, n)))
	end := time.Now().Add(4 * time.Second)
	want, runs := uint32(0), 0
	for round := uint32(1); round <= 40 && time.Now().Before(end); round++ {
		r := d.NewRecorder()
		for k := range uint32(8) { // other constants: other pipelines
			r.DispatchLinear(&inc, 1, []uint32{8 + k, round}, []uint32{n, 1}, x)
			y := r.Alloc(F32, n)
			r.DispatchLinear(&axpy, 1, []uint32{8 + k}, []uint32{n, 0}, x, x, y)
			r.Free(y)
		}
		rec := must[*Recording](t)(r.Finish())
		one := d.NewRecorder()
		one.Fill(one.Alloc(U32, 4), round)
		small := must[*Recording](t)(one.Finish())
		for k := range 100 {
			ok(t, small.Run())
			runs++
			if k%10 == 0 {
				ok(t, rec.Run())
				want += 8
				runs++
			}
		}
		ok(t, firstError(rec.Close(), small.Close()))
	}
	got := make([]uint32, n)
	ok(t, d.Read(x, got))
	for i, v := range got {
		if v != want {
			t.Fatalf("x[%d] = %d after %d runs, wanted %d", i, v, runs, want)
		}
	}
	t.Logf("%d submissions", runs)
}
