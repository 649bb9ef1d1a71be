package gguf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// File is an open model: one GGUF file, or all the files of a split one. Its methods may be called from
// several goroutines, Close only when no other call is running.
type File struct {
	images []*image
	unmap  []func() error
	byName map[string]int
	list   []TensorInfo
}

// Open maps the file at path and checks its whole index. If it is the first file of a split model, the
// other files are opened from the same folder. The file must not be changed or cut while it is open: the
// operating system ends a process that reads mapped bytes that are gone.
func Open(path string) (*File, error) {
	f := &File{byName: map[string]int{}}
	if err := f.open(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *File) open(path string) error {
	if err := f.add(path); err != nil {
		return err
	}
	rest, err := f.images[0].siblings()
	if err != nil {
		return err
	}
	for i, p := range rest {
		if err := f.add(p); err != nil {
			return err
		}
		if err := f.images[i+1].isPart(i+1, len(rest)+1); err != nil {
			return err
		}
	}
	return f.checkTotal()
}

// add maps and parses one file and merges its tensors.
func (f *File) add(path string) error {
	data, unmap, err := mapFile(path)
	if err != nil {
		return err
	}
	f.unmap = append(f.unmap, unmap)
	im, err := parse(path, data)
	if err != nil {
		return err
	}
	f.images = append(f.images, im)
	for _, t := range im.tensors {
		if i, ok := f.byName[t.Name]; ok {
			return fmt.Errorf("%s: tensor %q is also in %s", path, t.Name, f.images[f.list[i].file].path)
		}
		t.file = len(f.images) - 1
		f.byName[t.Name] = len(f.list)
		f.list = append(f.list, t)
	}
	return nil
}

// Close unmaps the file. Slices that Raw returned must not be used afterwards.
func (f *File) Close() error {
	var errs []error
	for _, u := range f.unmap {
		errs = append(errs, u())
	}
	f.unmap, f.images, f.list, f.byName = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Path returns the path given to Open, or "" after Close.
func (f *File) Path() string {
	if len(f.images) == 0 {
		return ""
	}
	return f.images[0].path
}

// Keys returns the metadata keys in file order.
func (f *File) Keys() []string {
	if len(f.images) == 0 {
		return nil
	}
	return slices.Clone(f.images[0].keys)
}

// Meta returns the value of key; its Exists is false, and its getters fail, where the file has none.
func (f *File) Meta(key string) Value {
	if len(f.images) > 0 {
		if v, ok := f.images[0].meta[key]; ok {
			return v
		}
	}
	return Value{Key: key, path: f.Path()}
}

// Tensors returns the tensor index in file order.
func (f *File) Tensors() []TensorInfo { return slices.Clone(f.list) }

// Tensor returns the index entry of name.
func (f *File) Tensor(name string) (TensorInfo, bool) {
	i, ok := f.byName[name]
	if !ok {
		return TensorInfo{}, false
	}
	return f.list[i], true
}

// Raw returns the stored bytes of a tensor, which are read-only and gone after Close; nil if there is no
// such tensor.
func (f *File) Raw(name string) []byte {
	t, ok := f.Tensor(name)
	if !ok {
		return nil
	}
	return f.images[t.file].data[t.Offset : t.Offset+t.Bytes : t.Offset+t.Bytes]
}

// Float32 writes the values of a tensor, dequantized and in row-major order, to dst, whose length must be
// the tensor's number of values.
func (f *File) Float32(name string, dst []float32) error {
	t, ok := f.Tensor(name)
	if !ok {
		return fmt.Errorf("%s: no tensor %q", f.Path(), name)
	}
	if len(dst) != t.Elements() {
		return fmt.Errorf("%s: tensor %q has %d values, and the destination has room for %d",
			f.images[t.file].path, name, t.Elements(), len(dst))
	}
	if err := Dequantize(t.Type, f.Raw(name), dst); err != nil {
		return fmt.Errorf("%s: tensor %q: %w", f.images[t.file].path, name, err)
	}
	return nil
}

// siblings returns the paths of the other files of a split model, in order; none for a whole one.
//
// Source: llama.cpp tools/gguf-split (keys split.no, split.count, split.tensors.count and the file names).
func (im *image) siblings() ([]string, error) {
	v, ok := im.meta["split.count"]
	if !ok {
		return nil, nil
	}
	n, err := v.Uint()
	if err != nil || n <= 1 {
		return nil, err
	}
	m := regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`).FindStringSubmatch(filepath.Base(im.path))
	if m == nil || m[3] != fmt.Sprintf("%05d", n) {
		return nil, fmt.Errorf("%s: the file is one of %d parts, so its name must end in -00001-of-%05d.gguf",
			im.path, n, n)
	}
	name := func(i uint64) string {
		return filepath.Join(filepath.Dir(im.path), fmt.Sprintf("%s-%05d-of-%05d.gguf", m[1], i, n))
	}
	if no, _ := strconv.Atoi(m[2]); no != 1 {
		return nil, fmt.Errorf("%s: this is part %d of %d; open the first part, %s", im.path, no, n, name(1))
	}
	if err := im.isPart(0, int(n)); err != nil {
		return nil, err
	}
	var rest []string
	for i := uint64(2); i <= n; i++ {
		p := name(i)
		if _, err := os.Stat(p); err != nil {
			return nil, fmt.Errorf("%s: part %d of %d is missing: %w", im.path, i, n, err)
		}
		rest = append(rest, p)
	}
	return rest, nil
}

// isPart checks that the file says of itself that it is part no (from 0) of count.
func (im *image) isPart(no, count int) error {
	for _, k := range []struct {
		key  string
		want int
	}{{"split.no", no}, {"split.count", count}} {
		v := im.meta[k.key]
		v.Key, v.path = k.key, im.path
		got, err := v.Uint()
		if err != nil {
			return err
		}
		if got != uint64(k.want) {
			return fmt.Errorf("%s: key %q is %d, want %d", im.path, k.key, got, k.want)
		}
	}
	return nil
}

// checkTotal compares the number of tensors over all parts with what the first part promises.
func (f *File) checkTotal() error {
	v := f.Meta("split.tensors.count")
	if !v.Exists() {
		return nil
	}
	want, err := v.Uint()
	if err != nil {
		return err
	}
	if want != uint64(len(f.list)) {
		return fmt.Errorf("%s: the parts hold %d tensors, and key %q says %d",
			f.Path(), len(f.list), v.Key, want)
	}
	return nil
}
