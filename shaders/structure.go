package shaders

// structureSources lists the kernels that rearrange tensors.
func structureSources() []Source {
	return []Source{
		{Name: "strided_copy", Template: "strided_copy.comp.tmpl"},
		{Name: "dropout", Template: "dropout.comp.tmpl"},
		{Name: "shift_index", Template: "shift_index.comp.tmpl"},
		{Name: "token_positions", Template: "token_positions.comp.tmpl"},
		{Name: "index_float", Template: "index_float.comp.tmpl"},
		{Name: "block_segments", Template: "block_segments.comp.tmpl"},
		{Name: "hide_padding", Template: "hide_padding.comp.tmpl"},
		{Name: "masked_share", Template: "masked_share.comp.tmpl"},
		{Name: "sum_two", Template: "sum_two.comp.tmpl"},
		{Name: "relative_bias", Template: "relative_bias.comp.tmpl"},
		{Name: "relative_diagonals", Template: "relative_diagonals.comp.tmpl"},
		{Name: "relative_bias_grad", Template: "relative_bias_grad.comp.tmpl"},
		{Name: "strided_sum", Template: "strided_sum.comp.tmpl"},
	}
}
