package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// TestAttentionPlaces compares attention to chosen keys, and in chunks, with attention under a bias that hides the same keys.
func TestAttentionPlaces(t *testing.T) { testPlaces(t, device(t), "") }

// TestAttentionPlacesTile runs the GPU kernels on every device.
func TestAttentionPlacesTile(t *testing.T) {
	d := device(t)
	if !d.Info.IsCPU || testing.Short() {
		t.Skip("TestAttentionPlaces has run these kernels, or they are slow to compile")
	}
	d.Info.IsCPU = false
	defer func() { d.Info.IsCPU = true }()
	testPlaces(t, d, "chunks")
}

func testPlaces(t *testing.T, d *gpu.Device, only string) {
	for _, c := range []struct {
		name          string
		B, T, H, K, E int
		chunk         int // 0: chosen keys
	}{
		{name: "chosen", B: 2, T: 37, H: 4, K: 2, E: 16},
		{name: "chosen, odd", B: 1, T: 70, H: 3, K: 1, E: 7},
		{name: "chunks", B: 2, T: 41, H: 4, K: 4, E: 8, chunk: 6},
		{name: "chunks of one", B: 1, T: 9, H: 2, K: 1, E: 8, chunk: 1},
		{name: "one chunk", B: 1, T: 13, H: 2, K: 2, E: 8, chunk: 64},
	} {
		if only != "" && only != c.name {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, uint64(c.T)))
			words := (c.T + 31) / 32
			bits, hidden := make([]int, c.B*c.T*words), &refrun.Array{Shape: []int{c.B, c.H, c.T, c.T}}
			hidden.Data = make([]float64, c.B*c.H*c.T*c.T)
			for row := range c.B * c.T {
				b, q := row/c.T, row%c.T
				for s := range c.T {
					see := s == q || rng.IntN(3) == 0
					if c.chunk > 0 {
						see = s/c.chunk == q/c.chunk
					}
					if see {
						bits[row*words+s/32] |= int(int32(1 << (s % 32)))
						continue
					}
					for h := range c.H {
						hidden.Data[((b*c.H+h)*c.T+q)*c.T+s] = -1e30
					}
				}
			}
			q, k, v := normals(rng, c.B, c.T, c.H, c.E), normals(rng, c.B, c.T, c.K, c.E), normals(rng, c.B, c.T, c.K, c.E)
			dy := normals(rng, c.B, c.T, c.H, c.E)
			results := func(a nn.AttentionAttrs, bias gpu.Tensor) [][]float64 {
				r := recorder(d, gpu.F32)
				b := &nn.Batch{B: c.B, T: c.T, S: c.T}
				a.Causal, a.Scale = true, 0.3
				x, y, z, g := upload(t, d, gpu.F32, q), upload(t, d, gpu.F32, k), upload(t, d, gpu.F32, v), upload(t, d, gpu.F32, dy)
				out, lse := r.Attention(b, b, x, y, z, bias, gpu.Tensor{}, a)
				dq, dk, dv, _, _ := r.AttentionGrad(b, b, x, y, z, bias, gpu.Tensor{}, out, lse, g, a)
				run(t, r)
				var all [][]float64
				for _, o := range []gpu.Tensor{out, dq, dk, dv} {
					all = append(all, download(t, d, o))
				}
				return all
			}
			want := results(nn.AttentionAttrs{}, upload(t, d, gpu.F32, hidden))
			got := results(nn.AttentionAttrs{Chunk: c.chunk}, gpu.Tensor{})
			if c.chunk == 0 {
				got = results(nn.AttentionAttrs{Chosen: uploadInts(t, d, bits, c.B, c.T, words)}, gpu.Tensor{})
			}
			for i, name := range []string{"y", "dq", "dk", "dv"} {
				near(t, name, got[i], &refrun.Array{Shape: []int{len(want[i])}, Data: want[i]}, 1e-6)
			}
		})
	}
}

// TestChooseKeys checks the choice for distinct scores, with and without earlier keys, and that ties fill the number.
func TestChooseKeys(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		B, T, S, k, base int
		ties             bool
	}{{2, 17, 17, 4, 0, false}, {1, 3, 40, 5, 20, false}, {1, 200, 200, 3, 0, false}, {2, 5, 5, 9, 0, false}, {1, 50, 50, 7, 0, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, uint64(c.S)))
			scores := normals(rng, c.B, c.T, c.S)
			if c.ties {
				for i := range scores.Data {
					scores.Data[i] = max(0, math.Round(scores.Data[i]))
				}
			}
			r := recorder(d, gpu.F32)
			b := &nn.Batch{B: c.B, T: c.T, S: c.S, Base: uploadInts(t, d, []int{c.base}, 1)}
			chosen := r.ChooseKeys(b, upload(t, d, gpu.F32, scores), nn.ChooseKeysAttrs{K: c.k})
			run(t, r)
			got := make([]int32, chosen.Len())
			if err := d.Read(chosen, got); err != nil {
				t.Fatal(err)
			}
			words := (c.S + 31) / 32
			for row := range c.B * c.T {
				last := c.base + row%c.T
				seen := append([]float64(nil), scores.Data[row*c.S:][:last+1]...)
				sort.Sort(sort.Reverse(sort.Float64Slice(seen)))
				want := seen[:min(c.k, len(seen))]
				var have []float64
				for s := range last + 1 {
					if uint32(got[row*words+s/32])>>(s%32)&1 == 1 {
						have = append(have, scores.Data[row*c.S+s])
					}
				}
				sort.Sort(sort.Reverse(sort.Float64Slice(have)))
				if fmt.Sprint(have) != fmt.Sprint(want) {
					t.Fatalf("row %d: chose %v, want %v", row, have, want)
				}
			}
		})
	}
}

// TestGroupLimit checks the groups that stay.
func TestGroupLimit(t *testing.T) {
	d := device(t)
	x := &refrun.Array{Shape: []int{2, 6}, Data: []float64{1, 5, 3, 3, 0, 9, 2, 2, 2, 2, 2, 2}}
	for _, c := range []struct {
		a    nn.GroupLimitAttrs
		want []float64
	}{
		{nn.GroupLimitAttrs{Groups: 3, Keep: 1, Best: 1, Zero: true}, []float64{0, 0, 0, 0, 0, 9, 2, 2, 0, 0, 0, 0}},
		{nn.GroupLimitAttrs{Groups: 3, Keep: 2, Best: 2, Zero: true}, []float64{1, 5, 0, 0, 0, 9, 2, 2, 2, 2, 0, 0}},
		{nn.GroupLimitAttrs{Groups: 2, Keep: 1, Best: 2, Zero: true}, []float64{0, 0, 0, 3, 0, 9, 2, 2, 2, 0, 0, 0}},
	} {
		r := recorder(d, gpu.F32)
		y := r.GroupLimit(upload(t, d, gpu.F32, x), c.a)
		run(t, r)
		near(t, fmt.Sprint(c.a), download(t, d, y), &refrun.Array{Shape: x.Shape, Data: c.want}, 0)
	}
}

// TestIndexScores compares scores with their definition.
func TestIndexScores(t *testing.T) {
	d := device(t)
	const B, T, S, H, D = 2, 3, 5, 4, 7
	rng := rand.New(rand.NewPCG(1, 2))
	q, k, w := normals(rng, B, T, H, D), normals(rng, B, S, D), normals(rng, B, T, H)
	r := recorder(d, gpu.F32)
	y := r.IndexScores(upload(t, d, gpu.F32, q), upload(t, d, gpu.F32, k), upload(t, d, gpu.F32, w), nn.IndexScoresAttrs{Scale: 0.5})
	run(t, r)
	want := &refrun.Array{Shape: []int{B, T, S}}
	for row := range B * T {
		for s := range S {
			sum := 0.0
			for h := range H {
				dotted := 0.0
				for e := range D {
					dotted += q.Data[(row*H+h)*D+e] * k.Data[(row/T*S+s)*D+e]
				}
				sum += w.Data[row*H+h] * max(0, 0.5*dotted)
			}
			want.Data = append(want.Data, sum)
		}
	}
	near(t, "y", download(t, d, y), want, 1e-5)
}
