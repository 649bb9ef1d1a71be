package refrun

// Kernels returns the reference of every kernel op by name.
func Kernels() map[string]Func {
	return map[string]Func{
		"attention":      attention,
		"attention_grad": attentionGrad,
		"rope":           rope,
	}
}
