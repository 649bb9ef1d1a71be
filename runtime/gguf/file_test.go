package gguf

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestMeta(t *testing.T) {
	f := open(t, "testdata/meta.gguf")
	got := map[string]any{}
	for _, k := range f.Keys() {
		if strings.HasPrefix(k, "x.") && k != "x.nested" {
			got[k] = f.Meta(k).Any()
		}
	}
	want := map[string]any{
		"x.uint8": uint8(200), "x.int8": int8(-100), "x.uint16": uint16(60000), "x.int16": int16(-30000),
		"x.uint32": uint32(4000000000), "x.int32": int32(-2000000000), "x.float32": float32(1.5),
		"x.bool":   true,
		"x.string": "grüße", "x.uint64": uint64(math.MaxUint64), "x.int64": int64(math.MinInt64),
		"x.float64": 0.1,
		"x.ints":    []int32{1, -2, 3}, "x.floats": []float32{0.5, -0.25}, "x.bools": []bool{true, false},
		"x.texts": []string{"a", "", "ü"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	var nested [][]int64
	for _, v := range f.Meta("x.nested").Any().([]Value) {
		ints, err := v.Ints()
		if err != nil {
			t.Fatal(err)
		}
		nested = append(nested, ints)
	}
	if d := cmp.Diff([][]int64{{1, 2}, {3}}, nested); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestGetters(t *testing.T) {
	f := open(t, "testdata/meta.gguf")
	const path = "testdata/meta.gguf: "
	tests := []struct {
		name string
		get  func() (any, error)
		want any
		err  string
	}{
		{"uint", func() (any, error) { return f.Meta("x.uint8").Uint() }, uint64(200), ""},
		{"uint64", func() (any, error) { return f.Meta("x.uint64").Uint() }, uint64(math.MaxUint64), ""},
		{"int", func() (any, error) { return f.Meta("x.int16").Int() }, int64(-30000), ""},
		{"float", func() (any, error) { return f.Meta("x.float32").Float() }, 1.5, ""},
		{"floats", func() (any, error) { return f.Meta("x.floats").Floats() }, []float64{0.5, -0.25}, ""},
		{"ints", func() (any, error) { return f.Meta("x.ints").Ints() }, []int64{1, -2, 3}, ""},
		{"bool", func() (any, error) { return f.Meta("x.bool").Bool() }, true, ""},
		{"bools", func() (any, error) { return f.Meta("x.bools").Bools() }, []bool{true, false}, ""},
		{"text", func() (any, error) { return f.Meta("x.string").Text() }, "grüße", ""},
		{"negative", func() (any, error) { return f.Meta("x.int8").Uint() }, nil,
			`key "x.int8" is -100, want no negative number`},
		{"large", func() (any, error) { return f.Meta("x.uint64").Int() }, nil,
			`key "x.uint64" is 18446744073709551615, want at most 9223372036854775807`},
		{"integer as float", func() (any, error) { return f.Meta("x.uint8").Float() }, nil,
			`key "x.uint8" is uint8, want a float`},
		{"array as text", func() (any, error) { return f.Meta("x.ints").Text() }, nil,
			`key "x.ints" is array of int32, want a string`},
		{"missing", func() (any, error) { return f.Meta("x.none").Int() }, nil, `key "x.none": no such key`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.get()
			if tt.err != "" {
				if err == nil || err.Error() != path+tt.err {
					t.Errorf("got %v, want %q", err, path+tt.err)
				}
				return
			}
			if d := cmp.Diff(tt.want, got); err != nil || d != "" {
				t.Errorf("%v (-want +got)\n%s", err, d)
			}
		})
	}
	if _, err := f.Meta("x.none").Int(); !errors.Is(err, ErrNoKey) {
		t.Errorf("got %v, want ErrNoKey", err)
	}
}

func TestFloat32Errors(t *testing.T) {
	f := open(t, "testdata/meta.gguf")
	if err := f.Float32("t", make([]float32, 5)); err == nil || err.Error() !=
		`testdata/meta.gguf: tensor "t" has 6 values, and the destination has room for 5` {
		t.Error(err)
	}
	if err := f.Float32("u", nil); err == nil || err.Error() != `testdata/meta.gguf: no tensor "u"` {
		t.Error(err)
	}
	if f.Raw("u") != nil {
		t.Error("bytes of a tensor that is not there")
	}
	path := newImage(1, 0).tensor("t", Q1_0, 0, 128).data(18).save(t, t.TempDir(), "a.gguf")
	err := open(t, path).Float32("t", make([]float32, 128))
	if err == nil || !strings.Contains(err.Error(), "values of type Q1_0 cannot be read; convert") {
		t.Error(err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
	_, err := Open(new(builder).save(t, dir, "empty"))
	if err == nil || !strings.Contains(err.Error(), "magic wants") {
		t.Errorf("got %v", err)
	}
	if _, err := Open("testdata/big_endian.gguf"); err == nil ||
		!strings.Contains(err.Error(), "big-endian GGUF") {
		t.Errorf("got %v", err)
	}
}

// part makes part no of count of a split model with one tensor of the given name.
func part(no, count, total uint64, tensor string) *builder {
	return newImage(1, 3).key("split.no", Uint16).raw(byte(no), 0).
		key("split.count", Uint16).raw(byte(count), 0).
		key("split.tensors.count", Int32).u32(uint32(total)).tensor(tensor, F32, 0, 1).data(4)
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	first := part(0, 2, 2, "a").save(t, dir, "m-00001-of-00002.gguf")
	if _, err := Open(first); err == nil || !strings.Contains(err.Error(), "part 2 of 2 is missing") {
		t.Errorf("got %v", err)
	}
	second := part(1, 2, 2, "b")
	second.b[len(second.b)-2], second.b[len(second.b)-1] = 0x80, 0x3f // 1.0
	path := second.save(t, dir, "m-00002-of-00002.gguf")
	f := open(t, first)
	got := make([]float32, 1)
	if err := f.Float32("b", got); err != nil || got[0] != 1 || len(f.Tensors()) != 2 {
		t.Errorf("got %v %v of %v", got, err, f.Tensors())
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "open the first part, "+first) {
		t.Errorf("got %v", err)
	}
	odd := part(0, 2, 2, "a").save(t, dir, "odd.gguf")
	if _, err := Open(odd); err == nil || !strings.Contains(err.Error(), "must end in -00001-of-00002.gguf") {
		t.Errorf("got %v", err)
	}
	part(1, 2, 2, "a").save(t, dir, "m-00002-of-00002.gguf")
	if _, err := Open(first); err == nil || !strings.Contains(err.Error(), `tensor "a" is also in `+first) {
		t.Errorf("got %v", err)
	}
	part(0, 2, 2, "b").save(t, dir, "m-00002-of-00002.gguf")
	if _, err := Open(first); err == nil || !strings.Contains(err.Error(), `key "split.no" is 0, want 1`) {
		t.Errorf("got %v", err)
	}
	part(0, 2, 3, "a").save(t, dir, "m-00001-of-00002.gguf")
	part(1, 2, 3, "b").save(t, dir, "m-00002-of-00002.gguf")
	if _, err := Open(first); err == nil || !strings.Contains(err.Error(), "the parts hold 2 tensors") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkOpen(b *testing.B) {
	if *realFile == "" {
		b.Skip("needs -real FILE")
	}
	for b.Loop() {
		f, err := Open(*realFile)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
