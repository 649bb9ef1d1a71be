package model

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Rows are the host side of a Batch: B rows of T tokens over S keys, each slice row after row.
type Rows struct {
	B, T, S   int
	Tokens    []int32
	Pos       []int32
	Seg       []int32
	KeySeg    []int32 // nil = Seg, for S = T
	Base      uint32
	Labels    []int32 // nil when there are none
	LossScale float32
}

// RowsOf makes rows from token ids and a mask, as a tokenizer with padding gives them (mask nil = all ones):
// positions count the ones when byMask is set, else the columns.
func RowsOf(B, T int, tokens, mask []int32, byMask bool) Rows {
	r := Rows{B: B, T: T, S: T, Tokens: tokens, Pos: make([]int32, B*T), Seg: make([]int32, B*T)}
	for b := range B {
		seen := int32(0)
		for t := range T {
			i := b*T + t
			if mask == nil || mask[i] != 0 {
				r.Seg[i] = 1
				seen++
			}
			r.Pos[i] = int32(t)
			if byMask {
				r.Pos[i] = max(seen-1, 0)
			}
		}
	}
	return r
}

// SetLabels sets the labels: shift moves them one to the left, as a causal model predicts the next token.
// Each counted token weighs one over their number.
func (r *Rows) SetLabels(labels []int32, shift bool) {
	r.Labels = make([]int32, len(labels))
	count := 0
	for i := range labels {
		v := int32(nn.Ignored)
		if !shift {
			v = labels[i]
		} else if i%r.T < r.T-1 {
			v = labels[i+1]
		}
		r.Labels[i] = v
		if v != nn.Ignored {
			count++
		}
	}
	r.LossScale = 0
	if count > 0 {
		r.LossScale = 1 / float32(count)
	}
}

// NewBatch allocates the device side of rows of this shape and writes them. With step set the batch has a
// Base, as steps through caches need.
func NewBatch(dev *gpu.Device, r Rows, step bool) (*nn.Batch, error) {
	b := &nn.Batch{B: r.B, T: r.T, S: r.S}
	type part struct {
		t    *gpu.Tensor
		want bool
		typ  gpu.DType
		dims []int
	}
	bt := []int{r.B, r.T}
	parts := []part{{&b.Tokens, true, gpu.I32, bt}, {&b.Pos, true, gpu.I32, bt}, {&b.Seg, true, gpu.I32, bt},
		{&b.KeySeg, true, gpu.I32, []int{r.B, r.S}}, {&b.Base, step, gpu.U32, []int{1}},
		{&b.Labels, r.Labels != nil, gpu.I32, bt}, {&b.LossScale, r.Labels != nil, gpu.F32, []int{1}}}
	for _, p := range parts {
		if !p.want {
			continue
		}
		t, err := dev.AllocHost(p.typ, p.dims...)
		if err != nil {
			return nil, err
		}
		*p.t = t
	}
	return b, FillBatch(dev, b, r)
}

// FillBatch writes rows of the same shape into a batch.
func FillBatch(dev *gpu.Device, b *nn.Batch, r Rows) error {
	if r.B != b.B || r.T != b.T || r.S != b.S {
		return fmt.Errorf("rows are %d x %d over %d keys, the batch is %d x %d over %d", r.B, r.T, r.S, b.B,
			b.T, b.S)
	}
	write := func(name string, t gpu.Tensor, data any) error {
		if err := dev.Write(t, data); err != nil {
			return fmt.Errorf("%s of the batch: %w", name, err)
		}
		return nil
	}
	if err := write("tokens", b.Tokens, r.Tokens); err != nil {
		return err
	}
	if err := write("positions", b.Pos, r.Pos); err != nil {
		return err
	}
	if err := write("segments", b.Seg, r.Seg); err != nil {
		return err
	}
	keys := r.KeySeg
	if keys == nil && r.S == r.T {
		keys = r.Seg
	}
	if err := write("key segments", b.KeySeg, keys); err != nil {
		return err
	}
	if b.Base.Valid() {
		if err := write("base", b.Base, []uint32{r.Base}); err != nil {
			return err
		}
	}
	if b.Labels.Valid() && r.Labels != nil {
		if err := write("labels", b.Labels, r.Labels); err != nil {
			return err
		}
		return write("loss scale", b.LossScale, []float32{r.LossScale})
	}
	return nil
}

// ReleaseBatch gives a batch's memory back.
func ReleaseBatch(dev *gpu.Device, b *nn.Batch) error {
	var valid []gpu.Tensor
	for _, t := range []gpu.Tensor{b.Tokens, b.Pos, b.Seg, b.KeySeg, b.Base, b.Labels, b.LossScale} {
		if t.Valid() {
			valid = append(valid, t)
		}
	}
	return dev.Release(valid...)
}
