package model

import (
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// PlanParams gives every parameter, and with o.Train its gradient, planned memory of r instead of real memory: a
// recording of such a model that is never finished tells what memory a run needs (gpu.Recorder.Peak). The parameters
// belong to that recording; use a model of Describe.
func PlanParams(r *gpu.Recorder, params []*nn.Param, o Options) {
	for _, p := range params {
		p.Value = r.Alloc(storageType(p, o.Weights), p.Shape...)
		p.Grad = gpu.Tensor{}
		if o.Train && trains(p) {
			p.Grad = r.Alloc(gpu.F32, p.Shape...)
		}
	}
}
