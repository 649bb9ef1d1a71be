package verify

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"

	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// Fixture is what a fixture's folder holds besides the checkpoint.
type Fixture struct {
	Dir  string
	Name string // the last two parts of the path
	Meta Meta

	expect *safetensors.Set
	grads  *safetensors.Set // nil when the file is absent
	adamw2 *safetensors.Set

	labelsInPlace bool // model.Arch.LabelsInPlace of its architecture
}

// Meta is meta.json.
type Meta struct {
	ModelType string          `json:"model_type"`
	Kind      string          `json:"kind"` // causal, masked, seq2seq or wrapper
	Errors    referenceErrors `json:"hf_fp32_err"`
}

// Find lists the fixtures in dirs: each is a fixture or a tree of them. A fixture is a folder with
// expect.safetensors. Errors: a folder without any.
func Find(dirs []string) ([]string, error) {
	var list []string
	for _, dir := range dirs {
		n := len(list)
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && e.Name() == "expect.safetensors" {
				list = append(list, filepath.Dir(path))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(list) == n {
			return nil, fmt.Errorf("%s: no fixture in it (a folder with expect.safetensors)", dir)
		}
	}
	sort.Strings(list)
	return list, nil
}

// NameOf is a fixture's name: the last two parts of its path.
func NameOf(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(abs)), filepath.Base(abs)))
}

// Load opens a fixture's files.
func Load(dir string) (*Fixture, error) {
	f := &Fixture{Dir: dir, Name: NameOf(dir)}
	path := filepath.Join(dir, "meta.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &f.Meta); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	switch f.Meta.Kind {
	case "causal", "masked", "seq2seq", "wrapper":
	default:
		return nil, fmt.Errorf("%s: kind is %q, want causal, masked, seq2seq or wrapper", path, f.Meta.Kind)
	}
	for name, set := range map[string]**safetensors.Set{"expect": &f.expect, "grads": &f.grads,
		"adamw2": &f.adamw2} {
		path := filepath.Join(dir, name+".safetensors")
		if *set, err = safetensors.Open(path); err != nil && (name == "expect" || !errors.Is(err,
			os.ErrNotExist)) {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// Close unmaps the files.
func (f *Fixture) Close() error {
	var errs []error
	for _, s := range []*safetensors.Set{f.expect, f.grads, f.adamw2} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// has reports whether expect.safetensors has all of the named tensors.
func (f *Fixture) has(names ...string) bool {
	for _, n := range names {
		if _, ok := f.expect.Info(n); !ok {
			return false
		}
	}
	return true
}

// ints reads an integer tensor of expect.safetensors.
func (f *Fixture) ints(name string) ([]int32, []int, error) {
	info, ok := f.expect.Info(name)
	if !ok || info.DType != safetensors.I64 {
		return nil, nil, fmt.Errorf("%s: tensor %q is missing or not I64", f.expect.Path(), name)
	}
	raw, err := f.expect.Raw(name)
	out := make([]int32, info.Len())
	for i := range out {
		v := int64(binary.LittleEndian.Uint64(raw[8*i:]))
		if v < math.MinInt32 || v > math.MaxInt32 {
			return nil, nil, fmt.Errorf("%s: tensor %q holds %d, which is not a token or position",
				f.expect.Path(), name, v)
		}
		out[i] = int32(v)
	}
	return out, info.Shape, err
}

// floats reads a floating-point tensor of a set as float64, without rounding F64.
func floats(s *safetensors.Set, name string) ([]float64, []int, error) {
	info, ok := s.Info(name)
	if !ok {
		return nil, nil, fmt.Errorf("%s: no tensor %q", s.Path(), name)
	}
	out := make([]float64, info.Len())
	if info.DType == safetensors.F64 {
		raw, err := s.Raw(name)
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		return out, info.Shape, err
	}
	narrow := make([]float32, len(out))
	if err := s.Float32(name, narrow); err != nil {
		return nil, nil, err
	}
	for i, v := range narrow {
		out[i] = float64(v)
	}
	return out, info.Shape, nil
}

// decoding is what of generation_config.json matters to greedy decoding of a fixed number of tokens: ending
// tokens are suppressed until the end, and the last token may be forced.
type decoding struct {
	ends   []int
	forced int // -1 when none
}

func (f *Fixture) decoding() (decoding, error) {
	d := decoding{forced: -1}
	path := filepath.Join(f.Dir, "generation_config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	c, err := hfconfig.Parse(path, text)
	if err != nil {
		return d, err
	}
	d.ends = c.IntsOr(nil, "eos_token_id")
	d.forced = c.IntOr(-1, "forced_eos_token_id")
	return d, c.Err()
}
