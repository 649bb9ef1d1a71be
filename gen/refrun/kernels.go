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

		"causal_conv":            causalConv,
		"causal_conv_grad":       causalConvGrad,
		"linear_recurrence":      linearRecurrence,
		"linear_recurrence_grad": linearRecurrenceGrad,
		"delta_recurrence":       linearRecurrence,
		"delta_recurrence_grad":  linearRecurrenceGrad,
		"selective_scan":         selectiveScan,
		"selective_scan_grad":    selectiveScanGrad,
	}
}
