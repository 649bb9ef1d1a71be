package refrun

import (
	"fmt"
	"math"
)

// An activation is a function and its derivative in float64.
type activation struct{ f, grad func(float64) float64 }

// Activation returns the activation of transformers' ACT2FN (plus softplus, exp, identity) and its
// derivative, in float64 and written as the definitions are, not as the kernels compute them. At a kink the
// derivative is PyTorch's.
func Activation(name string) (f, grad func(float64) float64, err error) {
	a, ok := activationTable()[name]
	if !ok {
		return nil, nil, fmt.Errorf("activation %q is not known", name)
	}
	return a.f, a.grad, nil
}

func activationTable() map[string]activation {
	linear := activation{func(x float64) float64 { return x }, func(float64) float64 { return 1 }}
	gelu := activation{
		func(x float64) float64 { return x * normalCDF(x) },
		func(x float64) float64 { return normalCDF(x) + x*normalPDF(x) },
	}
	geluTanh := activation{geluTanh, geluTanhGrad}
	silu := activation{
		func(x float64) float64 { return x * sigmoid(x) },
		func(x float64) float64 { return sigmoid(x) * (1 + x*sigmoid(-x)) },
	}
	return map[string]activation{
		"linear": linear, "identity": linear,
		"gelu": gelu, "gelu_python": gelu,
		"gelu_accurate": geluTanh, "gelu_fast": geluTanh, "gelu_new": geluTanh,
		"gelu_python_tanh": geluTanh, "gelu_pytorch_tanh": geluTanh,
		"gelu_10": {
			func(x float64) float64 { return min(max(gelu.f(x), -10), 10) },
			func(x float64) float64 { return gate(math.Abs(gelu.f(x)) <= 10) * gelu.grad(x) },
		},
		"silu": silu, "swish": silu,
		"quick_gelu": {
			func(x float64) float64 { return x * sigmoid(1.702*x) },
			func(x float64) float64 { return sigmoid(1.702*x) * (1 + 1.702*x*sigmoid(-1.702*x)) },
		},
		"relu": {
			func(x float64) float64 { return max(x, 0) },
			func(x float64) float64 { return gate(x > 0) },
		},
		"relu2": {
			func(x float64) float64 { return max(x, 0) * max(x, 0) },
			func(x float64) float64 { return 2 * max(x, 0) },
		},
		"relu6": {
			func(x float64) float64 { return min(max(x, 0), 6) },
			func(x float64) float64 { return gate(x > 0 && x < 6) },
		},
		"leaky_relu": {
			func(x float64) float64 { return max(x, 0) + 0.01*min(x, 0) },
			func(x float64) float64 { return 0.01 + 0.99*gate(x > 0) },
		},
		"sigmoid": {sigmoid, func(x float64) float64 { return sigmoid(x) * sigmoid(-x) }},
		"tanh":    {math.Tanh, func(x float64) float64 { return 4 * sigmoid(2*x) * sigmoid(-2*x) }},
		"mish":    {func(x float64) float64 { return x * math.Tanh(softplus(x)) }, mishGrad},
		"laplace": {
			func(x float64) float64 { return normalCDF((x - laplaceMu) / laplaceSigma) },
			func(x float64) float64 { return normalPDF((x-laplaceMu)/laplaceSigma) / laplaceSigma },
		},
		"hardswish": {
			func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 },
			func(x float64) float64 { return gate(x >= 3) + gate(x > -3 && x < 3)*(x/3+0.5) },
		},
		"sqrtsoftplus": {
			func(x float64) float64 { return math.Sqrt(softplus(x)) },
			func(x float64) float64 { return sigmoid(x) / (2 * math.Sqrt(softplus(x))) },
		},
		"softplus": {softplus, sigmoid},
		"exp":      {math.Exp, math.Exp},
	}
}

// Constants of the laplace activation. Source: MEGA, https://arxiv.org/abs/2209.10655.
const laplaceMu, laplaceSigma = 0.707107, 0.282095

func gate(open bool) float64 {
	if open {
		return 1
	}
	return 0
}

func sigmoid(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / (1 + math.Exp(x))
	}
	return 1 / (1 + math.Exp(-x))
}

func softplus(x float64) float64  { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
func normalPDF(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// geluTanh uses (1+tanh u)/2 = sigmoid(2u), which keeps the left tail's digits.
func geluTanh(x float64) float64 {
	return x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
}

func geluTanhGrad(x float64) float64 {
	c := 2 * math.Sqrt(2/math.Pi)
	u := c * (x + 0.044715*x*x*x)
	return sigmoid(u) + x*sigmoid(u)*sigmoid(-u)*c*(1+3*0.044715*x*x)
}

func mishGrad(x float64) float64 {
	t := math.Tanh(softplus(x))
	return t + x*sigmoid(x)*(1-t*t)
}
