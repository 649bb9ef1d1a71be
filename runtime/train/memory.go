package train

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// trained lists the parameters that training changes.
func trained(params []*nn.Param) []*nn.Param {
	var list []*nn.Param
	for _, p := range params {
		if !p.Frozen && !p.Index {
			list = append(list, p)
		}
	}
	return list
}

// moments makes the optimizer's state of each parameter through alloc, which gives F32 memory.
func moments(params []*nn.Param, noDecay *patterns,
	alloc func(name string, shape []int) (gpu.Tensor, error)) ([]nn.Moments, error) {
	list := make([]nn.Moments, len(params))
	for i, p := range params {
		s := &list[i]
		s.NoDecay = noDecay.match(p)
		parts := map[string]*gpu.Tensor{"m": &s.M, "v": &s.V}
		if p.Value.Type != gpu.F32 {
			parts["master"] = &s.Master
		}
		for _, kind := range []string{"m", "v", "master"} {
			at := parts[kind]
			if at == nil {
				continue
			}
			var err error
			if *at, err = alloc(kind+"/"+p.Name, p.Shape); err != nil {
				return list, fmt.Errorf("memory of the optimizer's %s of %s: %w", kind, p.Name, err)
			}
		}
	}
	return list, nil
}

// startMoments zeroes the moments and copies values into master copies.
func (t *Trainer) startMoments() error {
	for i, p := range t.params {
		s := &t.moments[i]
		zeros := make([]float32, s.M.Len())
		if err := t.dev.Write(s.M, zeros); err != nil {
			return err
		}
		if err := t.dev.Write(s.V, zeros); err != nil {
			return err
		}
		if !s.Master.Valid() {
			continue
		}
		wide, err := readWide(t.dev, p.Value)
		if err != nil {
			return err
		}
		if err := t.dev.Write(s.Master, wide); err != nil {
			return err
		}
	}
	return nil
}

// releaseMoments gives the memory back.
func (t *Trainer) releaseMoments() error {
	var ts []gpu.Tensor
	for _, s := range t.moments {
		for _, x := range []gpu.Tensor{s.M, s.V, s.Master} {
			if x.Valid() {
				ts = append(ts, x)
			}
		}
	}
	t.moments = nil
	return t.dev.Release(ts...)
}
