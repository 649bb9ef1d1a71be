package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// optionsOf are the configurations that behaviour must not depend on.
func optionsOf() map[string]Options {
	return map[string]Options{
		"plain":                   {},
		"staging":                 {forceStaging: true},
		"cuts":                    {forceCuts: 3},
		"validation":              {Validation: true},
		"validation staging cuts": {Validation: true, forceStaging: true, forceCuts: 2},
	}
}

// openAs opens a device, or skips when the validation layer is not installed.
func openAs(t *testing.T, o Options) *Device {
	t.Helper()
	if o.Validation {
		o.NoCache = true
		d, err := Open(o)
		if err != nil && strings.Contains(err.Error(), "vulkan-validationlayers") {
			t.Skip(err)
		}
		if err == nil {
			d.Close()
		}
	}
	return open(t, o)
}

func bits(x float32) uint32 { return math.Float32bits(x) }

// TestPrograms runs random programs of kernels, fills and copies over overlapping lives of temporary
// tensors and compares them with the same programs on the host: wrong offsets, lost barriers and reused
// bytes all show.
func TestPrograms(t *testing.T) {
	for name, o := range optionsOf() {
		t.Run(name, func(t *testing.T) {
			d := openAs(t, o)
			for seed := range uint64(6) {
				runProgram(t, d, rand.New(rand.NewPCG(seed, 1)), 60)
			}
		})
	}
}

type pair struct {
	t Tensor
	x []float32
}

func runProgram(t *testing.T, d *Device, rnd *rand.Rand, steps int) {
	t.Helper()
	r := d.NewRecorder()
	in := must[Tensor](t)(d.Alloc(F32, 300))
	values := make([]float32, 300)
	for i := range values {
		values[i] = rnd.Float32()
	}
	ok(t, d.Write(in, values))
	live := []pair{{in, values}}
	for range steps {
		n := 1 + rnd.IntN(300)
		y := pair{r.Alloc(F32, n), make([]float32, n)}
		a, b := live[rnd.IntN(len(live))], live[rnd.IntN(len(live))]
		m := min(n, len(a.x), len(b.x))
		switch rnd.IntN(5) {
		case 0:
			r.Fill(y.t, bits(2.5))
			for i := range y.x {
				y.x[i] = 2.5
			}
		case 1:
			r.Fill(y.t, 0)
			r.Copy(y.t.Slice(0, m), a.t.Slice(0, m))
			copy(y.x[:m], a.x)
		default:
			r.Fill(y.t, 0)
			r.DispatchLinear(&axpy, (m+7)/8, []uint32{8}, []uint32{uint32(m), bits(0.5)}, a.t, b.t, y.t)
			for i := range m {
				y.x[i] = 0.5*a.x[i] + b.x[i]
			}
		}
		live = append(live, y)
		if len(live) > 5 {
			k := 1 + rnd.IntN(len(live)-1)
			r.Free(live[k].t)
			live = append(live[:k], live[k+1:]...)
		}
	}
	rec := must[*Recording](t)(r.Finish())
	for range 2 {
		ok(t, rec.Run())
	}
	for _, p := range live {
		got := make([]float32, len(p.x))
		ok(t, d.Read(p.t, got))
		for i := range got {
			if math.Abs(float64(got[i]-p.x[i])) > 1e-5*math.Abs(float64(p.x[i])) {
				t.Fatalf("%v[%d] = %v, wanted %v", p.t, i, got[i], p.x[i])
			}
		}
	}
	ok(t, rec.Close())
	ok(t, d.Release(in))
}

func TestOptionalAndTypes(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.Alloc(BF16, 8))
	y := must[Tensor](t)(d.Alloc(U32, 5))
	ok(t, d.Write(x, []uint16{5, 0, 0, 0, 0, 0, 0, 0}))
	run := func(spec []uint32, bufs ...Tensor) []uint32 {
		r := d.NewRecorder()
		r.Dispatch(&types, [3]int{1, 1, 1}, spec, nil, bufs...)
		rec := must[*Recording](t)(r.Finish())
		ok(t, rec.Run())
		ok(t, rec.Close())
		got := make([]uint32, 5)
		ok(t, d.Read(y, got))
		return got
	}
	if diff := cmp.Diff([]uint32{7, 1, 0, 5, 0}, run([]uint32{1}, x, Tensor{}, y)); diff != "" {
		t.Error("dummy:", diff)
	}
	if diff := cmp.Diff([]uint32{3, 1, 1, 5, 5}, run([]uint32{1, 3}, x, x, y)); diff != "" {
		t.Error("both:", diff)
	}
	if diff := cmp.Diff([]uint32{3, 4, 4, 5, 5}, run([]uint32{1, 3}, x.As(U32), x.As(U32), y)); diff != "" {
		t.Error("viewed as U32:", diff)
	}
}

func TestManyGroups(t *testing.T) {
	d := open(t, Options{})
	const n = 200_003 // one invocation a group: more than 65535 groups
	x := must[Tensor](t)(d.Alloc(U32, n))
	r := d.NewRecorder()
	r.Fill(x, 10)
	r.DispatchLinear(&inc, n, []uint32{1, 1}, []uint32{n, 3}, x)
	rec := must[*Recording](t)(r.Finish())
	ok(t, rec.Run())
	got := make([]uint32, n)
	ok(t, d.Read(x, got))
	for i, v := range got {
		if v != 13 {
			t.Fatalf("x[%d] = %d, wanted 13", i, v)
		}
	}
}

func TestFold(t *testing.T) {
	for _, n := range []int{0, 1, 65535, 65536, 65537, 200_003, 1 << 24, 4_000_000_000} {
		g := fold(n, 65535)
		if got := g[0] * g[1]; got < n || got-n > g[1] || g[0] > 65535 {
			t.Errorf("fold(%d) = %v", n, g)
		}
	}
}

func TestSubgroupKernel(t *testing.T) {
	d := open(t, Options{Validation: false})
	if !d.Info.FullSubgroups || d.Info.SubgroupOps&4 == 0 {
		t.Skip("no subgroup control")
	}
	k := Kernel{Name: "subgroup", Code: subgroupCode, FullSubgroups: true, SubgroupSize: d.Info.SubgroupSize}
	y := must[Tensor](t)(d.Alloc(U32, 2))
	r := d.NewRecorder()
	r.Dispatch(&k, [3]int{1, 1, 1}, []uint32{d.Info.SubgroupSize}, nil, y)
	rec := must[*Recording](t)(r.Finish())
	ok(t, rec.Run())
	got := make([]uint32, 2)
	ok(t, d.Read(y, got))
	if want := []uint32{d.Info.SubgroupSize, d.Info.SubgroupSize}; !cmp.Equal(got, want) {
		t.Errorf("%v, wanted %v", got, want)
	}
	fail := func(k *Kernel, spec []uint32, parts ...string) {
		t.Helper()
		r := d.NewRecorder()
		r.Dispatch(k, [3]int{1, 1, 1}, spec, nil, y)
		wantError(t, r.Err(), append(parts, k.Name)...)
	}
	fail(&k, []uint32{d.Info.SubgroupSize + 1}, "no multiple of the subgroup size")
	fail(&Kernel{Name: "odd", Code: subgroupCode, SubgroupSize: 1 << 10}, []uint32{8}, "needs subgroups of 1024")
	fail(&subgroup, []uint32{8, 1 << 20}, "bytes of workgroup memory")
	fail(&subgroup, []uint32{1 << 20}, "workgroup of")
}

func TestProfile(t *testing.T) {
	d := open(t, Options{})
	if !d.Info.HasTimestamps {
		t.Skip("no timestamps")
	}
	const n = 4096
	x := must[Tensor](t)(d.Alloc(U32, n))
	r := d.NewRecorder()
	r.Fill(x, 0)
	for range 40 {
		r.DispatchLinear(&inc, n/64, []uint32{64}, []uint32{n, 1}, x)
	}
	rec := must[*Recording](t)(r.Finish())
	ok(t, rec.Run())
	list := must[[]KernelTime](t)(rec.Profile())
	byName := map[string]KernelTime{}
	for _, k := range list {
		byName[k.Name] = k
	}
	k := byName["inc"]
	if len(list) != 2 || k.Count != 40 || k.Bytes != 40*4*n || k.Time <= 0 || byName["Fill"].Count != 1 {
		t.Errorf("profile %+v", list)
	}
	for range 2 {
		whole := must[time.Duration](t)(rec.Time())
		if whole <= 0 || whole > time.Minute {
			t.Errorf("the whole took %v", whole)
		}
	}
	ok(t, rec.Run())
	got := make([]uint32, n)
	ok(t, d.Read(x, got))
	if got[n-1] != 40 { // the fill is part of the recording
		t.Errorf("x = %d after the last run, wanted 40", got[n-1])
	}
}

// TestMeasuredCuts runs the way of a GPU: a measured first run, then buffers cut by time.
func TestMeasuredCuts(t *testing.T) {
	d := open(t, Options{Validation: false})
	if !d.Info.HasTimestamps {
		t.Skip("no timestamps")
	}
	d.Info.IsCPU = false
	const n = 1000
	x := must[Tensor](t)(d.Alloc(U32, n))
	ok(t, d.Write(x, make([]uint32, n)))
	r := d.NewRecorder()
	for range 50 {
		r.DispatchLinear(&inc, n, []uint32{1}, []uint32{n, 1}, x)
	}
	rec := must[*Recording](t)(r.Finish())
	for range 3 {
		ok(t, rec.Run())
	}
	if len(rec.times) != 50 || len(rec.cuts) != 1 {
		t.Errorf("%d times, cuts %v", len(rec.times), rec.cuts)
	}
	got := make([]uint32, n)
	ok(t, d.Read(x, got))
	if got[0] != 150 || got[n-1] != 150 {
		t.Errorf("x = %d, %d, wanted 150", got[0], got[n-1])
	}
}

func TestCutByTime(t *testing.T) {
	tests := []struct {
		name     string
		in, want []int
	}{
		{"none", nil, []int{0}},
		{"short", []int{1, 2, 3}, []int{0}},
		{"cut before the excess", []int{4, 4, 4, 4, 4}, []int{0, 2, 4}},
		{"one long operation stands alone", []int{1, 50, 1}, []int{0, 1, 2}},
		{"all long", []int{20, 20}, []int{0, 1}},
	}
	for _, test := range tests {
		var times []int64
		for _, x := range test.in {
			times = append(times, int64(x))
		}
		if diff := cmp.Diff(test.want, cutByTime(times, 10)); diff != "" {
			t.Error(test.name, diff)
		}
	}
}

func TestAddresses(t *testing.T) {
	for name, o := range optionsOf() {
		t.Run(name, func(t *testing.T) {
			d := openAs(t, o)
			if !d.Info.HasBDA {
				t.Skip("no buffer addresses")
			}
			k := Kernel{Name: "address", Code: addressCode, Addresses: true, Writes: 1 << 2}
			a := must[Tensor](t)(d.Alloc(F32, 100))
			x := make([]float32, 100)
			for i := range x {
				x[i] = float32(i)
			}
			ok(t, d.Write(a, x))
			r := d.NewRecorder()
			y, z := r.Alloc(F32, 100), r.Alloc(F32, 100)
			r.Fill(y, bits(-1))
			r.Fill(z, bits(-1))
			r.Dispatch(&k, [3]int{2, 1, 1}, []uint32{64}, []uint32{100, 1}, a, a, y)
			r.Dispatch(&k, [3]int{2, 1, 1}, []uint32{64}, []uint32{99, 0}, y.Slice(1, 100), Tensor{}, z)
			rec := must[*Recording](t)(r.Finish())
			for range 2 {
				ok(t, rec.Run())
			}
			ok(t, d.Read(z, x))
			for i, v := range x {
				if want := float32(2 * (i + 1)); i < 99 && v != want || i == 99 && v != -1 {
					t.Fatalf("z[%d] = %v, wanted %v", i, v, want)
				}
			}
			r = d.NewRecorder()
			r.Dispatch(&k, [3]int{2, 1, 1}, []uint32{64}, []uint32{100}, a, a, a)
			wantError(t, r.Err(), "kernel address", "3 addresses and 1 words given")
			r = d.NewRecorder()
			r.Dispatch(&Kernel{Name: "both", Code: axpyCode, Addresses: true}, [3]int{2, 1, 1}, []uint32{64},
				[]uint32{100, 0}, a, a, a)
			wantError(t, r.Err(), "kernel both", "the module has 3 bindings (0 wanted)")
			if d.Address(a.Slice(1, 2)) != d.Address(a)+4 {
				t.Error("Address of a slice")
			}
		})
	}
}

// TestSameCode copies kernels: equal code must not be compiled again.
func TestSameCode(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.Alloc(U32, 8))
	r := d.NewRecorder()
	for range 3 {
		k := inc
		r.Dispatch(&k, [3]int{1, 1, 1}, []uint32{8}, []uint32{8, 1}, x)
	}
	ok(t, r.Err())
	if n := len(pipelinesOf(r.ops)); n != 1 {
		t.Errorf("%d pipelines, wanted 1", n)
	}
}

// TestConcurrentUse works with one device from several goroutines.
func TestConcurrentUse(t *testing.T) {
	d := open(t, Options{forceStaging: true})
	var group sync.WaitGroup
	for g := range uint32(4) {
		group.Go(func() {
			for i := range uint32(10) {
				if err := fillOnce(d, 100*g+i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func fillOnce(d *Device, value uint32) error {
	x, err := d.Alloc(U32, 1000)
	if err != nil {
		return err
	}
	r := d.NewRecorder()
	y := r.Alloc(U32, 1000)
	r.Fill(y, value)
	r.DispatchLinear(&inc, 125, []uint32{8, 1 + value%4}, []uint32{1000, 1}, y)
	r.Copy(x, y)
	rec, err := r.Finish()
	if err != nil {
		return err
	}
	got := make([]uint32, 1000)
	if err := firstError(rec.Run(), d.Read(x, got), rec.Close(), d.Release(x)); err != nil {
		return err
	}
	for i, v := range got {
		if v != value+1 {
			return fmt.Errorf("x[%d] = %d, wanted %d", i, v, value+1)
		}
	}
	return nil
}
