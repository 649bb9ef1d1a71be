package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Set is the tensors of one file, or of the shards of one model. Methods may be called from several
// goroutines.
type Set struct {
	path    string
	shards  []shard
	names   []string
	tensors map[string]entry
	meta    map[string]string
	index   *Index
}

type entry struct {
	Info
	data []byte
}

type shard struct {
	path  string
	data  []byte
	unmap func() error
	head  *header
}

// Index is the file that says which shard holds which tensor.
type Index struct {
	Path      string                     // of the index file
	Metadata  map[string]json.RawMessage // total_size and what else the writer put there
	WeightMap map[string]string          // tensor name -> file name, in the folder of the index
}

// Open maps a model's tensors: path is a .safetensors file, an index (*.safetensors.index.json), or a folder
// with either (model.safetensors.index.json, model.safetensors, or a single other .safetensors file, in this
// order).
//
// Errors name the file, the tensor and what is wrong; see the package comment.
func Open(path string) (*Set, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		if path, err = find(path); err != nil {
			return nil, err
		}
	}
	s := &Set{path: path, tensors: map[string]entry{}}
	if strings.HasSuffix(path, ".json") {
		err = s.openIndex(path)
	} else {
		err = s.add(path)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// find picks the file of a folder to open.
func find(dir string) (string, error) {
	for _, name := range []string{"model.safetensors.index.json", "model.safetensors"} {
		if p := filepath.Join(dir, name); exists(p) {
			return p, nil
		}
	}
	list, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.safetensors"))
	if err != nil {
		return "", err
	}
	switch {
	case len(list) == 1:
		return list[0], nil
	case len(list) > 1:
		return "", fmt.Errorf("%s: %d .safetensors files but no model.safetensors.index.json that says what each "+
			"holds (fetch the index, or name one file)", dir, len(list))
	}
	for _, name := range []string{"pytorch_model.bin", "pytorch_model.bin.index.json"} {
		if exists(filepath.Join(dir, name)) {
			return "", fmt.Errorf("%s: weights are in the pickle format (%s), which can run code and is not read; "+
				"convert them to model.safetensors", dir, name)
		}
	}
	return "", fmt.Errorf("%s: no model.safetensors and no model.safetensors.index.json", dir)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// add maps one file and takes in its tensors.
func (s *Set) add(path string) error {
	data, unmap, err := mapFile(path)
	if err != nil {
		return err
	}
	sh := shard{path: path, data: data, unmap: unmap}
	s.shards = append(s.shards, sh)
	head, err := parseHeader(path, data, int64(len(data)))
	if err != nil {
		return err
	}
	s.shards[len(s.shards)-1].head = head
	for _, t := range head.tensors {
		if old, twice := s.tensors[t.Name]; twice {
			return fmt.Errorf("tensor %q is in %s and again in %s", t.Name, old.File, path)
		}
		s.tensors[t.Name] = entry{t, data[t.Begin:t.End:t.End]}
		s.names = append(s.names, t.Name)
	}
	for k, v := range head.metadata {
		if s.meta == nil {
			s.meta = map[string]string{}
		}
		s.meta[k] = v
	}
	return nil
}

// openIndex maps all shards of an index and compares what it promises with what they hold.
func (s *Set) openIndex(path string) error {
	ix, err := readIndex(path)
	if err != nil {
		return err
	}
	s.index = ix
	files := map[string]bool{}
	for _, f := range ix.WeightMap {
		files[f] = true
	}
	order := make([]string, 0, len(files))
	for f := range files {
		order = append(order, f)
	}
	sort.Strings(order)
	for _, f := range order {
		if err := s.add(filepath.Join(filepath.Dir(path), f)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	var errs []error
	for name, file := range ix.WeightMap {
		t, ok := s.tensors[name]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: tensor %q should be in %s but is in no shard", path, name,
				file))
		case filepath.Base(t.File) != file:
			errs = append(errs, fmt.Errorf("%s: tensor %q should be in %s but is in %s",
				path, name, file, filepath.Base(t.File)))
		}
	}
	for _, name := range s.names {
		if _, ok := ix.WeightMap[name]; !ok {
			errs = append(errs, fmt.Errorf("%s: tensor %q of %s is not in the index",
				path, name, filepath.Base(s.tensors[name].File)))
		}
	}
	sort.Slice(errs, func(a, b int) bool { return errs[a].Error() < errs[b].Error() })
	return errors.Join(errs...)
}

// readIndex reads an index and refuses names that leave its folder.
func readIndex(path string) (*Index, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Metadata  map[string]json.RawMessage `json:"metadata"`
		WeightMap map[string]string          `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.WeightMap) == 0 {
		return nil, fmt.Errorf("%s: no weight_map, so it names no tensors", path)
	}
	for name, file := range doc.WeightMap {
		if file != filepath.Base(file) || strings.ContainsAny(file, `/\`) || file == "." || file == ".." {
			return nil, fmt.Errorf("%s: tensor %q is mapped to %q, want the name of a file beside the index",
				path, name, file)
		}
	}
	return &Index{Path: path, Metadata: doc.Metadata, WeightMap: doc.WeightMap}, nil
}

// Path returns the file or index that was opened.
func (s *Set) Path() string { return s.path }

// Index returns the index of a sharded model, nil for a single file.
func (s *Set) Index() *Index { return s.index }

// Metadata returns the free-form __metadata__ of the files; nil when there is none.
func (s *Set) Metadata() map[string]string { return s.meta }

// Names returns the tensor names in the order of the headers, shard by shard.
func (s *Set) Names() []string { return append([]string(nil), s.names...) }

// Info returns what the header says of a tensor.
func (s *Set) Info(name string) (Info, bool) {
	e, ok := s.tensors[name]
	return e.Info, ok
}

// Raw returns the bytes of a tensor as they are in the file. They are mapped: do not write to them, nor use
// them after Close.
func (s *Set) Raw(name string) ([]byte, error) {
	e, ok := s.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%s: no tensor %q", s.path, name)
	}
	return e.data, nil
}

// Float32 converts a tensor of a floating-point type to float32. dst holds as many values as the tensor.
func (s *Set) Float32(name string, dst []float32) error {
	e, ok := s.tensors[name]
	if !ok {
		return fmt.Errorf("%s: no tensor %q", s.path, name)
	}
	if err := Widen(e.DType, e.data, dst); err != nil {
		return fmt.Errorf("%s: tensor %q: %w", e.File, name, err)
	}
	return nil
}

// Close unmaps the files. Slices that Raw returned must no longer be used.
func (s *Set) Close() error {
	var errs []error
	for _, sh := range s.shards {
		errs = append(errs, sh.unmap())
	}
	s.shards, s.names, s.tensors = nil, nil, map[string]entry{}
	return errors.Join(errs...)
}
