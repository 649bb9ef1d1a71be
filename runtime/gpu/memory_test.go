package gpu

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestLargeTensor uses tensors beyond lavapipe's 128 MiB binding range: whole dispatches fail by name, rows
// are split.
func TestLargeTensor(t *testing.T) {
	d := open(t, Options{})
	if range4 := 5 * d.Info.MaxStorageBufferRange; d.Info.MaxAllocation < range4/4 ||
		d.Info.MemoryBytes < range4 {
		t.Skipf("bindings reach %d bytes, buffers %d", d.Info.MaxStorageBufferRange, d.Info.MaxAllocation)
	}
	cols := 1 << 15
	rows := int(d.Info.MaxStorageBufferRange)/(4*cols) + 77 // 138 MiB on lavapipe
	x := must[Tensor](t)(d.Alloc(U32, rows, cols)).Named("embedding")
	r := d.NewRecorder()
	r.DispatchLinear(&inc, rows, []uint32{8, uint32(cols / 8)}, []uint32{uint32(rows * cols), 5}, x)
	wantError(t, r.Err(), "kernel inc", "binding 0", "embedding", "DispatchRows")

	r = d.NewRecorder()
	y := r.Alloc(U32, rows, cols)
	r.Fill(x, 3)
	push := func(n int) []uint32 { return []uint32{uint32(n * cols), 5} }
	group := func(n int) int { return n }
	r.DispatchRows(&inc, rows, group, []uint32{8, uint32(cols / 8)}, push, Bind{x, true})
	r.Copy(y, x)
	r.DispatchRows(&inc, rows, group, []uint32{8, uint32(cols / 8)}, push, Bind{y, true})
	if r.Ops() != 6 {
		t.Errorf("%d operations, wanted 6: two chunks each", r.Ops())
	}
	rec := must[*Recording](t)(r.Finish())
	ok(t, rec.Run())
	got := make([]uint32, 100*cols)
	for from := 0; from < rows; from += 100 {
		part := y.Slice(from, min(from+100, rows))
		got := got[:part.Len()]
		ok(t, d.Read(part, got))
		for i, v := range got {
			if v != 13 {
				t.Fatalf("y[%d] = %d, wanted 13", from*cols+i, v)
			}
		}
	}
	ok(t, rec.Close())
}

func TestChunkRows(t *testing.T) {
	d := open(t, Options{})
	d.Info.MaxStorageBufferRange, d.Info.MinOffsetAlign = 4096, 64
	tensor := func(dims ...int) Tensor { return d.NewRecorder().Alloc(F32, dims...) }
	tests := []struct {
		name  string
		rows  int
		binds []Bind
		want  int
		err   string
	}{
		{"fits", 4, []Bind{{tensor(4, 256), true}}, 4, ""},
		{"whole tensors do not count", 4, []Bind{{tensor(100, 256), false}, {tensor(4, 9), true}}, 4, ""},
		{"aligned rows", 10, []Bind{{tensor(10, 256), true}}, 4, ""},
		{"rows of 12 bytes start aligned every 16", 1000, []Bind{{tensor(1000, 3), true}}, 336, ""},
		{"leading dimensions", 12, []Bind{{tensor(3, 4, 256), true}}, 4, ""},
		{"the smallest chunk counts", 100, []Bind{{tensor(100, 256), true}, {tensor(100, 512), true}}, 2, ""},
		{"a row is too long", 2, []Bind{{tensor(2, 2000), true}}, 0, "cannot be split"},
		{"a small tensor's rows decide the start", 100, []Bind{{tensor(100, 256), true}, {tensor(100), true}}, 0,
			"cannot be split"},
	}
	for _, test := range tests {
		got, err := d.NewRecorder().chunkRows(test.rows, test.binds)
		if test.err != "" {
			wantError(t, err, test.err)
		} else if err != nil || got != test.want {
			t.Errorf("%s: %d, %v, wanted %d", test.name, got, err, test.want)
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	d := open(t, Options{MaxMemory: 64 << 20})
	keep := must[Tensor](t)(d.Alloc(F32, 4<<20)).Named("model.embed_tokens.weight") // 16 MiB
	_, err := d.Alloc(F32, 16<<20)
	wantError(t, err, "tensor F32[16777216]", "64.0 MiB wanted", "memory budget",
		"model.embed_tokens.weight (16.0 MiB)", "batch size")
	var m *MemoryError
	if !errors.As(err, &m) || m.Budget != 64<<20 {
		t.Errorf("%#v", err)
	}
	r := d.NewRecorder()
	small := r.Alloc(F32, 1<<20).Named("early")
	r.Free(small)
	logits := r.Alloc(F32, 20<<20).Named("logits")
	r.Fill(logits, 0)
	_, err = r.Finish()
	wantError(t, err, "temporary tensors of 1 operations, 80.0 MiB in all", "logits (80.0 MiB)",
		"model.embed_tokens.weight")
	ok(t, d.Write(keep, make([]float32, 4<<20)))
	_, err = d.Alloc(U8, int(d.Info.MaxAllocation)+1)
	wantError(t, err, "largest allocation")
}

// TestMemoryReuse allocates and releases random tensors, checks that none overlap by filling each with its
// own pattern, and that all memory goes back.
func TestMemoryReuse(t *testing.T) {
	d := open(t, Options{})
	before := d.MemoryUse()
	rapid.Check(t, func(t *rapid.T) {
		var live []Tensor
		var tags []byte
		check := func() {
			for i, x := range live {
				got := make([]byte, x.Bytes())
				if err := d.Read(x, got); err != nil {
					t.Fatal(err)
				}
				for _, b := range got {
					if b != tags[i] {
						t.Fatalf("%v holds %d, wanted %d", x, b, tags[i])
					}
				}
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(live) > 0 && rapid.IntRange(0, 2).Draw(t, "release") == 0 {
				k := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				if err := d.Release(live[k]); err != nil {
					t.Fatal(err)
				}
				live, tags = append(live[:k], live[k+1:]...), append(tags[:k], tags[k+1:]...)
				continue
			}
			alloc := d.Alloc
			if rapid.Bool().Draw(t, "host") {
				alloc = d.AllocHost
			}
			x, err := alloc(U8, rapid.IntRange(1, 100_000).Draw(t, "bytes"))
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, x.Bytes())
			tag := byte(len(live) + 1)
			for i := range data {
				data[i] = tag
			}
			if err := d.Write(x, data); err != nil {
				t.Fatal(err)
			}
			live, tags = append(live, x), append(tags, tag)
		}
		check()
		if err := d.Release(live...); err != nil {
			t.Fatal(err)
		}
	})
	if after := d.MemoryUse(); after != before {
		t.Errorf("%d bytes held before, %d after", before, after)
	}
}

// TestTransfers moves sizes around the staging buffer's through it.
func TestTransfers(t *testing.T) {
	for name, o := range map[string]Options{"mapped": {}, "staged": {forceStaging: true}} {
		t.Run(name, func(t *testing.T) {
			d := open(t, o)
			for _, n := range []int{1, 3, 1000, int(stageBytes) - 1, int(stageBytes), int(stageBytes) + 1,
				3*int(stageBytes) + 5} {
				x := must[Tensor](t)(d.Alloc(U8, n))
				data, got := make([]byte, n), make([]byte, n)
				rnd := rand.NewChaCha8([32]byte{byte(n)})
				rnd.Read(data)
				ok(t, d.Write(x, data))
				ok(t, d.Read(x, got))
				if string(data) != string(got) {
					t.Errorf("%d bytes came back changed", n)
				}
				if n > 10 {
					part := x.Slice(3, n-2)
					ok(t, d.Read(part, got[:n-5]))
					if string(data[3:n-2]) != string(got[:n-5]) {
						t.Errorf("a slice of %d bytes came back changed", n)
					}
				}
				ok(t, d.Release(x))
			}
		})
	}
}

func TestHostTensor(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.AllocHost(U32, 2, 4))
	b := d.HostBytes(x.Slice(1, 2))
	if len(b) != 16 {
		t.Fatalf("%d bytes, wanted 16", len(b))
	}
	r := d.NewRecorder()
	r.Dispatch(&inc, [3]int{1, 1, 1}, []uint32{8}, []uint32{8, 1}, x)
	rec := must[*Recording](t)(r.Finish())
	for i := range 5 {
		b[4] = byte(10 * i)
		ok(t, rec.Run())
		if int(b[4]) != 10*i+1 {
			t.Errorf("run %d: %d", i, b[4])
		}
	}
}

func TestSharedArena(t *testing.T) {
	for name, o := range optionsOf() {
		t.Run(name, func(t *testing.T) {
			d := openAs(t, o)
			a := d.NewArena()
			out := must[Tensor](t)(d.Alloc(U32, 1000))
			record := func(n int) *Recording {
				r := d.NewRecorder()
				r.UseArena(a)
				x := r.Alloc(U32, n)
				r.Fill(x, uint32(n))
				r.DispatchLinear(&inc, (n+7)/8, []uint32{8}, []uint32{uint32(n), 1}, x)
				r.Copy(out.Slice(0, min(n, 1000)), x.Slice(0, min(n, 1000)))
				return must[*Recording](t)(r.Finish())
			}
			sizes := []int{100, 1000, 50, 100_000} // the arena grows under the recordings made before
			var recs []*Recording
			for _, n := range sizes {
				recs = append(recs, record(n))
				for i, rec := range recs {
					ok(t, rec.Run())
					got := make([]uint32, 1)
					ok(t, d.Read(out.Slice(0, 1), got))
					if got[0] != uint32(sizes[i]+1) {
						t.Errorf("recording %d gave %d, wanted %d", i, got[0], sizes[i]+1)
					}
				}
			}
			if got, want := a.Bytes(), int64(400_128); got != want {
				t.Errorf("arena of %d bytes, wanted %d", got, want)
			}
			wantError(t, a.Close(), "4 recordings still use it")
			for _, rec := range recs {
				ok(t, rec.Close())
			}
			ok(t, a.Close())
		})
	}
}

func TestPeakWithoutFinish(t *testing.T) {
	d := open(t, Options{})
	before := d.MemoryUse()
	r := d.NewRecorder()
	x := r.Alloc(F32, 1<<28)                 // 1 GiB
	y := r.Alloc(F32, 1<<30).Named("logits") // 4 GiB: a block of its own
	r.Free(x)
	z := r.Alloc(BF16, 1<<28)
	r.Free(y, z)
	ok(t, r.Err())
	if got, want := r.Peak(), int64(5)<<30; got != want {
		t.Errorf("peak %d, wanted %d", got, want)
	}
	want := []string{"F32[1073741824] logits (4.00 GiB)", "F32[268435456] (1.00 GiB)"}
	if diff := cmp.Diff(want, r.Largest(2)); diff != "" {
		t.Error(diff)
	}
	if d.MemoryUse() != before {
		t.Error("planning took memory")
	}
}

// TestArenaAfterFailure lets an arena fail to grow; the recordings made before still run.
func TestArenaAfterFailure(t *testing.T) {
	d := open(t, Options{MaxMemory: 64 << 20})
	a := d.NewArena()
	record := func(n int) (*Recording, error) {
		r := d.NewRecorder()
		r.UseArena(a)
		r.Fill(r.Alloc(U32, n), 1)
		return r.Finish()
	}
	rec := must[*Recording](t)(record(1 << 20))
	ok(t, rec.Run())
	_, err := record(1 << 25)
	wantError(t, err, "128.0 MiB", "U32[33554432]")
	ok(t, rec.Run())
	if got := a.Bytes(); got != 4<<20 {
		t.Errorf("arena of %d bytes, wanted 4 MiB", got)
	}
	other := must[*Recording](t)(record(2 << 20))
	ok(t, firstError(other.Run(), rec.Run(), other.Close(), rec.Close(), a.Close()))
}
