package gpu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHazards(t *testing.T) {
	a := &storage{kind: planned, slot: 0, at: 0, bytes: 1024}
	b := &storage{kind: planned, slot: 0, at: 1024, bytes: 1024}
	again := &storage{kind: planned, slot: 0, at: 512, bytes: 1024} // reuses bytes of a and b
	other := &storage{kind: planned, slot: 1, at: 0, bytes: 1024}
	disk := &storage{kind: persistent, block: &block{}, at: 0, bytes: 1024}
	read := func(s *storage) use { return use{s, 0, s.bytes, true, false} }
	write := func(s *storage) use { return use{s, 0, s.bytes, false, true} }
	part := func(s *storage, from, to int64) use { return use{s, from, to, false, true} }
	unused := func(s *storage) use { return use{s, 0, s.bytes, false, false} }
	tests := []struct {
		name string
		in   [][]use
		want []bool
	}{
		{"read after write", [][]use{{write(a)}, {read(a)}}, []bool{false, true}},
		{"write after read", [][]use{{read(a)}, {write(a)}}, []bool{false, true}},
		{"write after write", [][]use{{write(a)}, {write(a)}}, []bool{false, true}},
		{"read after read", [][]use{{read(a)}, {read(a)}}, []bool{false, false}},
		{"neighbours", [][]use{{write(a)}, {write(b)}, {read(b), read(a)}}, []bool{false, false, true}},
		{"cleared by a barrier", [][]use{{write(a)}, {read(a)}, {read(a)}}, []bool{false, true, false}},
		{"reads of the barrier's operation count", [][]use{{write(a)}, {read(a)}, {write(a)}},
			[]bool{false, true, true}},
		{"reused bytes", [][]use{{read(a)}, {write(again)}, {read(b)}}, []bool{false, true, true}},
		{"other block", [][]use{{write(a)}, {write(other)}, {write(disk)}}, []bool{false, false, false}},
		{"disjoint parts", [][]use{{part(a, 0, 512)}, {part(a, 512, 1024)}, {part(a, 500, 516)}},
			[]bool{false, false, true}},
		{"in place", [][]use{{read(a), write(a)}}, []bool{false}},
		{"unused binding", [][]use{{write(a)}, {unused(a)}}, []bool{false, false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHazards()
			var got []bool
			for _, u := range test.in {
				got = append(got, h.step(u))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestManyRanges(t *testing.T) {
	h := newHazards()
	barriers := 0
	for i := range int64(10_000) {
		if h.step([]use{{&storage{kind: planned, at: i * 256, bytes: 256}, 0, 256, false, true}}) {
			barriers++
		}
	}
	if barriers != 4 {
		t.Errorf("%d barriers for 10000 disjoint writes, wanted 4", barriers)
	}
}

func TestBarriersOnlyOnConflicts(t *testing.T) {
	d := open(t, Options{})
	x := must[Tensor](t)(d.Alloc(F32, 64))
	r := d.NewRecorder()
	var ys []Tensor
	for range 10 { // independent of each other
		y := r.Alloc(F32, 64)
		r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{64}, []uint32{64, 0}, x, x, y)
		ys = append(ys, y)
	}
	for i := 1; i < 10; i++ { // the first needs a barrier, which covers the others
		y := r.Alloc(F32, 64)
		r.Dispatch(&axpy, [3]int{1, 1, 1}, []uint32{64}, []uint32{64, 0}, ys[i-1], ys[i], y)
	}
	rec := must[*Recording](t)(r.Finish())
	for range 2 { // the first run of a GPU is measured, with a barrier everywhere
		ok(t, rec.Run())
	}
	if rec.Barriers() != 1 {
		t.Errorf("%d barriers, wanted 1", rec.Barriers())
	}
}
