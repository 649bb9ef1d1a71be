package model

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// Assemble calls visit for each floating-point tensor of the checkpoint that the model uses, in the
// checkpoint's order and layout: its elements come from value, which gives a tensor of the parameter's shape
// (its value, its gradient). Elements for which value gives the zero Tensor, or that belong to no parameter,
// are the checkpoint's when keep is set and zero otherwise. The slice is reused.
func (l *Loaded) Assemble(value func(*nn.Param) gpu.Tensor, keep bool,
	visit func(name string, shape []int, elems []float32) error) error {
	if l.src == nil {
		return fmt.Errorf("a created model has no checkpoint to compare with: save and open it first")
	}
	used := l.covering()
	for _, name := range l.src.Names() {
		bs := used[name]
		if len(bs) == 0 || bs[0].param.Index {
			continue
		}
		info, _ := l.src.Info(name)
		raw := make([]byte, 4*product(info.Shape))
		if keep {
			t, elems, err := elements(l.src, info)
			if err != nil {
				return err
			}
			wide, err := toStorage(elems, t, gpu.F32)
			if err != nil {
				return fmt.Errorf("tensor %s: %w", name, err)
			}
			copy(raw, wide)
		}
		for _, b := range bs {
			if err := l.putWide(raw, b, value(b.param)); err != nil {
				return err
			}
		}
		elems := make([]float32, len(raw)/4)
		if err := safetensors.Widen(safetensors.F32, raw, elems); err != nil {
			return err
		}
		if err := visit(name, info.Shape, elems); err != nil {
			return err
		}
	}
	return nil
}

// putWide reads a piece of v and writes it, as F32, into a tensor in the layout of the checkpoint.
func (l *Loaded) putWide(disk []byte, b binding, v gpu.Tensor) error {
	if !v.Valid() {
		return nil
	}
	moved := *b.param
	moved.Value = v
	b.param = &moved
	t := b.target()
	values := make([]byte, t.Bytes())
	if err := l.Dev.Read(t, values); err != nil {
		return fmt.Errorf("read %s: %w", b.param.Name, err)
	}
	wide, err := toStorage(values, diskType(t.Type), gpu.F32)
	if err != nil {
		return fmt.Errorf("%s: %w", b.param.Name, err)
	}
	b.put(disk, wide, b.groupRows, 4)
	return nil
}

// Reload brings the parameters back to the checkpoint's values, or a created model's to its initial ones, and
// zeroes the gradients.
func (l *Loaded) Reload() error {
	if err := zeroGrads(l.Dev, AllParams(l.Model)); err != nil {
		return err
	}
	return l.upload()
}

// zeroGrads clears gradient memory: a parameter that no backward pass reaches must not keep what was there
// before.
func zeroGrads(dev *gpu.Device, params []*nn.Param) error {
	var zeros []float32
	for _, p := range params {
		if !p.Grad.Valid() {
			continue
		}
		if n := p.Grad.Len(); n > len(zeros) {
			zeros = make([]float32, n)
		}
		if err := dev.Write(p.Grad, zeros[:p.Grad.Len()]); err != nil {
			return fmt.Errorf("clear the gradient of %s: %w", p.Name, err)
		}
	}
	return nil
}
