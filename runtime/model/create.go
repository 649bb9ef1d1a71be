package model

import (
	"bytes"
	"fmt"
	"io"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// Create makes a model with random weights, for training from scratch. Each value depends on the seed, the
// parameter's name and the element's index alone.
func Create(cfg *hfconfig.File, seed uint64, dev *gpu.Device, archs []*Arch, o Options) (*Loaded, error) {
	l, r, err := build(cfg, dev, archs, o)
	if err != nil {
		return nil, err
	}
	l.seed = seed
	for _, p := range l.Model.Params() {
		ps, err := pieces(p, r.spellings)
		if err != nil {
			return nil, err
		}
		for _, pc := range ps {
			l.binds = append(l.binds, binding{piece: pc})
		}
	}
	if err := l.prepare(l.upload); err != nil {
		return nil, err
	}
	return l, nil
}

// initialBytes returns n initial values of a parameter, from element from on, in the storage type.
func initialBytes(p *nn.Param, from, n int, stored gpu.DType, seed uint64) ([]byte, error) {
	if stored == gpu.I32 {
		return make([]byte, 4*n), nil
	}
	out := make([]byte, n*stored.Size())
	return out, inChunks(n, func(at, n int) error {
		v := make([]float32, n)
		if err := initialValues(p, from+at, v, seed); err != nil {
			return err
		}
		return safetensors.Narrow(diskType(stored), v, out[at*stored.Size():(at+n)*stored.Size()])
	})
}

// initialValues fills dst with the initial values of elements from, from+1, ...
func initialValues(p *nn.Param, from int, dst []float32, seed uint64) error {
	switch p.Init.Kind {
	case nn.InitZeros:
		clear(dst)
	case nn.InitOnes:
		for i := range dst {
			dst[i] = 1
		}
	case nn.InitSinusoid:
		cols := p.Shape[len(p.Shape)-1]
		row := make([]float32, cols)
		for i := range dst {
			if at := from + i; i == 0 || at%cols == 0 {
				nn.SinusoidRow(row, at/cols, nn.SinusoidAttrs{Theta: 10000})
			}
			dst[i] = row[(from+i)%cols]
		}
	case nn.InitNormal:
		// Blocks hold four values; a range may start inside one.
		skip := from % 4
		buf := make([]float32, skip+len(dst))
		newStream(seed, p.Name).normals(uint64(from/4), buf)
		for i := range dst {
			dst[i] = float32(p.Init.Std * float64(buf[skip+i]))
		}
	case nn.InitUniform:
		s := newStream(seed, p.Name)
		for i := range dst {
			at := uint64(from + i)
			dst[i] = float32(p.Init.Std * (2*(float64(s.block(at / 4)[at%4])+0.5)*0x1p-32 - 1))
		}
	default:
		return fmt.Errorf("parameter %s: initial distribution %d is not known", p.Name, p.Init.Kind)
	}
	return nil
}

// fresh is a tensor to be written that no checkpoint had: the pieces that share its name.
type fresh struct {
	name string
	bs   []binding
}

// freshTensors lists the tensors of a created model, in the order of its parameters.
func (l *Loaded) freshTensors(o SaveOptions) ([]safetensors.Tensor, error) {
	to := o.DType
	if to == "" {
		var err error
		if to, err = configType(l.text, l.Config); err != nil {
			return nil, err
		}
	}
	var list []*fresh
	byName := map[string]*fresh{}
	for _, b := range l.binds {
		f := byName[b.names[0]]
		if f == nil {
			f = &fresh{name: b.names[0]}
			byName[f.name] = f
			list = append(list, f)
		}
		f.bs = append(f.bs, b)
	}
	var out []safetensors.Tensor
	for _, f := range list {
		t, err := l.freshTensor(f, to, o)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	safetensors.Sort(out)
	return out, nil
}

// freshTensor lays the pieces of a tensor out in it.
func (l *Loaded) freshTensor(f *fresh, to safetensors.DType, o SaveOptions) (safetensors.Tensor, error) {
	rows := 0
	for _, b := range f.bs {
		rows = max(rows, b.param.Disk.Part.To)
	}
	if f.bs[0].param.Index {
		to = safetensors.I32
	}
	shape := f.bs[0].diskShape(rows)
	for _, b := range f.bs[1:] {
		if !sameShape(b.diskShape(rows), shape) {
			return safetensors.Tensor{}, fmt.Errorf("tensor %s would be %v for parameter %s but %v for %s",
				f.name, shape,
				f.bs[0].param.Name, b.diskShape(rows), b.param.Name)
		}
	}
	body := func(w io.Writer) error {
		out := make([]byte, product(shape)*to.Bits()/8)
		for _, b := range f.bs {
			stored, values, err := l.current(b, o)
			if err != nil {
				return err
			}
			elems, err := fromStorage(values, stored, nil, to)
			if err != nil {
				return err
			}
			b.put(out, elems, rows, to.Bits()/8)
		}
		_, err := w.Write(out)
		return err
	}
	return safetensors.Tensor{Name: f.name, DType: to, Shape: shape, Body: body}, nil
}

// optionalTensors lists tensors that the checkpoint left out and that have changed from their initial values.
func (l *Loaded) optionalTensors(o SaveOptions) ([]safetensors.Tensor, error) {
	var list []safetensors.Tensor
	for _, b := range l.binds {
		if len(b.found) > 0 {
			continue
		}
		stored, values, err := l.current(b, o)
		if err != nil {
			return nil, err
		}
		was, err := initialBytes(b.param, b.slice*product(b.shape), product(b.shape), stored, l.seed)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(was, values) {
			continue
		}
		to := o.DType
		if to == "" {
			to = diskType(stored)
		}
		t, err := l.freshTensor(&fresh{b.names[0], []binding{b}}, to, o)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// configType is the element type that a configuration asks for; F32 when it says nothing.
func configType(files ...*hfconfig.File) (safetensors.DType, error) {
	for _, f := range files {
		switch name := f.StringOr("", "dtype", "torch_dtype"); name {
		case "":
		case "float32":
			return safetensors.F32, nil
		case "bfloat16":
			return safetensors.BF16, nil
		case "float16":
			return safetensors.F16, nil
		default:
			return "",
				fmt.Errorf("%s: \"dtype\" is %q, want float32, bfloat16 or float16 (or choose a type to save as)",
					f.Name(), name)
		}
	}
	return safetensors.F32, nil
}
