package shaders

// optimizerSources lists the kernels that update parameters.
func optimizerSources() []Source {
	return []Source{
		{Name: "square_sums", Template: "square_sums.comp.tmpl"},
		{Name: "grad_norm", Template: "grad_norm.comp.tmpl"},
		{Name: "adamw", Template: "adamw.comp.tmpl", Params: map[string]any{"Wide": false}},
		{Name: "adamw64", Template: "adamw.comp.tmpl", Params: map[string]any{"Wide": true}},
	}
}
