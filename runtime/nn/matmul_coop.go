package nn

import (
	"strings"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// A coopTile is how matmul_coop divides a product: a tile of a workgroup, that of a subgroup, and parts of K.
type coopTile struct {
	m, n   int     // tile of a workgroup
	wm, wn int     // tile of a subgroup
	rate   float64 // what a unit of the device makes of it, relative to the best
	splits int
}

// coopTiles are the tiles to choose from.
//
// Source: shaders/VARIANTS.md.
var coopTiles = []coopTile{
	{m: 128, n: 256, wm: 64, wn: 64, rate: 1},
	{m: 256, n: 128, wm: 64, wn: 64, rate: 1},
	{m: 128, n: 128, wm: 64, wn: 64, rate: 0.9},
	{m: 64, n: 128, wm: 32, wn: 64, rate: 0.68},
	{m: 64, n: 64, wm: 32, wn: 32, rate: 0.5},
	{m: 32, n: 32, wm: 16, wn: 16, rate: 0.2},
}

// coopSide is the side of the device's fragments for operands of type t, 0 if it has none.
func (r *Recorder) coopSide(t gpu.DType) int {
	info := r.info()
	if t != gpu.BF16 && t != gpu.F16 || t == gpu.BF16 && !info.BF16Coop || t == gpu.F16 && !info.Float16 {
		return 0
	}
	if !info.MemoryModel || !info.HasBDA || !info.Int64 || !info.FullSubgroups {
		return 0
	}
	for _, side := range []int{16, 8} {
		if info.HasShape(side, side, side, strings.ToLower(t.String()), "f32") {
			return side
		}
	}
	return 0
}

// units is the number of processors that the choice of tiles counts with.
func (r *Recorder) units() int {
	switch {
	case r.info().IsCPU:
		return 2
	case r.info().Units > 0:
		return r.info().Units
	}
	return enoughTiles
}

// coop is matmul_coop, or false where the device or the shape rules it out.
func (r *Recorder) coop(p *product) (t tiling, ok bool) {
	side := r.coopSide(p.a.Type)
	if side == 0 || p.a.Type != p.b.Type || p.ta && p.tb || p.aligned()&48 != 48 {
		return t, false
	}
	if p.bias.Valid() && p.n%8 != 0 || p.add.Valid() && p.n%8 != 0 {
		return t, false
	}
	k := r.K
	t.kernel = layout(p, &k.MatmulCoopNtF16, &k.MatmulCoopNnF16, &k.MatmulCoopTnF16, nil)
	if p.a.Type == gpu.BF16 {
		t.kernel = layout(p, &k.MatmulCoopNtBf16, &k.MatmulCoopNnBf16, &k.MatmulCoopTnBf16, nil)
	}
	best := -1.0
	for i, c := range coopTiles {
		if p.m < c.m || p.n < c.n || !r.coopFits(p, &c) || r.Tile > 0 && i != r.Tile-1 {
			continue
		}
		if r.Tile == 0 && (p.ta && i == 0 || !p.ta && i == 1) {
			continue
		}
		tiles := ceilDiv(p.m, c.m) * ceilDiv(p.n, c.n) * p.batch
		for _, splits := range []int{1, 2, 3, 4, 6, 8, 12, 16} {
			if r.Splits > 0 && splits != r.Splits {
				continue
			}
			if splits > 1 && p.k/splits < 512 {
				break
			}
			each := float64(ceilDiv(tiles*splits, r.units()))
			cost := each * float64(c.m*c.n) * float64(p.k) / float64(splits) / c.rate
			if splits > 1 { // the parts travel through memory, about 300 times as dear as a multiplication
				cost += 300 * float64(p.m*p.n*p.batch*(splits+1)) / float64(r.units())
			}
			if best < 0 || cost < best {
				best = cost
				c.splits = splits
				t.coop, t.tileM, t.tileN, t.splitK, t.stepK = &c, c.m, c.n, true, 32
			}
		}
	}
	return t, t.coop != nil
}

// coopFits reports whether the device can run the tile.
func (r *Recorder) coopFits(p *product, c *coopTile) bool {
	info, lanes := r.info(), int(r.info().SubgroupSize)
	if info.IsCPU != (c.m < 64) { // a CPU driver compiles the larger ones for minutes
		return false
	}
	threads := c.m / c.wm * c.n / c.wn * lanes
	side := func(rows int, lies bool) int { // bytes of an operand's slots
		if lies {
			return rows * 56 * 2
		}
		return 48 * (rows + 8) * 2
	}
	shared := max(side(c.m, !p.ta)+side(c.n, p.tb), threads/lanes*16*(c.wn+4)*4)
	// Loads of a thread must not reach over both halves of a step.
	halves := (!p.ta || threads/(c.m/8) <= 16) && (p.tb || threads/(c.n/8) <= 16)
	return threads <= info.MaxInvocations && shared <= info.SharedBytes && halves && c.m*4 >= threads && c.n*4 >= threads
}

// coopGrid records the dispatch of matmul_coop.
func (r *Recorder) coopGrid(p product, t tiling, tiles, splits, chunk int) {
	c, lanes := t.coop, int(r.info().SubgroupSize)
	if limit := r.info().MaxGroups; tiles > limit[0] || p.batch*splits > limit[2] {
		r.failf("matmul: %v by %v needs %d x %d workgroups; the device allows %v", p.a, p.b, tiles, p.batch*splits, limit)
		return
	}
	length := 0
	if chunk%32 == 0 && chunk*splits == p.k {
		length = chunk
	}
	spec := []uint32{}
	for _, v := range []int{c.m / c.wm * c.n / c.wn * lanes, c.m, c.n, p.lda, p.ldb, int(p.epilogue()), length, c.wm, c.wn,
		r.coopSide(p.a.Type), lanes, 8} {
		spec = append(spec, uint32(v))
	}
	r.Dispatch(t.kernel, [3]int{tiles, 1, p.batch * splits}, spec, p.pushWords(splits, chunk), p.a, p.b, p.c, p.bias, p.add)
	r.Flops(p.flops())
}
