package model

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// Loaded is a model with its weights on a device, and the checkpoint that they came from.
type Loaded struct {
	Model  Model
	Arch   *Arch
	Config *hfconfig.File // all of config.json; Set changes what Save writes
	Dir    string         // of the checkpoint; "" after Create
	Dev    *gpu.Device
	Opts   Options

	text  *hfconfig.File // the part of Config that describes the graph
	src   TensorSource   // nil after Create
	binds []binding
	named bool   // tensors are spelled by the package
	seed  uint64 // of values that no checkpoint gave
}

// Open loads the checkpoint in dir onto dev.
//
// Errors name every key of config.json and every tensor that does not fit, or what is too large for the
// device.
func Open(dir string, dev *gpu.Device, archs []*Arch, o Options) (*Loaded, error) {
	cfg, err := hfconfig.Load(dir)
	if err != nil {
		return nil, err
	}
	set, err := safetensors.Open(dir)
	if err != nil {
		return nil, err
	}
	l, err := OpenSource(cfg, Safetensors(set), dev, archs, o)
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	l.Dir = dir
	return l, nil
}

// OpenSource loads tensors from any source under a configuration in the form of config.json. The result owns
// src.
func OpenSource(cfg *hfconfig.File, src TensorSource, dev *gpu.Device, archs []*Arch, o Options) (*Loaded,
	error) {
	l, r, err := build(cfg, dev, archs, o)
	if err != nil {
		return nil, err
	}
	l.src, l.seed = src, o.Seed
	if l.binds, err = bind(l.Model.Params(), src, r.spellings); err != nil {
		return nil, err
	}
	if err := l.prepare(l.upload); err != nil {
		return nil, err
	}
	return l, nil
}

// build makes the model of a configuration, without memory.
func build(cfg *hfconfig.File, dev *gpu.Device, archs []*Arch, o Options) (*Loaded, *resolved, error) {
	r, err := resolve(cfg, archs)
	if err != nil {
		return nil, nil, err
	}
	m, err := r.arch.New(r.cfg)
	if err = errors.Join(err, cfg.Err()); err != nil {
		return nil, nil, fmt.Errorf("model_type %q: %w", cfg.StringOr("", "model_type"), err)
	}
	if err := uniqueNames(m.Params()); err != nil {
		return nil, nil, fmt.Errorf("architecture %s: %w", r.arch.Name, err)
	}
	if o.Adjust != nil {
		if err := o.Adjust(m); err != nil {
			return nil, nil, err
		}
	}
	return &Loaded{Model: m, Arch: r.arch, Config: cfg, Dev: dev, Opts: o, text: r.cfg, named: len(r.rename) > 0}, r, nil
}

// Describe makes the model of a configuration without weights or memory: for plans and listings. The model
// can only be asked for its parameters.
func Describe(cfg *hfconfig.File, archs []*Arch) (Model, error) {
	l, _, err := build(cfg, nil, archs, Options{})
	if err != nil {
		return nil, err
	}
	return l.Model, nil
}

func uniqueNames(params []*nn.Param) error {
	seen := map[string]bool{}
	for _, p := range params {
		if seen[p.Name] {
			return fmt.Errorf("two parameters are named %s", p.Name)
		}
		seen[p.Name] = true
	}
	return nil
}

// prepare allocates memory, fills it and makes the constant tables; on an error the memory is given back.
func (l *Loaded) prepare(fill func() error) (err error) {
	params := AllParams(l.Model)
	if err := checkMemory(params, l.Opts, l.Dev.Info.MemoryBytes-l.Dev.MemoryUse()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, release(l.Dev, params))
		}
	}()
	if err := allocate(l.Dev, params, l.Opts); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	return l.Model.Prepare(l.Dev, l.Opts)
}

// upload writes every bound piece to the device.
func (l *Loaded) upload() error {
	for _, b := range l.binds {
		values, err := l.initialPiece(b)
		if err != nil {
			return err
		}
		if err := l.Dev.Write(b.target(), values); err != nil {
			return fmt.Errorf("write %s: %w", b.param.Name, err)
		}
	}
	for _, p := range adapterParams(l.Model) {
		values, err := initialBytes(p, 0, product(p.Shape), storageType(p, l.Opts.Weights), l.seed)
		if err != nil {
			return err
		}
		if err := l.Dev.Write(p.Value, values); err != nil {
			return fmt.Errorf("write %s: %w", p.Name, err)
		}
	}
	return nil
}

// initialPiece returns what loading stores for a piece: the checkpoint's values or, of an optional tensor
// that is absent, the initial ones.
func (l *Loaded) initialPiece(b binding) ([]byte, error) {
	stored := storageType(b.param, l.Opts.Weights)
	if len(b.found) == 0 {
		return initialBytes(b.param, b.slice*product(b.shape), product(b.shape), stored, l.seed)
	}
	t, raw, err := l.original(b)
	if err != nil {
		return nil, err
	}
	values, err := toStorage(raw, t, stored)
	if err != nil {
		return nil, fmt.Errorf("%s: tensor %s: %w", l.src.Path(), b.info.Name, err)
	}
	return values, nil
}

// original returns a piece's elements in the type of the checkpoint.
func (l *Loaded) original(b binding) (safetensors.DType, []byte, error) {
	t, raw, err := elements(l.src, b.info)
	if err != nil {
		return "", nil, err
	}
	return t, b.take(raw, b.groupRows, t.Bits()/8), nil
}

// target is the device memory of a piece.
func (b binding) target() gpu.Tensor {
	v := b.param.Value
	if b.param.Disk.Stack == 0 {
		return v
	}
	return v.Reshape(append([]int{b.param.Disk.Stack}, b.shape...)...).Slice(b.slice, b.slice+1)
}

// NewRecorder starts a recording for this model.
func (l *Loaded) NewRecorder() *nn.Recorder {
	return nn.NewRecorder(l.Dev, l.Opts.Kernels, l.Opts.Activations)
}

// TextConfig is the part of the configuration that describes the graph.
func (l *Loaded) TextConfig() *hfconfig.File { return l.text }

// Untouched returns the names of the checkpoint's tensors that the model does not use.
func (l *Loaded) Untouched() []string {
	if l.src == nil {
		return nil
	}
	used := l.covering()
	var names []string
	for _, name := range l.src.Names() {
		if len(used[name]) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// covering maps each tensor of the checkpoint to what is bound to it.
func (l *Loaded) covering() map[string][]binding {
	used := map[string][]binding{}
	for _, b := range l.binds {
		for _, name := range b.found {
			used[name] = append(used[name], b)
		}
	}
	return used
}

// Close releases the weights and the checkpoint.
func (l *Loaded) Close() error {
	err := release(l.Dev, AllParams(l.Model))
	if l.src != nil {
		err = errors.Join(err, l.src.Close())
	}
	return err
}

// companions lists the files of a checkpoint's folder that are neither weights nor the configuration:
// tokenizer, generation settings, templates, texts. Folders and hidden files are left out.
func companions(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		st, err := os.Stat(filepath.Join(dir, name)) // through links, as caches of downloads are made of them
		if err != nil {
			return nil, err
		}
		if st.Mode().IsRegular() && name[0] != '.' && name != "config.json" && !isWeights(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
