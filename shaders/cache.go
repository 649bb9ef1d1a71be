package shaders

// cacheSources lists the kernels of decoding caches.
func cacheSources() []Source {
	return []Source{{Name: "cache_append", Template: "cache_append.comp.tmpl"}}
}
