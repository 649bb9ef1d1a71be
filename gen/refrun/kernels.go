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

		"attention_both": attentionBoth,
		"relative_bias":  relativeBias,
		"index_scores":   indexScores,
		"choose_keys":    chooseKeys,

		"topk":             topk,
		"gather_last":      gatherLast,
		"scatter_last":     scatterLast,
		"route":            route,
		"group_limit":      groupLimit,
		"expert_linear":    expertLinear,
		"expert_linear_in": expertLinear,

		"unfold":           unfold,
		"depthwise_conv":   depthwiseConv,
		"relative_gather":  relativeGather,
		"group_linear":     groupLinear,
		"dft":              dft,
		"angle_power":      anglePower,
		"angle_power_grad": anglePowerGrad,

		"permute": permute,
		"slice":   slice,
		"pad":     slice,
		"split":   slice,
		"concat":  concat,
		"expand":  expand,
		"sum":     sum,

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
