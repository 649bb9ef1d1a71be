package optest

import (
	"flag"
	"fmt"
	"testing"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

var tiles = flag.Bool("tiles", false, "time every tile of the matrix products")

// TestTiles prints the speed of each tile of the cooperative products over the shapes of training and prefill; the first
// column is the one that the table chooses.
func TestTiles(t *testing.T) {
	d := device(t)
	if !*tiles || len(coopTypes(d)) == 0 {
		t.Skip("run with -tiles on a device with matrix units")
	}
	const times = 8
	record := func(shape [3]int, ta, tb bool, tile int, c gpu.DType) *nn.Recorder {
		r := recorder(d, c)
		r.Tile = tile
		m, n, k := shape[0], shape[1], shape[2]
		a, b := r.Alloc(gpu.BF16, m, k), r.Alloc(gpu.BF16, k, n)
		if ta {
			a = a.Reshape(k, m)
		}
		if tb {
			b = b.Reshape(n, k)
		}
		r.Fill(a, 0x3f81bf13)
		r.Fill(b, 0xbf773e91)
		for range times {
			r.Free(r.Matmul(a, b, nn.MatmulOpts{TransA: ta, TransB: tb}))
		}
		return r
	}
	type work struct {
		shape  [3]int
		ta, tb bool
	}
	var all []work
	for _, s := range [][3]int{{8192, 576, 576}, {8192, 1536, 576}, {8192, 192, 576}, {8192, 576, 1536}, {4096, 2048, 2048},
		{4096, 8192, 2048}, {4096, 2048, 8192}, {4096, 512, 2048}, {512, 2048, 2048}, {512, 8192, 2048}, {512, 2048, 8192},
		{512, 512, 2048}, {128, 2048, 2048}} {
		all = append(all, work{s, false, true}, work{s, false, false}, work{[3]int{s[1], s[2], s[0]}, true, false})
	}
	for _, w := range all {
		line := fmt.Sprintf("%v ta=%v tb=%v:", w.shape, w.ta, w.tb)
		for tile := range 6 {
			typ := gpu.BF16
			if w.ta {
				typ = gpu.F32
			}
			rec, err := record(w.shape, w.ta, w.tb, tile, typ).Finish()
			if err != nil {
				t.Fatal(err)
			}
			best := 0.0
			for range 3 {
				s, err := rec.Time()
				if err != nil {
					t.Fatal(err)
				}
				best = max(best, times*2*float64(w.shape[0])*float64(w.shape[1])*float64(w.shape[2])/s.Seconds()/1e12)
			}
			rec.Close()
			line += fmt.Sprintf(" %5.0f", best)
		}
		fmt.Println(line)
	}
}
