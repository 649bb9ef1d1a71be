package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func u8(name string, b ...byte) Tensor { return Tensor{name, U8, []int{len(b)}, Bytes(b)} }

func list(t interface{ Fatal(...any) }, dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRoundTrip writes random tensors, sharded or not, and reads the same back.
func TestRoundTrip(t *testing.T) {
	types := []DType{Bool, F4, U8, I8, F8E5M2, F8E4M3, F8E8M0, I16, U16, F16, BF16, I32, U32, F32, C64, F64,
		I64, U64}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "safetensors")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 12, rapid.ID[string]).Draw(t, "names")
		var tensors []Tensor
		want := map[string][]byte{}
		for _, name := range names {
			if name == "__metadata__" {
				continue
			}
			d := rapid.SampledFrom(types).Draw(t, "dtype")
			shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")
			size, err := sizeOf(d, shape)
			if err != nil {
				shape = []int{2}
				size, _ = sizeOf(d, shape)
			}
			body := rapid.SliceOfN(rapid.Byte(), int(size), int(size)).Draw(t, "body")
			tensors = append(tensors, Tensor{name, d, shape, Bytes(body)})
			want[name] = body
		}
		opts := Options{MaxShard: rapid.Int64Range(0, 100).Draw(t, "shard"),
			Metadata: rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "meta")}
		if _, err := Write(dir, tensors, opts); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if len(s.Names()) != len(tensors) {
			t.Fatalf("%d tensors came back, want %d", len(s.Names()), len(tensors))
		}
		for i, w := range tensors {
			raw, err := s.Raw(w.Name)
			info, _ := s.Info(w.Name)
			if err != nil || !bytes.Equal(raw, want[w.Name]) || info.DType != w.DType ||
				s.Names()[i] != w.Name ||
				fmt.Sprint(info.Shape) != fmt.Sprint(w.Shape) {
				t.Fatalf("tensor %q: %+v %v, %v; want %+v", w.Name, info, raw, err, w)
			}
		}
		if len(opts.Metadata) > 0 && !cmp.Equal(s.Metadata(), opts.Metadata) {
			t.Fatalf("metadata %v, want %v", s.Metadata(), opts.Metadata)
		}
	})
}

// TestWriteFails wants a folder as before when a body fails, as it does on a full disk.
func TestWriteFails(t *testing.T) {
	full := func(w io.Writer) error {
		if _, err := w.Write([]byte{1}); err != nil {
			return err
		}
		return &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	}
	short := func(w io.Writer) error { _, err := w.Write([]byte{1}); return err }
	tests := []struct {
		name    string
		tensors []Tensor
		opts    Options
		want    string
	}{
		{"full disk", []Tensor{u8("a", 1, 2), {"b", U8, []int{2}, full}}, Options{MaxShard: 2},
			`DIR/model-00002-of-00002.safetensors: tensor "b": write f: no space left on device`},
		{"short body", []Tensor{{"b", U8, []int{2}, short}}, Options{},
			`DIR/model.safetensors: tensor "b": 1 bytes written for U8 [2], want 2`},
		{"twice", []Tensor{u8("a", 1), u8("a", 2)}, Options{},
			`DIR: tensor name "a" is given twice, or reserved`},
		{"reserved", []Tensor{u8("__metadata__", 1)}, Options{},
			`DIR: tensor name "__metadata__" is given twice, or reserved`},
		{"not utf8", []Tensor{u8("\xff", 1)}, Options{}, `DIR: tensor name "\xff" is not UTF-8`},
		{"type", []Tensor{{"a", "F7", []int{1}, short}}, Options{},
			`DIR: tensor "a": element type "F7" is not one of the format`},
		{"negative", []Tensor{{"a", U8, []int{-1}, short}}, Options{},
			`DIR: tensor "a": shape [-1] has a negative dimension`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Write(dir, []Tensor{u8("old", 7)}, Options{}); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(filepath.Join(dir, "model.safetensors"))
			_, err := Write(dir, tt.tensors, tt.opts)
			if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != tt.want {
				t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
			}
			after, _ := os.ReadFile(filepath.Join(dir, "model.safetensors"))
			if diff := cmp.Diff([]string{"model.safetensors"}, list(t, dir)); diff != "" ||
				!bytes.Equal(before, after) {
				t.Errorf("the folder changed (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Write(filepath.Join(t.TempDir(), "none"), nil, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want one about the folder", err)
	}
}

// TestRewrite saves over an earlier model with another number of shards.
func TestRewrite(t *testing.T) {
	all := []Tensor{u8("a", 1), u8("b", 2), u8("c", 3)}
	one := []string{"model.safetensors"}
	shards := func(n int) []string {
		names := []string{"model.safetensors.index.json"}
		for i := range n {
			names = append(names, fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n))
		}
		sort.Strings(names)
		return names
	}
	dir := t.TempDir()
	for _, step := range []struct {
		max  int64
		want []string
	}{{0, one}, {1, shards(3)}, {2, shards(2)}, {2, shards(2)}, {0, one}, {1, shards(3)}} {
		if _, err := Write(dir, all, Options{MaxShard: step.max}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, list(t, dir)); diff != "" {
			t.Errorf("shards of %d (-want +got):\n%s", step.max, diff)
		}
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := s.Raw("c"); err != nil || raw[0] != 3 {
			t.Errorf("c is %v, %v", raw, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFormat compares whole files with the text that the reference writes.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	tensors := []Tensor{u8("z<&>", 1), u8("a", 2), {"w", F32, []int{1, 1}, Bytes([]byte{0, 0, 128, 63})}}
	Sort(tensors)
	if _, err := Write(dir, tensors, Options{}); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	head := `{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},` +
		`"a":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},"z<&>":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}}`
	for len(head)%8 != 0 {
		head += " "
	}
	want := append(file(head, 0), 0, 0, 128, 63, 2, 1)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := Write(dir, tensors, Options{MaxShard: 5, Base: "x"}); err != nil {
		t.Fatal(err)
	}
	index, _ := os.ReadFile(filepath.Join(dir, "x.safetensors.index.json"))
	wantIndex := `{
  "metadata": {
    "total_size": 6
  },
  "weight_map": {
    "a": "x-00001-of-00002.safetensors",
    "w": "x-00001-of-00002.safetensors",
    "z<&>": "x-00002-of-00002.safetensors"
  }
}
`
	if diff := cmp.Diff(wantIndex, string(index)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSetErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Write(dir, []Tensor{u8("a", 1)}, Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, raw := s.Raw("b")
	path := filepath.Join(dir, "model.safetensors")
	for _, tt := range []struct{ got, want string }{
		{raw.Error(), path + `: no tensor "b"`},
		{s.Float32("b", nil).Error(), path + `: no tensor "b"`},
		{s.Float32("a", make([]float32, 1)).Error(),
			path + `: tensor "a": element type U8 has no float32 reading`},
	} {
		if tt.got != tt.want {
			t.Errorf("error %q, want %q", tt.got, tt.want)
		}
	}
}
