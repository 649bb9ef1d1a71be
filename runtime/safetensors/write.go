package safetensors

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"syscall"
	"unicode/utf8"
)

// Tensor is one tensor to write. Body is called once, when its bytes are due, and must write exactly the
// bytes that type and shape need; so a model larger than memory can be written.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Body  func(w io.Writer) error
}

// Options of Write.
type Options struct {
	Base     string            // file name before .safetensors; "" = "model"
	MaxShard int64             // bytes of tensors a file may hold, a larger tensor gets a file of its own; 0 = no limit
	Metadata map[string]string // __metadata__ of every file; nil = {"format": "pt"}, which other loaders ask for
}

// Bytes returns the Body of a tensor that is in memory.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// Sort brings tensors into the order that the reference writer uses: wide element types first, then by name.
func Sort(tensors []Tensor) {
	sort.SliceStable(tensors, func(a, b int) bool {
		x, _ := layoutOf(tensors[a].DType)
		y, _ := layoutOf(tensors[b].DType)
		if x.rank != y.rank {
			return x.rank > y.rank
		}
		return tensors[a].Name < tensors[b].Name
	})
}

// Write writes tensors to dir, which must exist, in the order given: BASE.safetensors, or shards
// BASE-00001-of-0000N.safetensors and BASE.safetensors.index.json when they do not fit one file. Files of an
// earlier Write with the same base that are no longer part of the model are removed at the end.
//
// All files are complete and synced under temporary names before the first is renamed; on an error before
// that (a full disk, a Body that fails) dir is as it was. It returns the names of the files written.
func Write(dir string, tensors []Tensor, o Options) ([]string, error) {
	if o.Base == "" {
		o.Base = "model"
	}
	if o.Metadata == nil {
		o.Metadata = map[string]string{"format": "pt"}
	}
	plans, err := planShards(tensors, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var files []pending
	defer func() {
		for _, f := range files {
			os.Remove(f.temp) // gone already once renamed
		}
	}()
	for _, p := range plans {
		f, err := stage(dir, p.name, func(w io.Writer) error { return p.write(w, o.Metadata) })
		files = append(files, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, p.name), err)
		}
	}
	if len(plans) > 1 {
		name := o.Base + ".safetensors.index.json"
		f, err := stage(dir, name, func(w io.Writer) error { return writeIndex(w, plans) })
		files = append(files, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
	}
	return commit(dir, o.Base, files)
}

// shardPlan is one file to be.
type shardPlan struct {
	name    string
	tensors []Tensor
	sizes   []int64
	total   int64
}

// planShards distributes tensors over files in their order, and checks them.
func planShards(tensors []Tensor, o Options) ([]shardPlan, error) {
	plans := []shardPlan{{}}
	seen := map[string]bool{}
	for _, t := range tensors {
		if t.Name == "__metadata__" || seen[t.Name] {
			return nil, fmt.Errorf("tensor name %q is given twice, or reserved", t.Name)
		}
		if !utf8.ValidString(t.Name) {
			return nil, fmt.Errorf("tensor name %q is not UTF-8", t.Name)
		}
		seen[t.Name] = true
		size, err := sizeOf(t.DType, t.Shape)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		p := &plans[len(plans)-1]
		if o.MaxShard > 0 && len(p.tensors) > 0 && p.total+size > o.MaxShard {
			plans = append(plans, shardPlan{})
			p = &plans[len(plans)-1]
		}
		p.tensors, p.sizes, p.total = append(p.tensors, t), append(p.sizes, size), p.total+size
	}
	for i := range plans {
		plans[i].name = o.Base + ".safetensors"
		if len(plans) > 1 {
			plans[i].name = fmt.Sprintf("%s-%05d-of-%05d.safetensors", o.Base, i+1, len(plans))
		}
	}
	return plans, nil
}

// write writes the file: header length, header padded with spaces to a multiple of 8, tensors.
func (p shardPlan) write(w io.Writer, metadata map[string]string) error {
	head, err := p.header(metadata)
	if err != nil {
		return err
	}
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(head)))
	if _, err := w.Write(length[:]); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for i, t := range p.tensors {
		c := &counter{w: w}
		if err := t.Body(c); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if c.n != p.sizes[i] {
			return fmt.Errorf("tensor %q: %d bytes written for %s %v, want %d", t.Name, c.n, t.DType,
				t.Shape, p.sizes[i])
		}
	}
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// header is the JSON text, keys in the order of the tensors and without spaces, as the reference writes it.
func (p shardPlan) header(metadata map[string]string) ([]byte, error) {
	out := []byte{'{'}
	if len(metadata) > 0 {
		out = append(out, `"__metadata__":`...)
		text, err := compact(metadata)
		if err != nil {
			return nil, err
		}
		out = append(out, text...)
		if len(p.tensors) > 0 {
			out = append(out, ',')
		}
	}
	at := int64(0)
	for i, t := range p.tensors {
		name, err := compact(t.Name)
		if err != nil {
			return nil, err
		}
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		dims, err := compact(shape)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`,
			name, t.DType, dims, at, at+p.sizes[i])
		at += p.sizes[i]
	}
	out = append(out, '}')
	for len(out)%8 != 0 {
		out = append(out, ' ')
	}
	if len(out) > maxHeader {
		return nil, fmt.Errorf("header of %d tensors takes %d bytes, the format allows %d: use smaller shards",
			len(p.tensors), len(out), maxHeader)
	}
	return out, nil
}

// compact is JSON without the HTML escapes of encoding/json.
func compact(v any) ([]byte, error) {
	var b appendWriter
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b[:len(b)-1], nil // Encode ends in a newline
}

type appendWriter []byte

func (a *appendWriter) Write(b []byte) (int, error) { *a = append(*a, b...); return len(b), nil }

func writeIndex(w io.Writer, plans []shardPlan) error {
	weights, total := map[string]string{}, int64(0)
	for _, p := range plans {
		total += p.total
		for _, t := range p.tensors {
			weights[t.Name] = p.name
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Metadata  map[string]int64  `json:"metadata"`
		WeightMap map[string]string `json:"weight_map"`
	}{map[string]int64{"total_size": total}, weights})
}

// pending is a file that is complete under a temporary name.
type pending struct{ temp, name string }

// stage writes and syncs a file under a temporary name.
func stage(dir, name string, write func(io.Writer) error) (pending, error) {
	f, err := os.CreateTemp(dir, "."+name+".tmp-*")
	if err != nil {
		return pending{}, err
	}
	p := pending{f.Name(), name}
	w := bufio.NewWriterSize(f, 1<<20)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	return p, errors.Join(err, f.Close())
}

// commit renames the staged files, the index last, and removes what an earlier model of the same base left.
//
// When a new shard takes an old one's name, the old index goes first: a crash between two renames then leaves
// a folder that is refused, not one that mixes two models.
func commit(dir, base string, files []pending) ([]string, error) {
	old, err := leftovers(dir, base)
	if err != nil {
		return nil, err
	}
	index, fresh := base+".safetensors.index.json", map[string]bool{}
	var names []string
	for _, f := range files {
		fresh[f.name] = true
		names = append(names, f.name)
	}
	if overlaps(old, fresh, index) {
		if err := os.Remove(filepath.Join(dir, index)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for _, f := range files {
		if err := os.Rename(f.temp, filepath.Join(dir, f.name)); err != nil {
			return nil, err
		}
	}
	sort.Slice(old, func(a, b int) bool { return old[a] == index || old[b] != index && old[a] < old[b] })
	for _, name := range old {
		if !fresh[name] {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
	}
	return names, syncDir(dir)
}

func overlaps(old []string, fresh map[string]bool, index string) bool {
	for _, name := range old {
		if name != index && fresh[name] && name+".index.json" != index {
			return true
		}
	}
	return false
}

// leftovers lists the files of a model with this base.
func leftovers(dir, base string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	own := regexp.MustCompile(`^` + regexp.QuoteMeta(base) + `(-\d{5,}-of-\d{5,})?\.safetensors$`)
	var names []string
	for _, e := range list {
		if n := e.Name(); own.MatchString(n) || n == base+".safetensors.index.json" {
			names = append(names, n)
		}
	}
	return names, nil
}

// syncDir makes renames durable where the system can sync a folder.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, os.ErrInvalid) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
