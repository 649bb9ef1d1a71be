package nn

import (
	"fmt"
	"slices"
	"strings"
)

// activations gives each activation its number in shaders/lib/act.glsl. Several names are one function: the
// tanh form of gelu is written in four ways that differ only in rounding.
// Source: transformers activations.py, ACT2FN; softplus and exp are extra. prelu and xielu have parameters:
// not here.
var activations = map[string]uint32{
	"linear": 0, "identity": 0,
	"gelu": 1, "gelu_python": 1,
	"gelu_accurate": 2, "gelu_fast": 2, "gelu_new": 2, "gelu_python_tanh": 2, "gelu_pytorch_tanh": 2,
	"gelu_10": 3,
	"silu":    4, "swish": 4,
	"quick_gelu":   5,
	"relu":         6,
	"relu2":        7,
	"relu6":        8,
	"leaky_relu":   9,
	"sigmoid":      10,
	"tanh":         11,
	"mish":         12,
	"laplace":      13,
	"hardswish":    14,
	"sqrtsoftplus": 15,
	"softplus":     16,
	"exp":          17,
}

// ActivationID returns the number by which kernels know an activation, for their constant ACT. An unknown
// name is an error that lists the known ones.
func ActivationID(name string) (uint32, error) {
	if id, ok := activations[name]; ok {
		return id, nil
	}
	if name == "prelu" || name == "xielu" {
		return 0, fmt.Errorf(
			"activation %q has learned parameters and is an op of its own, not an activation name",
			name,
		)
	}
	return 0, fmt.Errorf(
		"activation %q is not known; known are %s",
		name,
		strings.Join(ActivationNames(), ", "),
	)
}

// ActivationNames lists the known activation names, sorted.
func ActivationNames() []string {
	names := make([]string, 0, len(activations))
	for n := range activations {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
