package shaders

// recurrenceSources lists the kernels of convolutions and recurrences over time.
func recurrenceSources() []Source {
	return []Source{
		{Name: "token_mask", Template: "token_mask.comp.tmpl"},
		{Name: "causal_conv", Template: "causal_conv.comp.tmpl"},
		{Name: "causal_conv_state", Template: "causal_conv_state.comp.tmpl"},
		{Name: "causal_conv_grad", Template: "causal_conv_grad.comp.tmpl"},
		{Name: "causal_conv_weight_grad", Template: "causal_conv_weight_grad.comp.tmpl"},
		{Name: "recurrence", Template: "recurrence.comp.tmpl"},
		{Name: "recurrence_back_values", Template: "recurrence_back_values.comp.tmpl"},
		{Name: "recurrence_back_keys", Template: "recurrence_back_keys.comp.tmpl"},
		{Name: "selective_scan", Template: "selective_scan.comp.tmpl"},
		{Name: "selective_scan_grad", Template: "selective_scan_grad.comp.tmpl"},
		{Name: "row_dot", Template: "row_dot.comp.tmpl"},
	}
}
