// Package gguf reads GGUF model files: their metadata, their tensor index, and their weights as float32.
//
// A GGUF file is, little endian:
//
//	magic "GGUF", version uint32, tensor count uint64, key-value count uint64
//	key-value pairs      key string, value type uint32, value
//	tensor index         name string, dimension count uint32, dimensions uint64..., type uint32,
//	                     offset uint64
//	padding to general.alignment (default 32)
//	tensor data          offsets count from here
//
// Open maps the file, checks every count, length and offset in it against the file's real size, and keeps
// the index; no weight is touched until it is asked for:
//
//	f, err := gguf.Open("model.gguf")
//	defer f.Close()
//	width, err := f.Meta("llama.embedding_length").Uint()
//	for _, t := range f.Tensors() {
//		row := make([]float32, t.Elements())
//		err = f.Float32(t.Name, row)
//	}
//
// Dimensions are given in row-major order (slowest first), as Hugging Face writes them; the file stores
// the opposite order. Versions 2 and 3 are read; version 1 and big-endian files are refused by name. A
// model split over several files (NAME-00001-of-00003.gguf) is opened by its first file and looks like
// one.
//
// Every error says the file, the byte offset or the tensor or key, what was found and what was wanted.
//
// Source: ggml docs/gguf.md (the format), ggml-common.h and ggml-quants.c (the block layouts).
package gguf
