package shaders

// lossSources lists the kernels of the cross-entropy loss.
func lossSources() []Source {
	return []Source{
		{Name: "cross_entropy", Template: "cross_entropy.comp.tmpl"},
		{Name: "cross_entropy_grad", Template: "cross_entropy_grad.comp.tmpl"},
		{Name: "total", Template: "total.comp.tmpl"},
	}
}
