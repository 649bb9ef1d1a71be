package shaders

// matmulSources lists the matmul kernels.
func matmulSources() []Source { return nil }
