package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// SumRows adds the sum over all rows of x [..., D] to the gradient of p [D]. The order of the additions depends on the
// shape alone.
func (r *Recorder) SumRows(x gpu.Tensor, p *Param) {
	if r.Err() != nil {
		return
	}
	grad, accumulate := r.GradInto(p)
	r.SumRowsInto(x, grad, accumulate)
}

// SumRowsInto writes the sum over all rows of x [..., D] to sum (f32, D elements), or adds it.
func (r *Recorder) SumRowsInto(x, sum gpu.Tensor, accumulate bool) {
	if r.Err() != nil {
		return
	}
	rows, cols := x.Rows(), x.Cols()
	if sum.Len() != cols || sum.Type != gpu.F32 {
		r.failf("sum_rows of %v: the sum is %v, want f32 with %d elements", x, sum, cols)
		return
	}
	// Pieces within one binding; each adds to the sum of those before.
	step := rows
	if limit := r.info().MaxStorageBufferRange; x.Bytes() > limit {
		if step = r.rowsWithin(limit, stored{x, cols}); step == 0 {
			return
		}
	}
	for from := 0; from < rows; from += step {
		n := min(step, rows-from)
		part := x
		if n < rows {
			part = x.Reshape(rows, cols).Slice(from, from+n)
		}
		r.sumRows(part, sum, n, accumulate || from > 0)
	}
}

// sumRows sums in two stages when one lane per column would leave the device idle: chunks of rows, then the chunks.
func (r *Recorder) sumRows(x, sum gpu.Tensor, rows int, accumulate bool) {
	cols := sum.Len()
	lanes := min(r.linearLanes(), 64)
	groups := (cols + lanes - 1) / lanes
	const least = 32 // rows of a chunk
	chunks := max(1, min(rows/least, 1024/groups, r.info().MaxGroups[1]))
	chunk := (rows + chunks - 1) / chunks
	chunks = (rows + chunk - 1) / chunk
	spec := []uint32{uint32(lanes)}
	if chunks == 1 {
		r.Dispatch(&r.K.SumRows, [3]int{groups, 1, 1}, spec,
			[]uint32{uint32(rows), uint32(cols), uint32(rows), flag(accumulate)}, x, sum)
		return
	}
	part := r.Alloc(gpu.F32, chunks, cols)
	r.Dispatch(&r.K.SumRows, [3]int{groups, chunks, 1}, spec,
		[]uint32{uint32(rows), uint32(cols), uint32(chunk), 0}, x, part)
	r.Dispatch(&r.K.SumRows, [3]int{groups, 1, 1}, spec,
		[]uint32{uint32(chunks), uint32(cols), uint32(chunks), flag(accumulate)}, part, sum)
	r.Free(part)
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
