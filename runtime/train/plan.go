package train

import (
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Plan is the device memory that a run takes, in bytes, exact but for the rounding of allocations.
type Plan struct {
	Parameters  int64 `json:"parameters"` // number
	Trained     int64 `json:"trained"`    // number of those that change
	Weights     int64 `json:"weights"`
	Gradients   int64 `json:"gradients"`
	Optimizer   int64 `json:"optimizer"`
	Activations int64 `json:"activations"` // temporary tensors of a step
	Inputs      int64 `json:"inputs"`
	Total       int64 `json:"total"`
}

// PlanRun records one step of a model without memory, for rows of length tokens. m comes from model.Describe
// and is of no other use afterwards.
func PlanRun(m model.Model, dev *gpu.Device, o model.Options, c Config, length int) (Plan, error) {
	var plan Plan
	r := nn.NewRecorder(dev, o.Kernels, o.Activations)
	base := r.Peak()
	mark := func(at *int64) {
		now := r.Peak()
		*at, base = now-base, now
	}
	o.Train = true
	model.PlanParams(r.Recorder, model.AllParams(m), o)
	all := int64(0)
	mark(&all)
	for _, p := range model.AllParams(m) {
		n := int64(1)
		for _, d := range p.Shape {
			n *= int64(d)
		}
		plan.Parameters += n
		if p.Grad.Valid() {
			plan.Trained += n
			plan.Gradients += 4 * n
		}
	}
	plan.Weights = all - plan.Gradients
	noDecay, err := compile(c.NoDecay)
	if err != nil {
		return plan, err
	}
	params := trained(model.AllParams(m))
	ms, err := moments(params, noDecay, func(_ string, shape []int) (gpu.Tensor, error) {
		return r.Alloc(gpu.F32, shape...), r.Err()
	})
	if err != nil {
		return plan, err
	}
	mark(&plan.Optimizer)
	in := planInputs(r, m.Arch().Kind, c.Batch, length)
	hyper, result := r.Alloc(gpu.F32, nn.HyperWords), r.Alloc(gpu.F32, resultWords)
	r.Training, r.Seed = true, r.Alloc(gpu.U32, 2)
	mark(&plan.Inputs)
	if err := m.Prepare(dev, o); err != nil {
		return plan, err
	}
	recordLoss(r, m.Train(r, in), result)
	recordUpdate(r, params, ms, hyper, result)
	mark(&plan.Activations)
	plan.Total = base
	return plan, r.Err()
}

// planInputs are the inputs of a step in planned memory.
func planInputs(r *nn.Recorder, kind model.Kind, rows, length int) *model.Inputs {
	batch := func() *nn.Batch {
		ints := func() gpu.Tensor { return r.Alloc(gpu.I32, rows, length) }
		return &nn.Batch{B: rows, T: length, S: length, Tokens: ints(), Pos: ints(), Seg: ints(), KeySeg: ints(),
			Labels: ints(), LossScale: r.Alloc(gpu.F32, 1)}
	}
	in := &model.Inputs{Dec: batch()}
	if kind == model.Seq2Seq {
		in.Enc = batch()
	}
	return in
}

// Option is a change that lowers the memory of a run.
type Option struct {
	Change string `json:"change"` // as flags
	Total  int64  `json:"total"`
}

// Fit compares a run with the free memory of a device. A run that does not fit is an error that says what
// would: describe makes a new model for every attempt.
func Fit(describe func() (model.Model, error), dev *gpu.Device, o model.Options, c Config, length int,
	free int64) (Plan, error) {
	try := func(o model.Options, c Config, length int) (Plan, error) {
		m, err := describe()
		if err != nil {
			return Plan{}, err
		}
		return PlanRun(m, dev, o, c, length)
	}
	plan, err := try(o, c, length)
	if err != nil || plan.Total <= free {
		return plan, err
	}
	var lines []string
	offer := func(change string, o model.Options, c Config, length int) {
		p, err := try(o, c, length) // what cannot be recorded is no offer
		if err == nil && p.Total < plan.Total {
			note := ""
			if p.Total > free {
				note = ", still too much"
			}
			lines = append(lines, fmt.Sprintf("  %s: %s%s", change, ByteText(p.Total), note))
		}
	}
	for rows := c.Batch / 2; rows >= 1; rows /= 2 {
		d := c
		d.Batch, d.Accumulate = rows, c.Accumulate*((c.Batch+rows-1)/rows)
		offer(fmt.Sprintf("--batch %d --accumulate %d", d.Batch, d.Accumulate), o, d, length)
	}
	if length >= 2 {
		offer(fmt.Sprintf("--seq %d", length/2), o, c, length/2)
	}
	if o.Activations == gpu.F32 && length%4 == 0 {
		half := o
		half.Weights, half.Activations = gpu.BF16, gpu.BF16
		offer("--dtype bf16", half, c, length)
	}
	advice := "nothing that can be chosen makes it fit: use a smaller model or a larger device"
	if len(lines) > 0 {
		advice = "less memory is needed with\n" + strings.Join(lines, "\n")
	}
	return plan, fmt.Errorf("the run needs %s (weights %s, gradients %s, optimizer %s, activations %s) but the device has %s "+
		"free; %s", ByteText(plan.Total), ByteText(plan.Weights), ByteText(plan.Gradients), ByteText(plan.Optimizer),
		ByteText(plan.Activations), ByteText(free), advice)
}

// ByteText is a size for people.
func ByteText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
