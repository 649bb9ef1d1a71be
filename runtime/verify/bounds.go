package verify

import (
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// ulp is the spacing of float32 values at |x|.
func ulp(x float64) float64 {
	f := float32(math.Abs(x))
	if f >= math.MaxFloat32 {
		return math.Inf(1)
	}
	return float64(math.Nextafter32(f, float32(math.Inf(1)))) - float64(f)
}

// referenceErrors are meta.json's hf_fp32_err: the reference's own float32 error of each quantity, 0 where
// absent.
type referenceErrors struct {
	Loss      float64 `json:"loss"`
	Logits    float64 `json:"logits"`
	Left      float64 `json:"left"`
	Grads     float64 `json:"grads"`
	GradScale float64 `json:"grad_scale"`
	AdamW2    float64 `json:"adamw2"`
	Train8    float64 `json:"train8"`
}

// bounds are the largest errors that count as equal, for a storage type of weights and activations.
type bounds struct {
	e     referenceErrors
	round float64 // unit roundoff of 16-bit storage; 0 = F32
}

// boundsOf returns the bounds of a storage type. Those of F32 are strict; with 16-bit storage every activation is
// rounded, so errors are multiples of the unit roundoff u (2^-8 of BF16, 2^-11 of F16) times the largest value:
//
//	logits, left    16 u max |logit|
//	loss, losses    16 u relative
//	grads           64 u grad_scale
//	adamw2          128 u grad_scale lr/eps, at most 4 lr    a step moves a parameter by lr g/(|g|+eps)
//	generate        10 x the logits bound; tokens are not judged, as near ties may turn
//
// Small smooth models need under a fifth of these. Where a rounded value decides something (the kink of relu, the
// choice of an expert), one flip changes a gradient by its own size, which is what the room is for.
func boundsOf(e referenceErrors, t gpu.DType) bounds {
	switch t {
	case gpu.BF16:
		return bounds{e, 0x1p-8}
	case gpu.F16:
		return bounds{e, 0x1p-11}
	}
	return bounds{e, 0}
}

func (b bounds) logits(largest float64) float64 {
	return max(4*b.e.Logits, 4*ulp(largest), 16*b.round*largest)
}

func (b bounds) left(largest float64) float64 {
	return max(4*b.e.Left, 4*ulp(largest), 16*b.round*largest)
}

func (b bounds) loss(loss float64) float64 { return max(4*b.e.Loss, 4*ulp(loss), 16*b.round*loss) }

func (b bounds) grads() float64 {
	return max(4*b.e.Grads, 0x1p-20*b.e.GradScale, 64*b.round*b.e.GradScale)
}

// params is for every parameter after two steps; largest is the largest value of any parameter.
func (b bounds) params(largest float64) float64 {
	const lr, eps = 1e-3, 1e-3
	return max(2e-7, 2*b.e.AdamW2, ulp(largest), min(128*b.round*b.e.GradScale*lr/eps, 4*lr))
}

// losses is relative.
func (b bounds) losses() float64 { return max(1e-4, 4*b.e.Train8, 16*b.round) }

// worst is the largest difference found, with where it is.
type worst struct {
	err  float64
	at   string
	seen bool
}

// add takes in a difference; one that is no number counts as infinite.
func (w *worst) add(d float64, at func() string) {
	if math.IsNaN(d) {
		d = math.Inf(1)
	}
	if !w.seen || d > w.err {
		w.err, w.at, w.seen = d, at(), true
	}
}

// largest returns the largest absolute value.
func largest(values []float64) float64 {
	m := 0.0
	for _, v := range values {
		m = max(m, math.Abs(v))
	}
	return m
}
