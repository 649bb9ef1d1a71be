package verify

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/vulcast/vulcast/runtime/safetensors"
)

// tensors compares gradients or parameters with the reference's, whole or projected. A tensor that the model
// does not use must have gradient 0, and be unchanged after the steps.
func (r *run) tensors(truth *safetensors.Set, grads bool, bound float64) *Check {
	seed, projected, err := seedOf(truth)
	if err != nil {
		return failed(err)
	}
	cmp := comparison{truth: truth, seed: seed, projected: projected, log: r.log}
	if grads {
		weights, err := safetensors.Open(filepath.Join(r.f.Dir, "model.safetensors"))
		if err != nil {
			return failed(err)
		}
		defer weights.Close()
		cmp.buffers = weights
	}
	if err := r.eng.Tensors(grads, cmp.add); err != nil {
		return failed(err)
	}
	if err := r.unused(&cmp, grads); err != nil {
		return failed(err)
	}
	for _, name := range truth.Names() {
		if info, _ := truth.Info(name); info.DType.Float() && !cmp.seen[name] {
			return failed(fmt.Errorf("the checkpoint has no tensor %s, which %s has", name,
				filepath.Base(truth.Path())))
		}
	}
	c := judge(cmp.worst, bound)
	if projected {
		c.Note = "projected"
	}
	return c
}

// unused compares the tensors that the model does not use.
func (r *run) unused(cmp *comparison, grads bool) error {
	weights, err := safetensors.Open(filepath.Join(r.f.Dir, "model.safetensors"))
	if err != nil {
		return err
	}
	defer weights.Close()
	for _, name := range r.eng.Untouched() {
		info, _ := weights.Info(name)
		if !info.DType.Float() {
			continue
		}
		elems := make([]float32, info.Len())
		if !grads {
			if err := weights.Float32(name, elems); err != nil {
				return err
			}
		}
		if err := cmp.add(name, info.Shape, elems); err != nil {
			return fmt.Errorf("%w (the model does not use this tensor)", err)
		}
	}
	return nil
}

// comparison collects the errors of tensors.
type comparison struct {
	truth     *safetensors.Set
	seed      uint64
	projected bool
	log       func(string, ...any)
	buffers   *safetensors.Set // of gradients: the values of the tensors
	worst     worst
	seen      map[string]bool
}

// add compares one tensor. Errors are scaled so that all count against the bound of a whole tensor's element.
func (c *comparison) add(name string, shape []int, elems []float32) error {
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[name] = true
	want, wantShape, err := floats(c.truth, name)
	if err != nil {
		return err
	}
	mine, err := c.measure(name, shape, elems, want, wantShape)
	if err != nil {
		return err
	}
	if c.buffers != nil && allZero(elems) && mine.err > 0 {
		if err := c.orBuffer(&mine, name, shape, want, wantShape); err != nil {
			return err
		}
	}
	if !mine.seen {
		return nil
	}
	c.log("  %-60s %.3g at %s (largest %.3g)", name, mine.err, mine.at, largest(want))
	c.worst.add(mine.err, func() string { return mine.at })
	return nil
}

// measure is the largest error of one tensor.
func (c *comparison) measure(name string, shape []int, elems []float32, want []float64, wantShape []int) (mine worst,
	err error) {
	if c.projected {
		if len(want) != projectedSize {
			return mine, fmt.Errorf("%s: tensor %s has %d numbers, want %d", c.truth.Path(), name, len(want),
				projectedSize)
		}
		wide := make([]float64, len(elems))
		for i, v := range elems {
			wide[i] = float64(v)
		}
		got, scale := project(c.seed, name, wide), scales(len(elems))
		for k := range got {
			mine.add(math.Abs(got[k]-want[k])/max(scale[k], 1), func() string {
				return fmt.Sprintf("%s %s", name, [...]string{"maximum", "norm", "projection"}[min(k, 2)])
			})
		}
	} else {
		if fmt.Sprint(shape) != fmt.Sprint(wantShape) {
			return mine, fmt.Errorf("%s: tensor %s is %v, the checkpoint has %v", c.truth.Path(), name, wantShape,
				shape)
		}
		for i, v := range elems {
			mine.add(distance(float64(v), want[i]), func() string {
				return fmt.Sprintf("%s%v", name, index(i,
					shape))
			})
		}
	}
	return mine, nil
}

// distance is |a - b|; equal infinities, such as limits that towers keep as buffers, are 0 apart.
func distance(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a - b)
}

func allZero(elems []float32) bool {
	return !slices.ContainsFunc(elems, func(v float32) bool { return v != 0 })
}

// orBuffer replaces the error of a tensor without gradient by that of its value, if smaller: the reference keeps buffers,
// which no optimizer sees, among the gradients as they are.
func (c *comparison) orBuffer(mine *worst, name string, shape []int, want []float64, wantShape []int) error {
	info, ok := c.buffers.Info(name)
	if !ok {
		return nil
	}
	elems := make([]float32, info.Len())
	if err := c.buffers.Float32(name, elems); err != nil {
		return err
	}
	other, err := c.measure(name, shape, elems, want, wantShape)
	if err == nil && other.err < mine.err {
		*mine = other
	}
	return err
}

// index is the position of element i in a tensor.
func index(i int, shape []int) []int {
	out := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		out[k] = i % max(shape[k], 1)
		i /= max(shape[k], 1)
	}
	return out
}
