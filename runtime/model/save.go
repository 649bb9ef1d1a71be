package model

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// SaveOptions of Loaded.Save.
type SaveOptions struct {
	MaxShard int64             // bytes of tensors a file may hold; 0 = no limit
	DType    safetensors.DType // element type of the model's own floating-point tensors; "" = as in the checkpoint
	// Value gives the tensor to save for a parameter, such as an F32 master copy; nil or a zero Tensor = its
	// Value.
	Value func(*nn.Param) gpu.Tensor
}

// Save writes the model to dir, which is made when it does not exist: config.json, the weights, and the
// checkpoint's other files (tokenizer, generation settings ...). It may be the folder the model came from.
// Every file is written under a temporary name and synced before the first is renamed.
//
// Tensors keep their names, layouts and order; elements that did not change since loading keep their bits,
// and tensors that the model does not use all of theirs. Errors leave the weights in dir as they were.
func (l *Loaded) Save(dir string, o SaveOptions) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tensors, err := l.tensors(o)
	if err != nil {
		return err
	}
	var staged []stagedFile
	defer func() {
		for _, s := range staged {
			os.Remove(s.temp) // gone already once renamed
		}
	}()
	stage := func(name string, body func(io.Writer) error) error {
		s, err := stageFile(dir, name, body)
		staged = append(staged, s)
		return err
	}
	if err := stage("config.json", safetensors.Bytes(l.Config.Bytes())); err != nil {
		return err
	}
	if l.Dir != "" && !sameFolder(l.Dir, dir) {
		names, err := companions(l.Dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := stage(name, copyOf(filepath.Join(l.Dir, name))); err != nil {
				return err
			}
		}
	}
	if _, err := safetensors.Write(dir, tensors, safetensors.Options{MaxShard: o.MaxShard,
		Metadata: l.metadata()}); err != nil {
		return err
	}
	for _, s := range staged {
		if err := os.Rename(s.temp, filepath.Join(dir, s.name)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loaded) metadata() map[string]string {
	if s, ok := l.src.(setSource); ok && s.Metadata() != nil {
		return s.Metadata()
	}
	return nil
}

// tensors lists what Save writes: the checkpoint's tensors in their order, then what it did not have.
func (l *Loaded) tensors(o SaveOptions) ([]safetensors.Tensor, error) {
	var list []safetensors.Tensor
	if l.src == nil {
		return l.freshTensors(o)
	}
	used := l.covering()
	for _, name := range l.src.Names() {
		info, _ := l.src.Info(name)
		t := safetensors.Tensor{Name: name, DType: safetensors.DType(info.Type), Shape: info.Shape}
		bs := used[name]
		if len(bs) == 0 {
			if !t.DType.Known() {
				return nil, fmt.Errorf("tensor %s has type %s, which safetensors cannot hold, and is not part of the "+
					"model, so it cannot be converted", name, info.Type)
			}
			t.Body = func(w io.Writer) error {
				raw, err := l.src.Raw(name)
				if err != nil {
					return err
				}
				_, err = w.Write(raw)
				return err
			}
			list = append(list, t)
			continue
		}
		if o.DType != "" && !bs[0].param.Index {
			t.DType = o.DType
		}
		if !t.DType.Known() {
			return nil, fmt.Errorf("tensor %s has type %s, which safetensors cannot hold: choose a type to save as",
				name, info.Type)
		}
		to := t.DType
		t.Body = func(w io.Writer) error { return l.writeCovered(w, info, bs, to, o) }
		list = append(list, t)
	}
	more, err := l.optionalTensors(o)
	return append(list, more...), err
}

// writeCovered writes a tensor of the checkpoint with the parameters' present values put into it.
func (l *Loaded) writeCovered(w io.Writer, info TensorInfo, bs []binding, to safetensors.DType,
	o SaveOptions) error {
	from, raw, err := elements(l.src, info)
	if err != nil {
		return err
	}
	out := append([]byte(nil), raw...)
	if to != from {
		if out, err = convertRaw(raw, from, to); err != nil {
			return fmt.Errorf("tensor %s: %w", info.Name, err)
		}
	}
	for _, b := range bs {
		stored, values, err := l.current(b, o)
		if err != nil {
			return err
		}
		var orig []byte
		if to == from {
			orig = b.take(raw, b.groupRows, from.Bits()/8)
		}
		elems, err := fromStorage(values, stored, orig, to)
		if err != nil {
			return fmt.Errorf("tensor %s: %w (choose another type to save as)", info.Name, err)
		}
		b.put(out, elems, b.groupRows, to.Bits()/8)
	}
	_, err = w.Write(out)
	return err
}

// convertRaw converts floating-point elements between types of a checkpoint.
func convertRaw(raw []byte, from, to safetensors.DType) ([]byte, error) {
	wide, err := toStorage(raw, from, gpu.F32)
	if err != nil || to == safetensors.F32 {
		return wide, err
	}
	return narrow(wide, gpu.F32, to)
}

// current reads a piece's present values from the device.
func (l *Loaded) current(b binding, o SaveOptions) (gpu.DType, []byte, error) {
	t := b.target()
	if o.Value != nil {
		if v := o.Value(b.param); v.Valid() {
			moved := *b.param
			moved.Value = v
			b.param = &moved
			t = b.target()
		}
	}
	values := make([]byte, t.Bytes())
	if err := l.Dev.Read(t, values); err != nil {
		return 0, nil, fmt.Errorf("read %s: %w", b.param.Name, err)
	}
	return t.Type, values, nil
}

// stagedFile is a file that is complete under a temporary name.
type stagedFile struct{ temp, name string }

func stageFile(dir, name string, body func(io.Writer) error) (stagedFile, error) {
	f, err := os.CreateTemp(dir, "."+name+".tmp-*")
	if err != nil {
		return stagedFile{}, err
	}
	err = body(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	return stagedFile{f.Name(), name}, errors.Join(err, f.Close())
}

func copyOf(path string) func(io.Writer) error {
	return func(w io.Writer) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	}
}

func sameFolder(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// isWeights reports whether a file of a model's folder holds weights, in whatever format, or an index of
// them.
func isWeights(name string) bool {
	for _, end := range []string{".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pt",
		".pth",
		".ckpt", ".gguf", ".h5", ".msgpack", ".onnx", ".onnx_data", ".ot", ".tflite"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
