package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// Vulkan's subgroup feature bits. Source: VkSubgroupFeatureFlagBits.
const (
	subgroupArithmetic = 0x4
	subgroupShuffle    = 0x10
)

// A tiling is a kernel with the constants that fix how it divides C.
type tiling struct {
	kernel *gpu.Kernel
	spec   []uint32
	tileM  int
	tileN  int
	splitK bool // the kernel takes a part of K
	stepK  int  // parts of K are multiples of this

	coop *coopTile // of matmul_coop, which takes spec's place
}

// tiling chooses the kernel for p. This table is the only place that knows which kernels there are:
//
//	CPU driver with shuffles        lanes    rows of a tile by M, columns by layout
//	GPU, at most 8 rows, NT         few      one pass over the weights
//	GPU with matrix units, 16 bits  coop     256x128 to 64x64, by coopTiles
//	GPU                             tile     128x128, 64x64 or 32x32, the largest that fills the device
func (r *Recorder) tiling(p *product) tiling {
	info := r.info()
	shuffles := info.SubgroupOps&subgroupShuffle != 0 && info.SubgroupSize >= 4
	fewRows := p.m <= 8 && p.tb && !p.ta && info.SubgroupOps&subgroupArithmetic != 0
	switch r.Family {
	case "lanes":
		return r.lanes(p, false)
	case "lanes64":
		return r.lanes(p, true)
	case "few":
		if fewRows {
			return r.few(p)
		}
	case "coop":
		if t, ok := r.coop(p); ok {
			return t
		}
	case "":
		if info.IsCPU && shuffles {
			return r.lanes(p, r.wideWords())
		}
		if fewRows {
			return r.few(p)
		}
		if t, ok := r.coop(p); ok && !info.IsCPU {
			return t
		}
	}
	return r.tile(p)
}

// layout picks the kernel for the operands' storage.
func layout(p *product, nt, nn, tn, tt *gpu.Kernel) *gpu.Kernel {
	switch {
	case p.ta && p.tb:
		return tt
	case p.ta:
		return tn
	case p.tb:
		return nt
	}
	return nn
}

// lanes is matmul_lanes: 16 rows by two columns a lane (NT) or four (NN), which keep 32 or 64 sums. Measured on lavapipe
// 22.3 with AVX-512: NT 32, NN 31, TN 28 GFLOP/s on two cores; 8 rows lose 10 to 30 %.
func (r *Recorder) lanes(p *product, wide bool) tiling {
	lanes, k := int(r.info().SubgroupSize), r.K
	rows := laneRows(p.m, []int{1, 2, 3, 4, 6, 8, 12, 16})
	if p.ta {
		rows = laneRows(p.m, []int{4, 8, 16})
	}
	columns := 2
	t := tiling{tileM: rows, tileN: lanes * columns, splitK: true, stepK: 4 * lanes}
	if !p.tb {
		t.tileN = lanes * 4
	} else if p.n <= lanes*16 && p.m <= rows {
		columns, t.tileN = 1, lanes
	}
	t.kernel = layout(p, &k.MatmulLanesNt, &k.MatmulLanesNn, &k.MatmulLanesTn, &k.MatmulLanesTt)
	if wide {
		t.kernel = layout(p, &k.MatmulLanes64Nt, &k.MatmulLanes64Nn, &k.MatmulLanes64Tn, &k.MatmulLanes64Tt)
	}
	whole := uint32(0)
	if p.k%t.stepK == 0 {
		whole = 1
	}
	t.spec = []uint32{uint32(lanes), uint32(rows), uint32(columns), p.aligned(), whole, p.epilogue()}
	return t
}

// laneRows is the smallest of the possible tile heights that covers m rows with as few tiles as the largest does. Few
// heights keep the number of pipelines low: one takes a CPU driver up to half a second to compile.
func laneRows(m int, heights []int) int {
	most := heights[len(heights)-1]
	tiles := (m + most - 1) / most
	for _, h := range heights {
		if h*tiles >= m {
			return h
		}
	}
	return most
}

// few is matmul_few: workgroups of four subgroups, which make columns of their own or share the K of long rows where there
// are few columns.
func (r *Recorder) few(p *product) tiling {
	size := int(r.info().SubgroupSize)
	subs := 4
	for subs > 1 && subs*size > r.info().MaxInvocations {
		subs /= 2
	}
	columns, share := 2, 1
	for share < subs && p.n/columns*share < fewSubgroups && p.k/share > 8*size {
		share *= 2
	}
	ahead := 4
	if p.m > 4 {
		ahead = 2
	}
	return tiling{kernel: &r.K.MatmulFew, tileM: p.m, tileN: columns * subs / share,
		spec: []uint32{uint32(subs * size), uint32(p.m), uint32(columns), p.aligned(), uint32(share), p.epilogue(), uint32(size),
			uint32(ahead)}}
}

// fewSubgroups is the number of subgroups that keep enough loads in flight.
const fewSubgroups = 4096

// enoughTiles is the number of workgroups from which a GPU counts as full.
const enoughTiles = 128

// tile is matmul_tile.
func (r *Recorder) tile(p *product) tiling {
	info, k := r.info(), r.K
	kernel := layout(p, &k.MatmulTileNt, &k.MatmulTileNn, &k.MatmulTileTn, &k.MatmulTileTt)
	make := func(threads, side, depth, tx int) tiling {
		return tiling{kernel: kernel, tileM: side, tileN: side, splitK: true, stepK: depth,
			spec: []uint32{uint32(threads), uint32(side), uint32(side), p.aligned(), uint32(depth), p.epilogue(), uint32(tx)}}
	}
	tiles := func(side int) int { return (p.m + side - 1) / side * ((p.n + side - 1) / side) * p.batch }
	big := info.MaxInvocations >= 256
	switch {
	case big && tiles(128) >= enoughTiles && info.SharedBytes >= 17<<10:
		return make(256, 128, 16, 16)
	case big && tiles(64) >= enoughTiles/2:
		return make(256, 64, 16, 16)
	}
	return make(64, 32, 16, 8)
}

// splitK records p with the kernel of the table, its K in parts where C alone has too few tiles to fill the device.
func (r *Recorder) splitK(p product) {
	t := r.tiling(&p)
	gm, gn := (p.m+t.tileM-1)/t.tileM, (p.n+t.tileN-1)/t.tileN
	splits, chunk := r.parts(&p, t, gm*gn*p.batch)
	if splits == 1 {
		r.grid(p, t, gm, gn, 1, p.k)
		return
	}
	q := p
	q.c = r.Alloc(gpu.F32, p.batch, splits, p.m, p.n)
	q.bias, q.add, q.accumulate, q.offC, q.ldc = gpu.Tensor{}, gpu.Tensor{}, false, 0, p.n
	if t.coop == nil {
		t.spec[3], t.spec[5] = q.aligned(), 0
	}
	r.grid(q, t, gm, gn, splits, chunk)
	r.join(p, q.c, splits)
	r.Free(q.c)
}

// parts is the number of parts of K and their length, for a product of so many tiles.
func (r *Recorder) parts(p *product, t tiling, tiles int) (splits, chunk int) {
	want, least := enoughTiles, 512
	switch {
	case r.info().IsCPU:
		want = 8 // a few per core
	case t.tileM == 32: // of 64 lanes: several run on a processor at once, and waiting for loads is what takes long
		want, least = 4*r.units(), 128
	}
	splits = 1
	switch {
	case t.coop != nil:
		splits = t.coop.splits
	case t.splitK:
		splits = max(1, min(want/tiles, p.k/least, 16))
	}
	if splits == 1 {
		return 1, p.k
	}
	chunk = ceilDiv(ceilDiv(p.k, splits), 64) * 64 // a multiple of every stepK
	return ceilDiv(p.k, chunk), chunk
}

// grid records the dispatches of one kernel, in slices where the device's limits on y and z ask for it.
func (r *Recorder) grid(p product, t tiling, gm, gn, splits, chunk int) {
	if t.coop != nil {
		r.coopGrid(p, t, gm*gn, splits, chunk)
		return
	}
	limit := r.info().MaxGroups
	if gn > limit[0] || gm > limit[1] || p.batch*splits > limit[2] {
		r.failf("matmul: %v by %v needs %d x %d x %d workgroups; the device allows %v", p.a, p.b, gn, gm, p.batch*splits,
			limit)
		return
	}
	r.Dispatch(t.kernel, [3]int{gn, gm, p.batch * splits}, t.spec, p.pushWords(splits, chunk), p.a, p.b, p.c, p.bias, p.add)
	r.Flops(p.flops())
}

// join adds the parts [batch, splits, M, N] of a product into its C. A batch of products has no windows.
func (r *Recorder) join(p product, parts gpu.Tensor, splits int) {
	lanes, total := r.linearLanes(), p.m*p.n
	groups := (total/2 + lanes) / lanes
	x := min(groups, r.info().MaxGroups[0])
	r.Dispatch(&r.K.MatmulJoin, [3]int{x, (groups + x - 1) / x, p.batch}, []uint32{uint32(lanes), p.epilogue()},
		[]uint32{uint32(p.n), uint32(total), uint32(splits), uint32(p.offC), uint32(p.ldc)}, parts, p.c, p.bias, p.add)
}

// linearLanes is the workgroup size of kernels whose lanes are independent.
func (r *Recorder) linearLanes() int {
	if r.info().IsCPU {
		return int(r.info().SubgroupSize)
	}
	return min(256, r.info().MaxInvocations)
}
