package shaders

// ropeSources lists the kernels of rotary positions.
func ropeSources() []Source {
	return []Source{
		{Name: "rope", Template: "rope.comp.tmpl"},
		{Name: "rope_table", Template: "rope_table.comp.tmpl"},
	}
}
