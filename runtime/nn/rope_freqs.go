package nn

import "math"

// Frequencies returns the inverse frequency of each rotated pair and the multiplier of cosines and sines, for
// sequences of the given length. The arithmetic is float32 step by step, as the reference keeps it. Source:
// transformers 5.17, modeling_rope_utils.py.
func (p *RopeParams) Frequencies(length int) (inv []float32, scale float64) {
	half := p.Dim() / 2
	switch p.Type {
	case "linear":
		return divided(powers(p.Theta, half, p.Dim()), p.Factor), 1
	case "dynamic":
		return powers(p.dynamicTheta(length), half, p.Dim()), 1
	case "yarn":
		return p.yarn()
	case "longrope":
		return p.longrope(length)
	case "llama3":
		return p.llama3(), 1
	case "proportional":
		rotated := int(p.Partial*float64(p.HeadDim)) / 2
		inv = append(powers(p.Theta, rotated, p.HeadDim), make([]float32, half-rotated)...)
		if p.Factor > 0 {
			inv = divided(inv, p.Factor)
		}
		return inv, 1
	}
	return powers(p.Theta, half, p.Dim()), 1
}

// power is theta^(2i/dim).
func power(theta float64, i, dim int) float32 {
	return float32(math.Pow(float64(float32(theta)), float64(float32(2*i)/float32(dim))))
}

// powers returns 1 / theta^(2i/dim) for n frequencies.
func powers(theta float64, n, dim int) []float32 {
	inv := make([]float32, n)
	for i := range inv {
		inv[i] = 1 / power(theta, i, dim)
	}
	return inv
}

func divided(x []float32, by float64) []float32 {
	for i := range x {
		x[i] /= float32(by)
	}
	return x
}

// dynamicTheta stretches the base for sequences longer than the model was trained for (NTK scaling).
func (p *RopeParams) dynamicTheta(length int) float64 {
	n := float64(max(length, p.MaxPositions)) / float64(p.MaxPositions)
	dim := float64(p.Dim())
	return p.Theta * math.Pow(p.Factor*n-(p.Factor-1), dim/(dim-2))
}

// yarn blends interpolated and original frequencies by how often each turns within the original length.
// Source: https://arxiv.org/abs/2309.00071.
func (p *RopeParams) yarn() (inv []float32, scale float64) {
	factor, dim := p.stretch(), p.Dim()
	scale = p.AttentionFactor
	if scale == 0 {
		if scale = yarnScale(factor, 1); p.MScale != 0 && p.MScaleAllDim != 0 {
			scale = yarnScale(factor, p.MScale) / yarnScale(factor, p.MScaleAllDim)
		}
	}
	low, high := p.turns(p.BetaFast, 32), p.turns(p.BetaSlow, 1)
	if !p.NoTruncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(dim-1))
	if low == high {
		high += 0.001
	}
	inv = make([]float32, dim/2)
	for i := range inv {
		pos := power(p.Theta, i, dim)
		ramp := min(max((float32(i)-float32(low))/float32(high-low), 0), 1)
		keep := 1 - ramp
		inv[i] = 1/(float32(factor)*pos)*(1-keep) + 1/pos*keep
	}
	return inv, scale
}

// stretch is the ratio of the trained to the original length.
func (p *RopeParams) stretch() float64 {
	if p.Factor > 0 {
		return p.Factor
	}
	return float64(p.MaxPositions) / float64(p.Original)
}

// turns is the index of the frequency that turns beta times (def when beta is 0) within the original length.
func (p *RopeParams) turns(beta, def float64) float64 {
	if beta == 0 {
		beta = def
	}
	return float64(p.Dim()) * math.Log(float64(p.Original)/(beta*2*math.Pi)) / (2 * math.Log(p.Theta))
}

func yarnScale(factor, mscale float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 0.1*mscale*math.Log(factor) + 1
}

// longrope divides every frequency by a factor of its own, from one list up to the original length and
// another beyond.
// Source: https://arxiv.org/abs/2402.13753.
func (p *RopeParams) longrope(length int) (inv []float32, scale float64) {
	factors := p.ShortFactor
	if length > p.Original {
		factors = p.LongFactor
	}
	scale = p.AttentionFactor
	if p.ShortMScale > 0 && p.LongMScale > 0 {
		if factors, scale = p.ShortFactor, p.ShortMScale; length > p.Original {
			scale = p.LongMScale
		}
	}
	if scale == 0 {
		scale = 1
		if f := p.stretch(); f > 1 {
			scale = math.Sqrt(1 + math.Log(f)/math.Log(float64(p.Original)))
		}
	}
	inv = make([]float32, len(factors))
	for i, f := range factors {
		inv[i] = 1 / (float32(f) * power(p.Theta, i, p.Dim()))
	}
	return inv, scale
}

// llama3 divides the slow frequencies by factor, keeps the fast ones and blends in between.
func (p *RopeParams) llama3() []float32 {
	inv := powers(p.Theta, p.Dim()/2, p.Dim())
	factor, original := float32(p.Factor), float64(p.Original)
	slow, fast := float32(original/p.LowFactor), float32(original/p.HighFactor)
	for i, f := range inv {
		wave := float32(2*math.Pi) / f
		switch {
		case wave > slow:
			inv[i] = f / factor
		case wave >= fast:
			smooth := (float32(original)/wave - float32(p.LowFactor)) / float32(p.HighFactor-p.LowFactor)
			inv[i] = (1-smooth)*f/factor + smooth*f
		}
	}
	return inv
}
