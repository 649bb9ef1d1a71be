package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// sumTolerance bounds the error of an f32 sum of n products relative to the largest result: the rounding of a random walk of
// n steps, with room for the worst of many elements. 16-bit results add half an ulp of their own.
func sumTolerance(n int, typ gpu.DType) float64 {
	tol := 6e-8 * (4 + 2*math.Sqrt(float64(n)))
	switch typ {
	case gpu.BF16:
		tol += 1.0 / 256
	case gpu.F16:
		tol += 1.0 / 2048
	}
	return tol
}

// families are the kernel families that this device can run.
func families(d *gpu.Device) []string {
	all := []string{"", "tile", "few"}
	if d.Info.SubgroupOps&0x10 != 0 {
		all = append(all, "lanes")
		if d.Info.Int64 {
			all = append(all, "lanes64")
		}
	}
	return all
}

func TestMatmulShapes(t *testing.T) {
	d := device(t)
	shapes := [][3]int{{1, 1, 1}, {3, 5, 7}, {8, 40, 100}, {17, 33, 64}, {70, 130, 50}, {129, 65, 31}, {40, 12, 1537}}
	for _, family := range families(d) {
		for i, s := range shapes {
			if family != "" && i%2 == 1 {
				continue
			}
			for layout := range 4 {
				ta, tb := layout&1 != 0, layout&2 != 0
				t.Run(fmt.Sprintf("%s %v ta=%v tb=%v", family, s, ta, tb), func(t *testing.T) {
					checkMatmul(t, d, family, matmulCase{m: s[0], n: s[1], k: s[2], ta: ta, tb: tb, seed: uint64(i)})
				})
			}
		}
	}
}

func TestMatmulStorage(t *testing.T) {
	d := device(t)
	for _, family := range families(d) {
		for _, typ := range []gpu.DType{gpu.BF16, gpu.F16} {
			for i, s := range [][3]int{{1, 576, 64}, {20, 66, 70}} {
				for layout := range 4 {
					c := matmulCase{m: s[0], n: s[1], k: s[2], ta: layout&1 != 0, tb: layout&2 != 0, seed: uint64(i), b: typ, c: typ}
					if layout%2 == 0 {
						c.a = typ
					}
					t.Run(fmt.Sprintf("%s %v %v %d", family, typ, s, layout), func(t *testing.T) { checkMatmul(t, d, family, c) })
				}
			}
		}
	}
}

func TestMatmulBatched(t *testing.T) {
	d := device(t)
	for _, c := range []matmulCase{
		{name: "same", m: 9, n: 12, k: 16, la: []int{2, 3}, lb: []int{2, 3}},
		{name: "one b", m: 9, n: 12, k: 16, la: []int{5}, tb: true},
		{name: "one a", m: 9, n: 12, k: 16, lb: []int{5}, ta: true},
		{name: "outer a, inner b", m: 5, n: 8, k: 12, la: []int{3, 1}, lb: []int{1, 4}},
		{name: "grouped", m: 5, n: 8, k: 12, la: []int{3, 4}, lb: []int{3, 1}, add: true},
		{name: "split", m: 5, n: 8, k: 2000, la: []int{3}, lb: []int{3}, add: true},
		{name: "long", m: 3, n: 6, k: 20001, la: []int{2}, lb: []int{2}},
		{name: "long 16 bit", m: 30, n: 18, k: 20004, ta: true, c: gpu.BF16},
		{name: "odd", m: 3, n: 7, k: 5, la: []int{3}, lb: []int{3}, ta: true, tb: true},
	} {
		for _, family := range families(d) {
			t.Run(c.name+" "+family, func(t *testing.T) { checkMatmul(t, d, family, c) })
		}
	}
}

type matmulCase struct {
	name    string
	m, n, k int
	ta, tb  bool
	la, lb  []int // leading dimensions
	add     bool
	a, b, c gpu.DType
	seed    uint64
}

func checkMatmul(t *testing.T, d *gpu.Device, family string, c matmulCase) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(11, c.seed))
	shape := func(lead []int, rows, cols int, swap bool) []int {
		if swap {
			rows, cols = cols, rows
		}
		return append(append([]int(nil), lead...), rows, cols)
	}
	a, b := normals(rnd, shape(c.la, c.m, c.k, c.ta)...), normals(rnd, shape(c.lb, c.k, c.n, c.tb)...)
	x, y := upload(t, d, c.a, a), upload(t, d, c.b, b)
	call := &refrun.Call{In: []*refrun.Array{a, b, nil},
		Attr: map[string]any{"trans_a": c.ta, "trans_b": c.tb, "alpha": 0.75}}
	opt := nn.MatmulOpts{TransA: c.ta, TransB: c.tb, Alpha: 0.75}
	if c.add {
		lead := make([]int, max(len(c.la), len(c.lb)))
		for i := range lead {
			lead[i] = max(append([]int{1}, c.la...)[min(i+1, len(c.la))], append([]int{1}, c.lb...)[min(i+1, len(c.lb))])
		}
		call.In[2] = normals(rnd, append(lead, c.m, c.n)...)
		opt.Add = upload(t, d, gpu.F32, call.In[2])
	}
	r := recorder(d, c.c)
	r.Family = family
	out := r.Matmul(x, y, opt)
	if c.c != gpu.F32 && c.n%2 != 0 {
		if r.Err() == nil {
			t.Error("odd rows of 16 bits accepted")
		}
		return
	}
	run(t, r)
	want, err := refrun.Kernels()["matmul"](call)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "product", download(t, d, out), want[0], sumTolerance(c.k, c.c))
}
