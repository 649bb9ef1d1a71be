package verify

import "math"

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

func (e referenceErrors) logitsBound(largest float64) float64 { return max(4*e.Logits, 4*ulp(largest)) }

func (e referenceErrors) leftBound(largest float64) float64 { return max(4*e.Left, 4*ulp(largest)) }

func (e referenceErrors) lossBound(loss float64) float64 { return max(4*e.Loss, 4*ulp(loss)) }

func (e referenceErrors) gradBound() float64 { return max(4*e.Grads, 0x1p-20*e.GradScale) }

// paramBound is for every parameter after two steps; largest is the largest value of any parameter.
func (e referenceErrors) paramBound(largest float64) float64 {
	return max(2e-7, 2*e.AdamW2, ulp(largest))
}

// lossesBound is relative.
func (e referenceErrors) lossesBound() float64 { return max(1e-4, 4*e.Train8) }

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
