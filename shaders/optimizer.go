package shaders

// optimizerSources lists the optimizer kernels.
func optimizerSources() []Source { return nil }
