package shaders

// embedSources lists the embed kernels.
func embedSources() []Source { return nil }
