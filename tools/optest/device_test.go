// Package optest compares kernels on a device with the float64 references of gen/refrun.
package optest

import (
	"flag"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/generated/kernels"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

var validation = flag.Bool("validation", false, "run under the Khronos validation layer")

var openDevice = sync.OnceValues(func() (*gpu.Device, error) { return gpu.Open(gpu.Options{Validation: *validation}) })

// device opens the default device once, or skips with the reason.
func device(t testing.TB) *gpu.Device {
	t.Helper()
	d, err := openDevice()
	if err != nil {
		t.Skipf("no Vulkan device: %v", err)
	}
	return d
}

// recorder starts a recording with the library kernels.
func recorder(d *gpu.Device, act gpu.DType) *nn.Recorder { return nn.NewRecorder(d, &kernels.NN, act) }

// upload makes a persistent tensor of storage type typ from float64 values. The values are replaced by what the storage
// holds, so that references compute from the same numbers.
func upload(t testing.TB, d *gpu.Device, typ gpu.DType, a *refrun.Array) gpu.Tensor {
	t.Helper()
	if a == nil {
		return gpu.Tensor{}
	}
	x, err := d.Alloc(typ, a.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Release(x) })
	if typ == gpu.F32 {
		words := make([]float32, len(a.Data))
		for i, v := range a.Data {
			words[i] = float32(v)
			a.Data[i] = float64(words[i])
		}
		err = d.Write(x, words)
	} else {
		words := make([]uint16, len(a.Data))
		for i, v := range a.Data {
			words[i] = narrow(typ, float32(v))
			a.Data[i] = widen(typ, words[i])
		}
		err = d.Write(x, words)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// bf16 rounds to nearest, ties to even.
func bf16(v float32) uint16 {
	u := math.Float32bits(v)
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// uploadInts makes a persistent I32 tensor; nil gives the zero Tensor.
func uploadInts(t testing.TB, d *gpu.Device, values []int, shape ...int) gpu.Tensor {
	t.Helper()
	if values == nil {
		return gpu.Tensor{}
	}
	x, err := d.Alloc(gpu.I32, shape...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Release(x) })
	words := make([]int32, len(values))
	for i, v := range values {
		words[i] = int32(v)
	}
	if err := d.Write(x, words); err != nil {
		t.Fatal(err)
	}
	return x
}

// uploadWords makes a persistent U32 tensor.
func uploadWords(t testing.TB, d *gpu.Device, words ...uint32) gpu.Tensor {
	t.Helper()
	x, err := d.Alloc(gpu.U32, len(words))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Release(x) })
	if err := d.Write(x, words); err != nil {
		t.Fatal(err)
	}
	return x
}

// download reads a float tensor.
func download(t testing.TB, d *gpu.Device, x gpu.Tensor) []float64 {
	t.Helper()
	out := make([]float64, x.Len())
	if x.Type == gpu.F32 {
		words := make([]float32, x.Len())
		if err := d.Read(x, words); err != nil {
			t.Fatal(err)
		}
		for i, w := range words {
			out[i] = float64(w)
		}
		return out
	}
	words := make([]uint16, x.Len())
	if err := d.Read(x, words); err != nil {
		t.Fatal(err)
	}
	for i, w := range words {
		out[i] = widen(x.Type, w)
	}
	return out
}

// run finishes and runs a recording, which stays open until the test ends.
func run(t testing.TB, r *nn.Recorder) *gpu.Recording {
	t.Helper()
	rec, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := rec.Run(); err != nil {
		t.Fatal(err)
	}
	return rec
}

// normals returns an array of normal deviates.
func normals(r *rand.Rand, shape ...int) *refrun.Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	a := &refrun.Array{Shape: shape, Data: make([]float64, n)}
	for i := range a.Data {
		a.Data[i] = r.NormFloat64()
	}
	return a
}

// near compares got with want: the largest error must stay within tol times the largest value. It returns that quotient.
func near(t testing.TB, name string, got []float64, want *refrun.Array, tol float64) float64 {
	t.Helper()
	if len(got) != len(want.Data) {
		t.Errorf("%s: %d elements, want %d", name, len(got), len(want.Data))
		return math.NaN()
	}
	worst, scale, at := 0.0, 1e-30, 0
	for i, w := range want.Data {
		if math.IsInf(w, -1) && math.IsInf(got[i], -1) {
			continue
		}
		scale = max(scale, math.Abs(w))
		if e := math.Abs(got[i] - w); !(e <= worst) {
			worst, at = e, i
		}
	}
	if !(worst <= tol*scale) {
		t.Errorf("%s: element %d is %g, want %g (off by %.3g of %.3g, tolerance %g)", name, at, got[at], want.Data[at], worst, scale, tol)
	}
	return worst / scale
}
