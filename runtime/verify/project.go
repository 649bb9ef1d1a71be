package verify

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// A small fixture keeps a tensor of grads.safetensors or adamw2.safetensors as six float64 numbers:
//
//	max |x_i|    sqrt(sum x_i^2)    sum s_ki x_i  for k = 0..3
//
// The signs s_ki = ±1 are Philox bits keyed by the seed in the file's metadata and by "NAME/k": bit i%32 of
// word i/32, 1 for minus. The metadata also says projections = "4".
//
// If every |x_i - y_i| <= b, then the maxima differ by at most b, the norms by at most b sqrt(n), and a
// projection by at most 6 b sqrt(n) but for a chance of 2 exp(-18) = 3e-8: the signs do not depend on the
// errors, so this is Hoeffding's bound. The other way round, a single wrong element shows when it is off by
// more than 6 b sqrt(n).
const (
	projections   = 4
	projectedSize = 2 + projections
	hoeffding     = 6
)

// project computes the six numbers.
func project(seed uint64, name string, x []float64) [projectedSize]float64 {
	var out [projectedSize]float64
	out[0] = largest(x)
	for k := range projections {
		bits := model.Signs(seed, name+"/"+strconv.Itoa(k), (len(x)+31)/32)
		sum := 0.0
		for i, v := range x {
			if bits[i/32]>>(i%32)&1 == 1 {
				v = -v
			}
			sum += v
		}
		out[2+k] = sum
	}
	for _, v := range x {
		out[1] += v * v
	}
	out[1] = math.Sqrt(out[1])
	return out
}

// scales are the bounds of the six numbers of n elements, as multiples of the bound of one element.
func scales(n int) [projectedSize]float64 {
	root := math.Sqrt(float64(n))
	out := [projectedSize]float64{1, root}
	for k := range projections {
		out[2+k] = hoeffding * root
	}
	return out
}

// seedOf returns the seed of a projected file; ok is false for a file with whole tensors.
func seedOf(s *safetensors.Set) (seed uint64, ok bool, err error) {
	text, ok := s.Metadata()["projections"]
	if !ok {
		return 0, false, nil
	}
	if text != strconv.Itoa(projections) {
		return 0, false, fmt.Errorf("%s: %q projections a tensor, want %d", s.Path(), text, projections)
	}
	seed, err = strconv.ParseUint(s.Metadata()["seed"], 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%s: the seed of the projections is %q, want a number", s.Path(),
			s.Metadata()["seed"])
	}
	return seed, true, nil
}

// Shrink makes a small fixture of the one in src: the checkpoint, the inputs, the logits and losses whole,
// gradients and updated parameters projected. The reference's own float32 logits, which no check needs, are
// left out.
func Shrink(src, dst string) error {
	f, err := Load(src)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.MkdirAll(dst, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".safetensors")
		if e.IsDir() || name == "expect" || name == "grads" || name == "adamw2" {
			continue
		}
		if err := copyFile(filepath.Join(src, e.Name()), filepath.Join(dst, e.Name())); err != nil {
			return err
		}
	}
	if err := writeWhole(dst, f.expect, "expect", "logits"); err != nil {
		return err
	}
	for name, set := range map[string]*safetensors.Set{"grads": f.grads, "adamw2": f.adamw2} {
		if set == nil {
			continue
		}
		if err := writeProjected(dst, set, name); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a small file through a temporary name.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(to), ".copy-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), to)
}

// narrowed rounds float64 to float32.
func narrowed(raw []byte) []byte {
	out := make([]byte, 0, len(raw)/2)
	for i := 0; i+8 <= len(raw); i += 8 {
		v := float32(math.Float64frombits(binary.LittleEndian.Uint64(raw[i:])))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func writeWhole(dir string, s *safetensors.Set, base, without string) error {
	var list []safetensors.Tensor
	for _, name := range s.Names() {
		if name == without {
			continue
		}
		info, _ := s.Info(name)
		raw, err := s.Raw(name)
		if err != nil {
			return err
		}
		typ := info.DType
		if typ == safetensors.F64 && len(info.Shape) > 1 { // logits: half an ulp of float32 beside bounds of four and more
			typ, raw = safetensors.F32, narrowed(raw)
		}
		list = append(list, safetensors.Tensor{Name: name, DType: typ, Shape: info.Shape, Body: safetensors.Bytes(raw)})
	}
	_, err := safetensors.Write(dir, list, safetensors.Options{Base: base, Metadata: s.Metadata()})
	return err
}

func writeProjected(dir string, s *safetensors.Set, base string) error {
	const seed = 1
	if _, done, err := seedOf(s); done || err != nil {
		if err == nil {
			err = writeWhole(dir, s, base, "")
		}
		return err
	}
	var list []safetensors.Tensor
	for _, name := range s.Names() {
		if info, _ := s.Info(name); !info.DType.Float() {
			continue
		}
		x, _, err := floats(s, name)
		if err != nil {
			return err
		}
		var raw []byte
		for _, v := range project(seed, name, x) {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
		list = append(list, safetensors.Tensor{Name: name, DType: safetensors.F64,
			Shape: []int{projectedSize},
			Body:  safetensors.Bytes(raw)})
	}
	_, err := safetensors.Write(dir, list, safetensors.Options{Base: base,
		Metadata: map[string]string{"projections": strconv.Itoa(projections), "seed": strconv.Itoa(seed)}})
	return err
}
