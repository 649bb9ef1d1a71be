package shaders

// embedSources lists the kernels of embedding tables.
func embedSources() []Source {
	return []Source{
		{Name: "embed", Template: "embed.comp.tmpl"},
		{Name: "embed_links", Template: "embed_links.comp.tmpl"},
		{Name: "embed_grad", Template: "embed_grad.comp.tmpl"},
	}
}
