package shaders

// elementarySources lists the kernel that evaluates the functions of lib/math and lib/act.
func elementarySources() []Source {
	return []Source{{Name: "elementary", Template: "elementary.comp.tmpl"}}
}
