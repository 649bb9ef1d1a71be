package shaders

// rowSources lists reductions over rows.
func rowSources() []Source {
	return []Source{
		{Name: "sum_rows", Template: "sum_rows.comp.tmpl"},
	}
}
