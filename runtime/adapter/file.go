package adapter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// prefix begins the names of tensors in adapter_model.safetensors.
const prefix = "base_model.model."

func (s *Set) params() []*nn.Param {
	var list []*nn.Param
	for _, t := range s.targets {
		list = append(list, t.own.A, t.own.B)
	}
	return list
}

// Load reads DIR/adapter_model.safetensors into the memory of the adapters.
//
// Errors: a tensor that is missing, misshapen or of a wrong type; one that belongs to no adapter.
func (s *Set) Load(dev *gpu.Device, dir string) (err error) {
	path := filepath.Join(dir, "adapter_model.safetensors")
	set, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	var errs []error
	used := map[string]bool{}
	for _, p := range s.params() {
		name := prefix + p.Name
		used[name] = true
		info, ok := set.Info(name)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("tensor %s is missing, want %v", name, p.Shape))
			continue
		case !slices.Equal(info.Shape, p.Shape) || !info.DType.Float():
			errs = append(errs, fmt.Errorf("tensor %s is %s %v, want floating-point numbers of %v", name, info.DType,
				info.Shape, p.Shape))
			continue
		}
		values := make([]float32, info.Len())
		if err := set.Float32(name, values); err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, err)
		}
		if err := dev.Write(p.Value, values); err != nil {
			return fmt.Errorf("write %s: %w", p.Name, err)
		}
	}
	for _, name := range set.Names() {
		if !used[name] {
			errs = append(errs, fmt.Errorf("tensor %s belongs to no linear layer that the adapter's configuration chooses", name))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%s: the adapter does not fit the model:\n%w", path, errors.Join(errs...))
	}
	return nil
}

// Save writes the adapter to dir, which is made when it does not exist. Both files are complete and synced before they get
// their names.
func (s *Set) Save(dev *gpu.Device, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var list []safetensors.Tensor
	for _, p := range s.params() {
		list = append(list, safetensors.Tensor{Name: prefix + p.Name, DType: safetensors.F32, Shape: p.Shape,
			Body: func(w io.Writer) error {
				raw := make([]byte, p.Value.Bytes())
				if err := dev.Read(p.Value, raw); err != nil {
					return fmt.Errorf("read %s: %w", p.Name, err)
				}
				_, err := w.Write(raw)
				return err
			}})
	}
	safetensors.Sort(list)
	if _, err := safetensors.Write(dir, list, safetensors.Options{Base: "adapter_model"}); err != nil {
		return err
	}
	text, err := s.Config.Text()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".adapter_config-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, "adapter_config.json"))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
