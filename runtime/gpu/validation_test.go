package gpu

import (
	"strings"
	"testing"
)

// TestValidationNotices leaves the barriers out and expects synchronization validation to report it: the
// other tests under validation mean nothing unless this one passes.
func TestValidationNotices(t *testing.T) {
	d := openAs(t, Options{Validation: true, noBarriers: true})
	r := d.NewRecorder()
	x := r.Alloc(F32, 64)
	y := r.Alloc(F32, 64)
	r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{64}, []uint32{64, 0}, x, x, y)
	r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{64}, []uint32{64, 0}, y, y, x)
	rec, err := r.Finish()
	for range 2 { // the first run of a GPU is measured, with a barrier everywhere
		if err == nil {
			err = rec.Run()
		}
	}
	wantError(t, err, "validation layer", "SYNC-HAZARD")
}

func TestValidationOfEverything(t *testing.T) {
	d := openAs(t, Options{Validation: true})
	x := must[Tensor](t)(d.Alloc(U32, 100_000))
	h := must[Tensor](t)(d.AllocHost(U32, 64))
	ok(t, d.Write(x, make([]uint32, 100_000)))
	k := Kernel{Name: "subgroup", Code: subgroupCode, FullSubgroups: true, SubgroupSize: d.Info.SubgroupSize}
	a := d.NewArena()
	r := d.NewRecorder()
	r.UseArena(a)
	tmp := r.Alloc(U32, 1000)
	r.Fill(tmp, 1)
	r.Copy(tmp.Slice(0, 64), h)
	r.DispatchLinear(&inc, 100_000, []uint32{1, 1}, []uint32{100_000, 1}, x)
	r.Dispatch(&types, [3]int{1, 1, 1}, []uint32{1}, nil, x, Tensor{}, tmp)
	if d.Info.FullSubgroups {
		r.Dispatch(&k, [3]int{1, 1, 1}, []uint32{d.Info.SubgroupSize}, nil, h)
	}
	rec := must[*Recording](t)(r.Finish())
	for range 3 {
		ok(t, rec.Run())
	}
	if d.Info.HasTimestamps {
		must[[]KernelTime](t)(rec.Profile())
	}
	ok(t, rec.Run())
	ok(t, rec.Close())
	ok(t, a.Close())
	ok(t, d.Release(x, h))
	ok(t, d.validation("the end"))
	d.Close()
	for _, w := range d.Warnings() {
		if !strings.Contains(w, "not supported by this layer") { // the layer may be older than the driver
			t.Error(w)
		}
	}
}
