// Package safetensors reads and writes the safetensors format: named tensors in one file, or in several files
// (shards) with an index.
//
// A file is 8 bytes of little-endian header length, a JSON header that gives each tensor's element type,
// shape and byte range, and the bytes. Open maps the files into memory and checks all that a header can get
// wrong before any tensor is looked at; nothing is copied until Widen or Float32 converts it.
//
//	set, err := safetensors.Open("model/")       // a folder, an index or one file
//	defer set.Close()
//	for _, name := range set.Names() {
//		info, _ := set.Info(name)
//		raw, _ := set.Raw(name)                  // the mapped bytes
//	}
//
// Write makes such files: every file is written under a temporary name, synced and only then renamed, the
// index last, so that a full disk or a crash leaves what was there before.
//
// Source: github.com/huggingface/safetensors, README.md "Format" and safetensors/src/tensor.rs.
package safetensors
