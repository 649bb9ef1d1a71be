package gpu

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPlan checks, over random sequences of takes and gives, that live ranges never overlap, stay aligned
// and inside their block, that blocks stay within 1 GiB unless one tensor is larger, and that everything
// given back joins into one gap.
func TestPlan(t *testing.T) {
	type region struct {
		block    int
		at, size int64
	}
	rapid.Check(t, func(t *rapid.T) {
		var p plan
		var live []region
		var used, peak int64
		largest := int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "give") {
				k := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				p.give(live[k].block, live[k].at, live[k].size)
				used -= live[k].size
				live = append(live[:k], live[k+1:]...)
				continue
			}
			units := rapid.OneOf(rapid.Int64Range(1, 64), rapid.Int64Range(1, 6<<20)).Draw(t, "size")
			r := region{size: units * allocAlign}
			r.block, r.at = p.take(r.size)
			largest, used = max(largest, r.size), used+r.size
			peak = max(peak, used)
			if r.at%allocAlign != 0 || r.at < 0 {
				t.Fatalf("offset %d", r.at)
			}
			for _, x := range live {
				if x.block == r.block && x.at < r.at+r.size && r.at < x.at+x.size {
					t.Fatalf("%+v overlaps %+v", r, x)
				}
			}
			live = append(live, r)
		}
		for i, size := range p.sizes() {
			if size > max(maxBlock, largest) {
				t.Fatalf("block %d has %d bytes", i, size)
			}
		}
		if p.bytes() < peak {
			t.Fatalf("plan of %d bytes for a peak of %d", p.bytes(), peak)
		}
		for _, r := range live {
			p.give(r.block, r.at, r.size)
		}
		for i, s := range p.blocks {
			if len(s.gaps) != 1 || s.gaps[0] != (gap{0, s.limit}) || s.used != 0 {
				t.Fatalf("block %d is left with gaps %v, %d used", i, s.gaps, s.used)
			}
		}
	})
}

func TestPlanReuse(t *testing.T) {
	var p plan
	take := func(n int64) int64 { _, at := p.take(n * allocAlign); return at / allocAlign }
	a, b, c := take(4), take(2), take(4)
	p.give(0, a*allocAlign, 4*allocAlign)
	if got := take(4); got != a {
		t.Errorf("a range of the same size at %d, wanted %d", got, a)
	}
	p.give(0, b*allocAlign, 2*allocAlign)
	if got := take(1); got != b {
		t.Errorf("a smaller range at %d, wanted %d", got, b)
	}
	p.give(0, c*allocAlign, 4*allocAlign)
	if got, want := p.bytes(), int64(10*allocAlign); got != want {
		t.Errorf("%d bytes, wanted %d", got, want)
	}
	if got := take(5); got != b+1 {
		t.Errorf("the joined tail at %d, wanted %d", got, b+1)
	}
	if block, at := p.take(3 << 30); block != 1 || at != 0 || p.sizes()[1] != 3<<30 {
		t.Errorf("a tensor of 3 GiB at block %d, %d of %v", block, at, p.sizes())
	}
}
