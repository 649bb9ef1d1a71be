package shaders

// mixerSources lists the kernels of encoders that mix tokens in other ways: transforms, windows, relative scores.
func mixerSources() []Source {
	return []Source{
		{Name: "dft", Template: "dft.comp.tmpl"},
		{Name: "unfold", Template: "unfold.comp.tmpl"},
		{Name: "depthwise_conv", Template: "depthwise_conv.comp.tmpl"},
		{Name: "angle_power", Template: "angle_power.comp.tmpl"},
		{Name: "relative_gather", Template: "relative_gather.comp.tmpl"},
	}
}
