package gpu

import (
	"errors"
	"fmt"
	"testing"
)

func TestRecorderErrors(t *testing.T) {
	d := open(t, Options{})
	big := must[Tensor](t)(d.Alloc(F32, 64))
	gone := must[Tensor](t)(d.Alloc(F32, 64))
	ok(t, d.Release(gone))
	axpy64 := func(r *Recorder, bufs ...Tensor) {
		r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{64}, []uint32{64, 0}, bufs...)
	}
	alien := must[Tensor](t)(open(t, Options{}).Alloc(F32, 64))
	foreign := d.NewRecorder().Alloc(F32, 64)
	tests := []struct {
		name string
		do   func(r *Recorder)
		want []string
	}{
		{"double free", func(r *Recorder) {
			y := r.Alloc(F32, 64)
			axpy64(r, big, big, y)
			r.Free(y)
			r.Free(y)
		}, []string{"Free of F32[64] (last used by axpy)", "freed before"}},
		{"retain after free", func(r *Recorder) {
			y := r.Alloc(F32, 2, 3).Named("scores")
			r.Free(y)
			r.Retain(y)
		}, []string{"Retain of F32[2 3] scores", "freed before"}},
		{"use after free", func(r *Recorder) {
			y := r.Alloc(F32, 64).Named("hidden")
			r.Free(y)
			axpy64(r, big, y, big)
		}, []string{"kernel axpy", "binding 1", "F32[64] hidden", "was freed before this use"}},
		{"foreign tensor", func(r *Recorder) { axpy64(r, foreign, big, big) },
			[]string{"kernel axpy: binding 0", "belongs to another recorder"}},
		{"foreign free", func(r *Recorder) { r.Free(foreign) }, []string{"Free", "another recorder"}},
		{"released tensor", func(r *Recorder) { axpy64(r, gone, big, big) },
			[]string{"binding 0", "F32[64] was released"}},
		{"missing buffer", func(r *Recorder) { axpy64(r, big, big) },
			[]string{"kernel axpy: 2 buffers given, the module binds 3"}},
		{"missing push", func(r *Recorder) {
			r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{64}, []uint32{64}, big, big, big)
		}, []string{"1 words of push constants given, the module takes 2"}},
		{"much push", func(r *Recorder) {
			r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{64}, make([]uint32, 33), big, big, big)
		}, []string{"33 words of push constants given", "at most 32"}},
		{"grid", func(r *Recorder) {
			r.Dispatch(&axpy, [3]int{1, 1 << 31, 1}, []uint32{64}, []uint32{64, 0}, big, big, big)
		}, []string{"workgroups; dimension 1 allows", "DispatchLinear"}},
		{"negative grid", func(r *Recorder) {
			r.DispatchLinear(&axpy, -1, []uint32{64}, []uint32{64, 0}, big, big, big)
		},
			[]string{"[-1 1 1] workgroups"}},
		{"workgroup size", func(r *Recorder) {
			r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{1 << 20}, []uint32{64, 0}, big, big, big)
		}, []string{"kernel axpy: workgroup of [1048576 1 1] invocations"}},
		{"no SPIR-V", func(r *Recorder) {
			r.Dispatch(&Kernel{Name: "broken", Code: "12345678901234567890"}, [3]int{1, 1, 1}, nil, nil)
		},
			[]string{"kernel broken: no SPIR-V module"}},
		{"reshape", func(r *Recorder) { axpy64(r, big.Reshape(3, 5), big, big) },
			[]string{"kernel axpy: binding 0", "Reshape([3 5]) of F32[64]: 15 elements wanted, the tensor has 64"}},
		{"reshape with hole", func(r *Recorder) { r.Fill(big.Reshape(-1, 5), 0) },
			[]string{"Fill", "cannot be split by 5"}},
		{"slice", func(r *Recorder) { r.Copy(big.Slice(60, 70), big) },
			[]string{"Copy", "Slice(60, 70) of F32[64]"}},
		{"unaligned view", func(r *Recorder) { axpy64(r, big.Slice(1, 3), big, big) },
			[]string{"binding 0", "starts 4 bytes into its storage", "alignment", "copy it first"}},
		{"copy sizes", func(r *Recorder) { r.Copy(big, big.Slice(0, 3)) },
			[]string{"Copy", "12 bytes to 256 bytes"}},
		{"copy overlap", func(r *Recorder) { r.Copy(big.Slice(1, 5), big.Slice(0, 4)) }, []string{"overlap"}},
		{"odd fill", func(r *Recorder) { r.Fill(r.Alloc(BF16, 9).Slice(1, 4), 0) },
			[]string{"Fill", "not multiples of 4"}},
		{"shape", func(r *Recorder) { r.Alloc(F32, 3, -1) }, []string{"Alloc: F32[3 -1]", "negative"}},
		{"absurd size", func(r *Recorder) { r.Alloc(F32, 1<<40, 1<<40) }, []string{"larger than 64 TiB"}},
		{"type", func(r *Recorder) { r.Alloc(DType(77), 3) }, []string{"DType(77)"}},
		{"rows", func(r *Recorder) {
			r.DispatchRows(&axpy, 7, func(n int) int { return n }, []uint32{64}, nil, Bind{big, true})
		}, []string{"kernel axpy: binding 0", "does not divide into 7 rows"}},
		{"no kernel", func(r *Recorder) { r.Dispatch(nil, [3]int{1, 1, 1}, nil, nil) },
			[]string{"without a kernel"}},
		{"another device", func(r *Recorder) { axpy64(r, alien, big, big) },
			[]string{"binding 0", "belongs to another device"}},
		{"fail", func(r *Recorder) { r.Fail(errors.New("from above")) }, []string{"from above"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := d.NewRecorder()
			test.do(r)
			wantError(t, r.Err(), test.want...)
			first := r.Err()
			r.Alloc(F32, -1)
			if x := r.Alloc(F32, 4, 5); x.Valid() || x.Dim(-1) != 5 {
				t.Errorf("Alloc on an errored recorder gave %v", x)
			}
			if _, err := r.Finish(); err != first {
				t.Errorf("Finish gave %v, wanted the first error", err)
			}
		})
	}
}

func TestDeviceErrors(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.Alloc(F32, 4))
	y := d.NewRecorder().Alloc(F32, 4)
	_, negative := d.Alloc(F32, -4)
	tests := []struct {
		name string
		err  error
		want []string
	}{
		{"short", d.Write(x, []float32{1}),
			[]string{"Write to F32[4]", "1 elements of 4 bytes, the tensor 4 of 4"}},
		{"type", d.Read(x, make([]uint16, 8)), []string{"Read of F32[4]", "8 elements of 2 bytes"}},
		{"float64", d.Write(x, []float64{1}), []string{"[]float64 is no []float32"}},
		{"planned", d.Read(y, make([]float32, 4)), []string{"no memory before Recorder.Finish"}},
		{"none", d.Read(Tensor{}, []float32{}), []string{"no tensor"}},
		{"negative", negative, []string{"F32[-4]", "negative"}},
		{"release planned", d.Release(y), []string{"belongs to a recorder"}},
		{"release", firstError(d.Release(x), d.Release(x)), []string{"Release of F32[4]", "released before"}},
		{"write released", d.Write(x, make([]float32, 4)), []string{"the tensor was released"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { wantError(t, test.err, test.want...) })
	}
	if d.HostBytes(x) != nil {
		t.Error("HostBytes of a device tensor")
	}
}

func TestPick(t *testing.T) {
	infos := []Info{{Index: 0, Name: "llvmpipe", Type: "cpu"}, {Index: 1, Name: "Iris Xe", Type: "integrated"},
		{Index: 2, Name: "NVIDIA H200", Type: "discrete"}, {Index: 3, Name: "NVIDIA L4", Type: "discrete"}}
	tests := []struct {
		in   string
		want int
		err  string
	}{
		{"", 2, ""}, {"3", 3, ""}, {"nvidia", 2, ""}, {"l4", 3, ""}, {"iris", 1, ""}, {"llvm", 0, ""},
		{"radeon", 0,
			`no Vulkan device has "radeon" in its name; there are: 0: llvmpipe (cpu), 1: Iris Xe (integrated)`},
		{"4", 0, "no Vulkan device 4"}, {"-1", 0, "no Vulkan device -1"},
	}
	for _, test := range tests {
		got, err := pick(infos, test.in)
		if test.err != "" {
			wantError(t, err, test.err)
		} else if err != nil || got != test.want {
			t.Errorf("pick(%q) = %d, %v, wanted %d", test.in, got, err, test.want)
		}
	}
	d := open(t, Options{})
	_, err := Open(Options{Device: "no such device"})
	wantError(t, err, "no such device", d.Info.Name)
}

func TestFinishedRecorder(t *testing.T) {
	d := open(t, Options{})
	r := d.NewRecorder()
	x := r.Alloc(U32, 4)
	r.Fill(x, 1)
	rec := must[*Recording](t)(r.Finish())
	ok(t, rec.Run())
	r.Fill(x, 2)
	wantError(t, r.Err(), "Fill", "finished")
	ok(t, rec.Close())
	ok(t, rec.Close())
	wantError(t, d.Read(x, make([]uint32, 4)), "Read of U32[4]", "the recording is closed")
	wantError(t, rec.Run(), "closed")
	empty := must[*Recording](t)(d.NewRecorder().Finish())
	ok(t, empty.Run())
	ok(t, empty.Close())
}

func TestReleasedUnderRecording(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.Alloc(U32, 4))
	r := d.NewRecorder()
	r.Fill(x.Named("weights"), 1)
	rec := must[*Recording](t)(r.Finish())
	ok(t, rec.Run())
	ok(t, d.Release(x))
	wantError(t, rec.Run(), "U32[4] weights", "released")
	ok(t, rec.Close())
}

func TestLostDevice(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.Alloc(U32, 4))
	r := d.NewRecorder()
	r.Fill(x, 1)
	r.Dispatch(&inc, [3]int{1, 1, 1}, []uint32{4}, []uint32{4, 1}, x)
	r.Dispatch(&inc, [3]int{1, 1, 1}, []uint32{4}, []uint32{4, 1}, x)
	rec := must[*Recording](t)(r.Finish())
	ok(t, rec.Submit())
	c := rec.busy
	ok(t, d.settle())
	for _, f := range c.fences {
		ok(t, d.await(f)) // reset: as if never signalled
	}
	d.lost.Store(true)
	err := rec.lostError(fmt.Errorf("%w (VK_ERROR_DEVICE_LOST)", ErrDeviceLost))
	wantError(t, err, "device was lost", "in flight: Fill, inc x2")
	if !errors.Is(rec.Wait(), ErrDeviceLost) || !errors.Is(d.Write(x, make([]uint32, 4)), ErrDeviceLost) {
		t.Error("a lost device still answers")
	}
	if _, err := d.Alloc(F32, 1); !errors.Is(err, ErrDeviceLost) {
		t.Error("Alloc:", err)
	}
	rec.busy = nil
	d.lost.Store(false)
}

func TestList(t *testing.T) {
	d := open(t, Options{})
	list := must[[]Info](t)(List())
	if got := list[d.Info.Index]; got.Name != d.Info.Name || got.MemoryBytes == 0 ||
		got.HasTimestamps != d.Info.HasTimestamps ||
		got.Float16 != d.Info.Float16 {
		t.Errorf("List gives %+v, the open device %+v", got, d.Info)
	}
}

func TestClosedDevice(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.Alloc(U32, 4))
	r := d.NewRecorder()
	r.Fill(x, 1)
	rec := must[*Recording](t)(r.Finish())
	late := d.NewRecorder()
	late.Fill(x, 1)
	d.Close()
	d.Close()
	_, finish := late.Finish()
	_, alloc := d.Alloc(F32, 1)
	for _, err := range []error{rec.Run(), d.Write(x, make([]uint32, 4)), d.Release(x), finish, alloc} {
		wantError(t, err, "closed")
	}
	ok(t, rec.Close())
}

func TestNothingInstalled(t *testing.T) {
	open(t, Options{}).Close()
	t.Run("driver", func(t *testing.T) {
		t.Setenv("VK_DRIVER_FILES", "/nonexistent.json")
		t.Setenv("VK_ICD_FILENAMES", "/nonexistent.json")
		_, err := Open(Options{})
		wantError(t, err, "no Vulkan d", "mesa-vulkan-drivers")
	})
	t.Run("validation layer", func(t *testing.T) {
		t.Setenv("VK_LAYER_PATH", "/nonexistent")
		_, err := Open(Options{Validation: true})
		wantError(t, err, validationLayer, "vulkan-validationlayers")
	})
}
