package nn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vulcast/vulcast/runtime/gpu"
)

func TestLaneRows(t *testing.T) {
	heights := []int{1, 2, 3, 4, 6, 8, 12, 16}
	for _, c := range []struct{ m, want int }{
		{1, 1}, {2, 2}, {5, 6}, {7, 8}, {16, 16}, {17, 12}, {24, 12}, {25, 16}, {33, 12}, {512, 16},
	} {
		if got := laneRows(c.m, heights); got != c.want {
			t.Errorf("laneRows(%d) = %d, want %d", c.m, got, c.want)
		}
	}
}

func TestBroadcast(t *testing.T) {
	for _, c := range []struct {
		name         string
		la, lb, lead []int
		want         [6]int // batch, inner, aOuter, aInner, bOuter, bInner for M K N = 2 3 5
		err          bool
	}{
		{"none", nil, nil, nil, [6]int{1, 1, 0, 0, 0, 0}, false},
		{"equal", []int{2, 4}, []int{2, 4}, []int{2, 4}, [6]int{8, 8, 0, 6, 0, 15}, false},
		{"b once", []int{7}, nil, []int{7}, [6]int{7, 7, 0, 6, 0, 0}, false},
		{"a once", []int{1}, []int{7}, []int{7}, [6]int{7, 7, 0, 0, 0, 15}, false},
		{"b repeats within", []int{2, 4}, []int{2, 1}, []int{2, 4}, [6]int{8, 4, 24, 6, 15, 0}, false},
		{"crossed", []int{2, 1}, []int{1, 4}, []int{2, 4}, [6]int{8, 4, 6, 0, 0, 15}, false},
		{"differ", []int{2}, []int{3}, nil, [6]int{}, true},
		{"three groups", []int{2, 1, 2}, []int{1, 2, 1}, nil, [6]int{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := product{m: 2, k: 3, n: 5}.plain()
			lead, err := p.broadcast(c.la, c.lb)
			if (err != nil) != c.err {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			got := [6]int{p.batch, p.inner, p.aOuter, p.aInner, p.bOuter, p.bInner}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("strides (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.lead, lead); diff != "" {
				t.Errorf("shape (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRowsWithin: pieces fit, begin aligned, and are as large as those two allow.
func TestRowsWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		align := rapid.SampledFrom([]int64{4, 16, 64, 256}).Draw(t, "align")
		limit := int64(rapid.IntRange(1<<10, 1<<20).Draw(t, "limit"))
		dev := &gpu.Device{Info: gpu.Info{MinOffsetAlign: align}}
		r := &Recorder{Recorder: &gpu.Recorder{}, Dev: dev}
		var tensors []stored
		for range rapid.IntRange(1, 3).Draw(t, "tensors") {
			typ := rapid.SampledFrom([]gpu.DType{gpu.F32, gpu.BF16}).Draw(t, "type")
			tensors = append(tensors, stored{gpu.Tensor{Type: typ}, rapid.IntRange(1, 700).Draw(t, "cols")})
		}
		fits := func(n int) bool {
			for _, s := range tensors {
				if int64(n*s.cols*s.t.Type.Size()) > limit {
					return false
				}
			}
			return true
		}
		aligned := func(n int) bool {
			for _, s := range tensors {
				if int64(n*s.cols*s.t.Type.Size())%align != 0 {
					return false
				}
			}
			return true
		}
		n := r.rowsWithin(limit, tensors...)
		if n == 0 {
			if r.Err() == nil {
				t.Fatal("no rows and no error")
			}
			for k := 1; fits(k); k++ {
				if aligned(k) {
					t.Fatalf("no rows, but %d fit and are aligned", k)
				}
			}
			return
		}
		if !fits(n) || !aligned(n) {
			t.Fatalf("%d rows: fit %v, aligned %v", n, fits(n), aligned(n))
		}
	})
}

func TestHyperWords(t *testing.T) {
	w := Hyper{LR: 0.5, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.1, Step: 1, MaxNorm: 2}.Words()
	want := []float32{5, 0.1, 0.001, 0.999, 0.0316227766, 1e-8, 0.05, 2, 1}
	if diff := cmp.Diff(want, w[:9], cmp.Comparer(func(a, b float32) bool { return max(a-b, b-a) <= 1e-7*max(a, -a) })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(w) != HyperWords {
		t.Errorf("%d words, want %d", len(w), HyperWords)
	}
}
