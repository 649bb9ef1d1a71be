package model

import (
	"fmt"
	"sort"
	"strings"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// WeightBytes returns the device memory of parameters: values as stored, and F32 gradients when training.
func WeightBytes(params []*nn.Param, o Options) int64 {
	total := int64(0)
	for _, p := range params {
		total += paramBytes(p, o)
	}
	return total
}

func paramBytes(p *nn.Param, o Options) int64 {
	n := int64(product(p.Shape))
	b := n * int64(storageType(p, o.Weights).Size())
	if o.Train && trains(p) {
		b += 4 * n
	}
	return b
}

// trains reports whether a parameter gets a gradient.
func trains(p *nn.Param) bool { return !p.Frozen && !p.Index }

// checkMemory refuses a model that cannot fit, before anything is read.
func checkMemory(params []*nn.Param, o Options, free int64) error {
	need := WeightBytes(params, o)
	if need <= free {
		return nil
	}
	sorted := append([]*nn.Param(nil), params...)
	sort.SliceStable(sorted, func(a, b int) bool {
		return paramBytes(sorted[a], o) > paramBytes(sorted[b],
			o)
	})
	var top []string
	for _, p := range sorted[:min(3, len(sorted))] {
		top = append(top, fmt.Sprintf("%s %v %s", p.Name, p.Shape, bytesText(paramBytes(p, o))))
	}
	advice := "use a larger device"
	switch {
	case o.Weights == gpu.F32:
		advice = "store weights as BF16 or F16, or use a larger device"
	case o.Train:
		advice = "freeze parameters (train adapters), or use a larger device"
	}
	what := "weights"
	if o.Train {
		what = "weights and gradients"
	}
	return fmt.Errorf("the %s take %s but the device has %s free; largest: %s; %s", what, bytesText(need),
		bytesText(free), strings.Join(top, ", "), advice)
}

// bytesText is a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// allocate gives every parameter its memory.
func allocate(dev *gpu.Device, params []*nn.Param, o Options) error {
	for _, p := range params {
		var err error
		if p.Value, err = dev.Alloc(storageType(p, o.Weights), p.Shape...); err != nil {
			return fmt.Errorf("memory of %s: %w", p.Name, err)
		}
		p.Value.Named(p.Name)
		if !o.Train || !trains(p) {
			continue
		}
		if p.Grad, err = dev.Alloc(gpu.F32, p.Shape...); err != nil {
			return fmt.Errorf("memory of the gradient of %s: %w", p.Name, err)
		}
		p.Grad.Named("gradient of " + p.Name)
	}
	return zeroGrads(dev, params)
}

// release gives the memory back.
func release(dev *gpu.Device, params []*nn.Param) error {
	var ts []gpu.Tensor
	for _, p := range params {
		for _, t := range []*gpu.Tensor{&p.Value, &p.Grad} {
			if t.Valid() {
				ts = append(ts, *t)
				*t = gpu.Tensor{}
			}
		}
	}
	return dev.Release(ts...)
}
