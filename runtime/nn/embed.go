package nn

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// Embed returns the rows of table [V, D] that index (I32, any shape) names: [..., D] stored as r.Act. Negative indices and
// those from V on give zeros; callers check their data.
func (r *Recorder) Embed(table *Param, index gpu.Tensor) gpu.Tensor {
	return r.rowsOf(table, index, r.Act)
}

// rowsOf is Embed with a result of the given storage.
func (r *Recorder) rowsOf(table *Param, index gpu.Tensor, stored gpu.DType) gpu.Tensor {
	if r.Err() != nil || !r.checkTable(table) {
		return gpu.Tensor{}
	}
	vocab, d := table.Shape[0], table.Shape[1]
	y := r.Alloc(stored, append(append([]int(nil), index.Shape...), d)...)
	if d%2 != 0 && (y.Type.Size() == 2 || table.Value.Type.Size() == 2) {
		r.failf("embed %s: rows of %d elements stored in 16 bits; rows of 16-bit tensors must have even length: use f32",
			table.Name, d)
		return y
	}
	lanes := r.rowLanes(d)
	r.eachRows(index, y, d, func(index, y gpu.Tensor, n int) {
		r.eachPiece(table.Value, vocab, d, func(piece gpu.Tensor, from, count int) {
			r.DispatchLinear(&r.K.Embed, n, []uint32{uint32(lanes), flag(d%4 == 0)},
				[]uint32{uint32(n), uint32(d), uint32(from), uint32(count), uint32(vocab)}, piece, index, y)
		})
	})
	return y
}

// EmbedGrad records the gradient of table: the sum of the rows of dy [..., D] for each index, in the order of the rows,
// without atomics. Rows of the table that no index names get zero.
func (r *Recorder) EmbedGrad(table *Param, index, dy gpu.Tensor) {
	r.EmbedGradPadded(table, index, dy, -1)
}

// EmbedGradPadded is EmbedGrad for tables with a padding row, whose gradient stays zero; -1 means there is none.
func (r *Recorder) EmbedGradPadded(table *Param, index, dy gpu.Tensor, padding int) {
	if r.Err() != nil || table.Frozen || !r.checkTable(table) {
		return
	}
	n, d := index.Len(), table.Shape[1]
	if dy.Len() != n*d {
		r.failf("embed %s: gradient is %v, want %d rows of %d", table.Name, dy, n, d)
		return
	}
	grad, accumulate := r.GradInto(table)
	if !accumulate {
		r.Fill(grad, 0)
	}
	skip := uint32(math.MaxUint32)
	if padding >= 0 {
		skip = uint32(padding)
	}
	r.eachRows(index, dy, d, func(index, dy gpu.Tensor, n int) { r.embedGrad(index, dy, grad, n, d, skip) })
}

// embedGrad adds n rows of dy to grad, all rows of one index by one writer.
func (r *Recorder) embedGrad(index, dy, grad gpu.Tensor, n, d int, skip uint32) {
	if n > r.info().MaxGroups[0] {
		r.failf("embed: %d tokens in one step; the device allows %d", n, r.info().MaxGroups[0])
		return
	}
	lanes := r.linearLanes()
	link := r.Alloc(gpu.U32, n, 2)
	r.Dispatch(&r.K.EmbedLinks, [3]int{(n + lanes - 1) / lanes, 1, 1}, []uint32{uint32(lanes)}, []uint32{uint32(n)}, index,
		link)
	lanes = r.rowLanes(d * 4) // a lane takes one column here
	r.eachPiece(grad, grad.Rows(), d, func(piece gpu.Tensor, from, count int) {
		r.Dispatch(&r.K.EmbedGrad, [3]int{n, (d + lanes - 1) / lanes, 1}, []uint32{uint32(lanes)},
			[]uint32{uint32(n), uint32(d), uint32(from), uint32(count), skip}, dy, index, link, piece)
	})
	r.Free(link)
}

func (r *Recorder) checkTable(table *Param) bool {
	if len(table.Shape) != 2 {
		r.failf("embed %s: the table is %v, want two dimensions", table.Name, table.Shape)
		return false
	}
	return true
}

// eachRows calls do for index and its rows of t, in pieces where t is larger than one binding reaches.
func (r *Recorder) eachRows(index, t gpu.Tensor, cols int, do func(index, t gpu.Tensor, n int)) {
	n, limit := index.Len(), r.info().MaxStorageBufferRange
	if t.Bytes() <= limit {
		do(index, t, n)
		return
	}
	step := r.rowsWithin(limit, stored{t, cols}, stored{index, 1})
	for from := 0; step > 0 && from < n; from += step {
		k := min(step, n-from)
		do(rows(index, n, 1, from, k), rows(t, n, cols, from, k), k)
	}
}

// eachPiece calls do for t [total, cols], in pieces of rows where t is larger than one binding reaches.
func (r *Recorder) eachPiece(t gpu.Tensor, total, cols int, do func(piece gpu.Tensor, from, count int)) {
	limit := r.info().MaxStorageBufferRange
	if t.Bytes() <= limit {
		do(t, 0, total)
		return
	}
	step := r.rowsWithin(limit, stored{t, cols})
	for from := 0; step > 0 && from < total; from += step {
		n := min(step, total-from)
		do(rows(t, total, cols, from, n), from, n)
	}
}

// rowLanes is the workgroup size for rows of cols elements taken four a lane: one subgroup on a CPU, else as many
// subgroups as the row fills, at most 256 lanes.
func (r *Recorder) rowLanes(cols int) int {
	info := r.info()
	lanes := max(1, int(info.SubgroupSize))
	for !info.IsCPU && lanes*4 < cols && lanes < 256 && 2*lanes <= info.MaxInvocations {
		lanes *= 2
	}
	return lanes
}
