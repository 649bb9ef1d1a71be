package gguf

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// builder writes GGUF images by hand, true or lying.
type builder struct{ b []byte }

// image starts a version 3 file with the given counts.
func newImage(tensors, pairs uint64) *builder {
	return new(builder).u32(magic).u32(3).u64(tensors).u64(pairs)
}

func (w *builder) u32(v uint32) *builder {
	w.b = binary.LittleEndian.AppendUint32(w.b, v)
	return w
}

func (w *builder) u64(v uint64) *builder {
	w.b = binary.LittleEndian.AppendUint64(w.b, v)
	return w
}

func (w *builder) raw(b ...byte) *builder {
	w.b = append(w.b, b...)
	return w
}

func (w *builder) text(s string) *builder {
	w.u64(uint64(len(s)))
	w.b = append(w.b, s...)
	return w
}

// key writes a key and its value type; the value follows.
func (w *builder) key(k string, t ValueType) *builder { return w.text(k).u32(uint32(t)) }

// tensor writes an index entry; dims are in the file's order, fastest first.
func (w *builder) tensor(name string, t Type, offset uint64, dims ...uint64) *builder {
	w.text(name).u32(uint32(len(dims)))
	for _, d := range dims {
		w.u64(d)
	}
	return w.u32(uint32(t)).u64(offset)
}

// data pads to the default alignment and appends n bytes.
func (w *builder) data(n int) *builder {
	for len(w.b)%defaultAlignment != 0 {
		w.b = append(w.b, 0)
	}
	w.b = append(w.b, make([]byte, n)...)
	return w
}

// save writes the image to a file of a new folder and returns its path.
func (w *builder) save(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, w.b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
