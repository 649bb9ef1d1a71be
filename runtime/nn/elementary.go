package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// elementaryFunctions are the functions of shaders/lib/math.glsl in the order of the elementary kernel.
var elementaryFunctions = []string{
	"exp",
	"exp_neg",
	"expm1",
	"log",
	"log1p",
	"sigmoid",
	"softplus",
	"tanh",
	"erf",
	"erfc",
	"normal_cdf",
	"normal_pdf",
	"sin",
	"cos",
	"pow",
}

// Elementary evaluates one function at every element of x, F32: a function of lib/math (exp, log, erf, pow
// ...), "act:NAME" for an activation or "act_grad:NAME" for its derivative. exponent is pow's. It exists to
// measure how exact they are.
func (r *Recorder) Elementary(name string, x gpu.Tensor, exponent float32) gpu.Tensor {
	f, act := slices.Index(elementaryFunctions, name), uint32(0)
	for prefix, number := range map[string]int{"act:": 100, "act_grad:": 101} {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			id, err := ActivationID(name[len(prefix):])
			if err != nil {
				r.Fail(err)
			}
			f, act = number, id
		}
	}
	if f < 0 || x.Type != gpu.F32 {
		r.Fail(
			fmt.Errorf(
				"elementary: function %q of %v: want one of %v of an F32 tensor",
				name,
				x,
				elementaryFunctions,
			),
		)
	}
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, x.Shape...)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.Elementary, ceilDiv(x.Len(), lanes), []uint32{uint32(lanes), uint32(f), act},
		[]uint32{uint32(x.Len()), math.Float32bits(exponent)}, x, y)
	return y
}
