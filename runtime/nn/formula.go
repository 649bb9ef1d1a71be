package nn

import (
	"github.com/vulcast/vulcast/runtime/gpu"
)

// Formula is the launch of a generated formula kernel over the rows x D elements of one tensor's shape. The generated
// launcher names its operands in binding order, then its numbers, then records it.
type Formula struct {
	r      *Recorder
	k      *gpu.Kernel
	shape  []int
	rows   int
	d      int
	byRows bool // a kernel of rows: one workgroup goes through every groups-th row
	groups int
	quads  bool // four elements at a time
	act    uint32
	hasAct bool
	binds  []gpu.Bind
	push   []uint32
	floats []float32
	spread bool // an operand keeps its place when rows are cut (column sums): no cutting
}

// Formula starts the launch of k over the shape of like.
func (r *Recorder) Formula(k *gpu.Kernel, like gpu.Tensor, byRows bool) *Formula {
	f := &Formula{r: r, k: k, shape: like.Shape, byRows: byRows, rows: like.Rows(), d: like.Cols()}
	if len(like.Shape) == 0 {
		f.rows, f.d = 1, 1
	}
	f.quads = f.d%4 == 0
	if !byRows {
		f.quads = f.rows*f.d%4 == 0
	}
	f.groups = f.rows
	return f
}

// Activation sets the activation constant by name.
func (f *Formula) Activation(name string) {
	id, err := ActivationID(name)
	if err != nil {
		f.r.Fail(err)
	}
	f.act, f.hasAct = id, true
}

func (f *Formula) in(t gpu.Tensor, perRow bool) {
	if !t.Valid() {
		f.r.failf("kernel %s: operand %d is missing", f.k.Name, len(f.binds))
	}
	f.binds = append(f.binds, gpu.Bind{T: t, PerRow: perRow})
}

// InFull adds an operand with one element for each of the iteration.
func (f *Formula) InFull(t gpu.Tensor) {
	if f.r.Err() == nil && t.Len() != f.rows*f.d {
		f.r.failf("kernel %s: operand %d is %v, want %d x %d elements", f.k.Name, len(f.binds), t, f.rows, f.d)
	}
	f.in(t, true)
}

// InVector adds an operand of the last dimension.
func (f *Formula) InVector(t gpu.Tensor) {
	if f.r.Err() == nil && t.Len() != f.d {
		f.r.failf("kernel %s: operand %d is %v, want %d elements", f.k.Name, len(f.binds), t, f.d)
	}
	f.in(t, false)
}

// InSuffix adds an operand of several last dimensions.
func (f *Formula) InSuffix(t gpu.Tensor) {
	f.in(t, false)
	f.push = append(f.push, uint32(t.Len()))
	f.spread = true
}

// InRow adds an operand with one value a row.
func (f *Formula) InRow(t gpu.Tensor) {
	if f.r.Err() == nil && t.Len() != f.rows {
		f.r.failf("kernel %s: operand %d is %v, want %d rows", f.k.Name, len(f.binds), t, f.rows)
	}
	f.in(t, true)
}

// InPrefix adds an operand of leading dimensions.
func (f *Formula) InPrefix(t gpu.Tensor) {
	f.in(t, false)
	f.push = append(f.push, uint32(f.rows*f.d/max(1, t.Len())))
	f.spread = true
}

// InScalar adds an operand of one value.
func (f *Formula) InScalar(t gpu.Tensor) { f.in(t, false) }

// OutFull allocates a result of the iteration's shape.
func (f *Formula) OutFull(t gpu.DType) gpu.Tensor {
	out := f.r.Alloc(t, f.shape...)
	f.binds = append(f.binds, gpu.Bind{T: out, PerRow: true})
	return out
}

// OutRow allocates a result with one value a row.
func (f *Formula) OutRow(t gpu.DType) gpu.Tensor {
	shape := append([]int{}, f.shape...)
	if n := len(shape); n > 0 { // a tensor without a shape comes from an op that failed
		shape[n-1] = 1
	}
	out := f.r.Alloc(t, shape...)
	f.binds = append(f.binds, gpu.Bind{T: out, PerRow: true})
	return out
}

// OutColumn allocates the partial sums over rows of a result: [groups, D] in f32. Their number depends on the shape and
// the kind of device alone, so the same run gives the same bits.
func (f *Formula) OutColumn() gpu.Tensor {
	f.groups = min(f.rows, f.r.columnGroups())
	f.spread = true
	out := f.r.Alloc(gpu.F32, f.groups, f.d)
	f.binds = append(f.binds, gpu.Bind{T: out})
	return out
}

// columnGroups is how many groups of rows sum columns in parallel.
func (r *Recorder) columnGroups() int {
	if r.info().IsCPU {
		return 16
	}
	return 512
}

// Float adds a number.
func (f *Formula) Float(v float32) { f.floats = append(f.floats, v) }

// Record records the launch.
func (f *Formula) Record() {
	if f.r.Err() != nil || f.rows == 0 || f.d == 0 {
		return
	}
	if !f.quads {
		for _, b := range f.binds {
			if b.PerRow && b.T.Type.Size() == 2 {
				f.r.failf("kernel %s: rows of %d elements in 16-bit storage: their length must be a multiple of 4; use f32", f.k.Name, f.d)
				return
			}
		}
	}
	w := uint32(1)
	if f.quads {
		w = 4
	}
	lanes := f.lanes(int(w))
	spec := []uint32{uint32(lanes), w, 0}
	if f.byRows {
		spec[2] = f.r.oneSubgroup(lanes)
	}
	if f.hasAct {
		spec = append(spec, f.act)
	}
	groups := func(rows int) int {
		if f.byRows {
			return min(rows, f.groups)
		}
		return ceilDiv(rows*f.d, int(w)*lanes)
	}
	push := func(rows int) []uint32 {
		p := []uint32{uint32(rows), uint32(f.d)}
		if f.byRows {
			p = append(p, uint32(groups(rows)))
		}
		p = append(p, f.push...)
		for _, v := range f.floats {
			p = append(p, bits(v))
		}
		return p
	}
	if f.spread { // cutting rows would shift what the operands mean
		bufs := make([]gpu.Tensor, len(f.binds))
		for i, b := range f.binds {
			bufs[i] = b.T
		}
		f.r.DispatchLinear(f.k, groups(f.rows), spec, push(f.rows), bufs...)
		return
	}
	f.r.DispatchRows(f.k, f.rows, groups, spec, push, f.binds...)
}

// lanes is the size of a workgroup: whole rows on GPUs, one subgroup on CPU drivers.
func (f *Formula) lanes(w int) int {
	if !f.byRows {
		return f.r.linearLanes()
	}
	lanes, info := f.r.rowLanes(f.d), f.r.info()
	for !info.IsCPU && f.rows < f.r.units() && lanes*w < f.d && 2*lanes <= min(1024, info.MaxInvocations) {
		lanes *= 2 // a few rows: what counts is how long one takes
	}
	return lanes
}
