package safetensors

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file builds the bytes of a safetensors file from header text and a number of data bytes.
func file(head string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	return append(append(b, head...), make([]byte, data)...)
}

func TestHeaderErrors(t *testing.T) {
	one := `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	tests := []struct {
		name string
		in   []byte
		want string
	}{
		{"empty", nil, "x: 0 bytes, too short for a safetensors file (8 bytes of header length come first)"},
		{"short", []byte("abc"),
			"x: 3 bytes, too short for a safetensors file (8 bytes of header length come first)"},
		{"huge header", []byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"),
			"x: header length is 18446744073709551615 bytes, more than the 100000000 that the format allows " +
				"(not a safetensors file, or damaged)"},
		{"header past end", []byte("\x10\x00\x00\x00\x00\x00\x00\x00{}"),
			"x: header length is 16 bytes but only 2 follow (cut short?)"},
		{"no brace", file(`[]`, 0), "x: header does not start with '{'"},
		{"empty header", file(``, 0), "x: header does not start with '{'"},
		{"space first", file(` {}`, 0), "x: header does not start with '{'"},
		{"not utf8", file("{\"\xff\":1}", 0), "x: header is not UTF-8"},
		{"cut json", file(`{"a":`, 0), `x: tensor "a": entry: EOF`},
		{"text after", file(`{} x`, 0), `x: header has text after its closing brace: "x"`},
		{"tensor not an object", file(`{"a":3}`, 0), `x: tensor "a": entry is 3, want an object`},
		{"twice", file(one+`,"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, 16),
			`x: name "a" stands twice in the header`},
		{"dtype twice", file(`{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": "dtype" stands twice`},
		{"no dtype", file(`{"a":{"shape":[2],"data_offsets":[0,8]}}`, 8), `x: tensor "a": no "dtype"`},
		{"wrong case", file(`{"a":{"DType":"F32","shape":[2],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": no "dtype"`},
		{"no shape", file(`{"a":{"dtype":"F32","data_offsets":[0,8]}}`, 8), `x: tensor "a": no "shape"`},
		{"no offsets", file(`{"a":{"dtype":"F32","shape":[2]}}`, 8), `x: tensor "a": no "data_offsets"`},
		{"unknown dtype", file(`{"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": dtype is F33, not one of the format`},
		{"dtype number", file(`{"a":{"dtype":3,"shape":[2],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": dtype is 3, not one of the format`},
		{"shape scalar", file(`{"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": shape is 2, want a list`},
		{"shape text", file(`{"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": shape holds 2, want whole numbers`},
		{"shape negative", file(`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": shape holds -2, want whole numbers from 0 to 2^63-1`},
		{"shape fraction", file(`{"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": shape holds 2.5, want whole numbers from 0 to 2^63-1`},
		{"shape overflow", file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`,
			0),
			`x: tensor "a": shape [4294967296 4294967296] overflows`},
		{"bytes overflow", file(`{"a":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,0]}}`,
			0),
			`x: tensor "a": 4611686018427387904 elements of F64 are more than a file can hold`},
		{"one offset", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8]}}`, 8),
			`x: tensor "a": data_offsets has 1 numbers, want 2`},
		{"offsets backwards", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8),
			`x: tensor "a": data_offsets [8,0] are not a range`},
		{"offsets and shape", file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8),
			`x: tensor "a": F32 [3] takes 12 bytes but data_offsets [0,8] span 8`},
		{"past end", file(one+`}`, 4),
			`x: tensor "a" ends at byte 8 but the file has 4 bytes of data (cut short?)`},
		{"rest", file(one+`}`, 9), `x: 1 bytes follow the last tensor and belong to none`},
		{"hole first", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12),
			`x: bytes 0 to 4, before tensor "a", belong to no tensor`},
		{"overlap", file(one+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12),
			`x: tensor "b" starts at byte 4, inside tensor "a" that ends at 8`},
		{"half bytes", file(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2),
			`x: tensor "a": 3 elements of F4 do not fill whole bytes`},
		{"metadata list", file(`{"__metadata__":[]}`, 0), `x: __metadata__ is [, want an object`},
		{"metadata number", file(`{"__metadata__":{"k":1}}`, 0), `x: __metadata__: "k" is 1, want a string`},
		{"metadata twice", file(`{"__metadata__":{"k":"1","k":"2"}}`, 0),
			`x: __metadata__: key "k" stands twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseHeader("x", tt.in, int64(len(tt.in)))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

func TestHeaderAccepts(t *testing.T) {
	tests := []struct {
		name string
		in   []byte
		want int
	}{
		{"no tensors", file(`{}`, 0), 0},
		{"padded", file(`{}      `, 0), 0},
		{"scalar", file(`{"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, 8), 1},
		{"empty tensor", file(`{"a":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]}}`, 0), 1},
		{"later key", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"new":{"x":[1]}}}`, 1), 1},
		{"out of order", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},`+
			`"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}`, 2), 2},
		{"empty between", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},`+
			`"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},"c":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := parseHeader("x", tt.in, int64(len(tt.in)))
			if err != nil || len(h.tensors) != tt.want {
				t.Errorf("got %v, %v; want %d tensors", h, err, tt.want)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	u8 := func(name string) []byte {
		return file(`{"`+name+`":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1)
	}
	tests := []struct {
		name  string
		files map[string][]byte
		want  string // with DIR for the folder
	}{
		{"empty folder", nil, "DIR: no model.safetensors and no model.safetensors.index.json"},
		{"pickle", map[string][]byte{"pytorch_model.bin": nil}, "DIR: weights are in the pickle format " +
			"(pytorch_model.bin), which can run code and is not read; convert them to model.safetensors"},
		{"two files", map[string][]byte{"a.safetensors": u8("a"), "b.safetensors": u8("b")},
			"DIR: 2 .safetensors files but no model.safetensors.index.json that says what each holds " +
				"(fetch the index, or name one file)"},
		{"index not json", map[string][]byte{"model.safetensors.index.json": []byte("{")},
			"DIR/model.safetensors.index.json: unexpected end of JSON input"},
		{"index empty", map[string][]byte{"model.safetensors.index.json": []byte("{}")},
			"DIR/model.safetensors.index.json: no weight_map, so it names no tensors"},
		{"index leaves",
			map[string][]byte{"model.safetensors.index.json": []byte(`{"weight_map":{"a":"../x"}}`)},
			`DIR/model.safetensors.index.json: tensor "a" is mapped to "../x", want the name of a file beside the index`},
		{"index wrong", map[string][]byte{
			"model.safetensors.index.json": []byte(`{"weight_map":{"a":"1.safetensors","c":"2.safetensors"}}`),
			"1.safetensors":                u8("c"), "2.safetensors": u8("b")},
			`DIR/model.safetensors.index.json: tensor "a" should be in 1.safetensors but is in no shard` + "\n" +
				`DIR/model.safetensors.index.json: tensor "b" of 2.safetensors is not in the index` + "\n" +
				`DIR/model.safetensors.index.json: tensor "c" should be in 2.safetensors but is in 1.safetensors`},
		{"in two shards", map[string][]byte{
			"model.safetensors.index.json": []byte(`{"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}`),
			"1.safetensors":                u8("a"), "2.safetensors": u8("a")},
			`DIR/model.safetensors.index.json: tensor "a" is in DIR/1.safetensors and again in DIR/2.safetensors`},
		{"shard missing", map[string][]byte{
			"model.safetensors.index.json": []byte(`{"weight_map":{"a":"1.safetensors"}}`)},
			`DIR/model.safetensors.index.json: open DIR/1.safetensors: no such file or directory`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Open(dir)
			if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != tt.want {
				t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

// FuzzHeader wants no panic, and tensors that lie inside the file, whatever the bytes.
func FuzzHeader(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]}}  `, 2))
	f.Add(file(`{"a":{"dtype":"F32","shape":[9223372036854775807,2],"data_offsets":[0,8]}}`, 8))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseHeader("x", data, int64(len(data)))
		if err != nil {
			return
		}
		sum := int64(0)
		for _, i := range h.tensors {
			if i.Begin < 8 || i.End > int64(len(data)) || i.Begin > i.End {
				t.Fatalf("tensor %+v lies outside %d bytes", i, len(data))
			}
			sum += i.End - i.Begin
		}
		if n := int64(binary.LittleEndian.Uint64(data)); sum != int64(len(data))-8-n {
			t.Fatalf("tensors cover %d of %d bytes", sum, int64(len(data))-8-n)
		}
	})
}
