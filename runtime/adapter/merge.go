package adapter

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// Merge adds s B A to the weight of every target, in f32. The weights must be stored as F32.
func (s *Set) Merge(dev *gpu.Device) error {
	for _, t := range s.targets {
		w, a, b := t.linear.Weight, t.own.A, t.own.B
		if w.Value.Type != gpu.F32 {
			return fmt.Errorf("merge: %s is stored as %v, want F32", w.Name, w.Value.Type)
		}
		out, in, rank := w.Shape[0], w.Shape[1], a.Shape[0]
		values, down, up := make([]float32, out*in), make([]float32, rank*in), make([]float32, out*rank)
		for _, x := range []struct {
			from gpu.Tensor
			to   []float32
		}{{w.Value, values}, {a.Value, down}, {b.Value, up}} {
			if err := dev.Read(x.from, x.to); err != nil {
				return fmt.Errorf("read %s: %w", w.Name, err)
			}
		}
		delta := make([]float32, in)
		for o := range out {
			clear(delta)
			for k := range rank {
				f := up[o*rank+k]
				for i, v := range down[k*in : (k+1)*in] {
					delta[i] += f * v
				}
			}
			for i, d := range delta {
				values[o*in+i] += t.own.Scale * d
			}
		}
		if err := dev.Write(w.Value, values); err != nil {
			return fmt.Errorf("write %s: %w", w.Name, err)
		}
	}
	return nil
}
