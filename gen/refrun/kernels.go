package refrun

// Kernels returns the reference of every kernel op by name.
func Kernels() map[string]Func {
	return map[string]Func{
		"matmul":             matmul,
		"linear":             linear,
		"linear_grad":        linearGrad,
		"sum_rows":           sumRows,
		"embed":              embed,
		"embed_grad":         embedGrad,
		"cross_entropy":      crossEntropy,
		"cross_entropy_grad": crossEntropyGrad,
		"attention":          attention,
		"attention_grad":     attentionGrad,
		"rope":               rope,
	}
}
