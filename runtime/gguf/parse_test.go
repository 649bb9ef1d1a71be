package gguf

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	deep := newImage(0, 1).key("k", Array)
	for range maxDepth {
		deep.u32(uint32(Array)).u64(1)
	}
	deep.u32(uint32(Array)).u64(1).u32(uint32(Uint8)).u64(0)
	tests := []struct {
		name string
		in   *builder
		want string
	}{
		{"empty", new(builder), "at byte 0: magic wants 4 bytes and the file has 0 left"},
		{"magic", new(builder).text("GGML"), `at byte 0: magic is "\x04\x00\x00\x00", want "GGUF"`},
		{"v1", new(builder).u32(magic).u32(1), "at byte 4: GGUF version 1 is not read"},
		{"v4", new(builder).u32(magic).u32(4), "at byte 4: GGUF version 4 is not read, want 2 or 3"},
		{"big endian", new(builder).u32(magic).u32(3 << 24), "at byte 4: big-endian GGUF (version 3)"},
		{"tensor count", newImage(1<<60, 0),
			"at byte 8: tensor count is 1152921504606846976, and the 8 bytes left"},
		{"pair count", newImage(0, 1<<60), "at byte 16: key-value count is 1152921504606846976"},
		{"key length", newImage(0, 1).u64(1 << 62).raw(make([]byte, 30)...),
			"at byte 32: key wants 4611686018427387904"},
		{"key empty", newImage(0, 1).text("").raw(make([]byte, 30)...), "at byte 24: key is empty"},
		{"key utf8", newImage(0, 1).text("\xff").raw(make([]byte, 30)...),
			`at byte 24: key "\xff" is not UTF-8`},
		{"key long", newImage(0, 1).text(strings.Repeat("k", 1<<16)).raw(make([]byte, 30)...),
			"at byte 24: key has 65536 bytes, want at most 65535"},
		{"value type", newImage(0, 1).key("k", 13).raw(1),
			`at byte 33: key "k" has unknown value type 13, want 0 to 12`},
		{"bool", newImage(0, 1).key("k", Bool).raw(2),
			`at byte 37: key "k" is a bool of value 2, want 0 or 1`},
		{"bools", newImage(0, 1).key("k", Array).u32(uint32(Bool)).u64(2).raw(1, 7),
			`at byte 50: element 1 of key "k" is a bool of value 7`},
		{"array type", newImage(0, 1).key("k", Array).u32(99).u64(0),
			`at byte 37: key "k" is an array of unknown value`},
		{"array length", newImage(0, 1).key("k", Array).u32(uint32(Uint64)).u64(1 << 61),
			`at byte 41: length of array "k" is 2305843009213693952, and the 0 bytes left hold at most 0`},
		{"array text", newImage(0, 1).key("k", Array).u32(uint32(String)).u64(1).u64(9),
			`at byte 57: element 0 of key "k" wants 9 bytes and the file has 0 left`},
		{"array depth", deep, `nests arrays deeper than 8`},
		{"key twice", newImage(0, 2).key("k", Uint8).raw(1).key("k", Uint8).raw(1),
			`at byte 38: key "k" occurs twice`},
		{"alignment type", newImage(0, 1).key("general.alignment", Uint64).u64(32),
			`file: key "general.alignment" is uint64, want uint32`},
		{"alignment zero", newImage(0, 1).key("general.alignment", Uint32).u32(0),
			`is 0, want a power of two`},
		{"alignment odd", newImage(0, 1).key("general.alignment", Uint32).u32(24),
			`is 24, want a power of two`},
		{"dims", newImage(1, 0).tensor("t", F32, 0, 1, 1, 1, 1, 1),
			`at byte 33: tensor "t" has 5 dimensions`},
		{"dims overflow", newImage(1, 0).tensor("t", F32, 0, 1<<40, 1<<40),
			`at byte 45: tensor "t" has more than`},
		{"dim overflow", newImage(1, 0).tensor("t", F32, 0, 1<<63), `at byte 37: tensor "t" has more than`},
		{"bytes overflow", newImage(1, 0).tensor("t", F32, 0, 1<<62),
			`is larger than 9223372036854775807 bytes`},
		{"type unknown", newImage(1, 0).tensor("t", 77, 0, 32),
			`at byte 45: tensor "t": unknown tensor type 77`},
		{"type removed", newImage(1, 0).tensor("t", 4, 0, 32), `tensor type 4 was removed from the format`},
		{"type Q8_1", newImage(1, 0).tensor("t", 9, 0, 32), `tensor type 9 (Q8_1) is an intermediate`},
		{"row", newImage(1, 0).tensor("t", Q4_0, 0, 33).data(64),
			`has rows of 33 values, want a multiple of 32`},
		{"scalar row", newImage(1, 0).tensor("t", Q4_0, 0).data(64),
			`has rows of 1 values, want a multiple of 32`},
		{"name twice", newImage(2, 0).tensor("t", F32, 0, 1).tensor("t", F32, 32, 1).data(64),
			`at byte 57: tensor "t" occurs twice, first at byte 24`},
		{"offset unaligned", newImage(1, 0).tensor("t", F32, 4, 1).data(64),
			`tensor "t" has offset 4, want a multiple of the alignment 32`},
		{"offset outside", newImage(1, 0).tensor("t", F32, 96, 1).data(64),
			`ends outside the file, whose data part has 64`},
		{"offset overflow", newImage(1, 0).tensor("t", F32, 1<<64-32, 64).data(64), `ends outside the file`},
		{"end outside", newImage(1, 0).tensor("t", F32, 32, 9).data(64),
			`(offset 32, 36 bytes) ends outside the file`},
		{"no data", newImage(1, 0).tensor("t", F32, 0, 1),
			`tensor data starts at byte 64, and the file ends at 57`},
		{"overlap", newImage(2, 0).tensor("a", F32, 0, 9).tensor("b", F32, 32, 1).data(64),
			`tensors "a" (bytes 96 to 132) and "b" (bytes 128 to 132) overlap`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse("file", tt.in.b)
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.HasPrefix(err.Error(), "file: ") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	w := newImage(4, 1).key("general.alignment", Uint32).u32(8).
		tensor("row", F16, 0, 3).tensor("scalar", F32, 8).tensor("none", F32, 16, 0, 5).
		tensor("m", I8, 16, 2, 3)
	for len(w.b)%8 != 0 {
		w.raw(0)
	}
	start := uint64(len(w.b))
	w.b = append(w.b, make([]byte, 32)...)
	w.b[4] = 2 // version 2 has the same layout
	im, err := parse("file", w.b)
	if err != nil {
		t.Fatal(err)
	}
	var got []TensorInfo
	for _, e := range im.tensors {
		e.entry = 0
		got = append(got, e)
	}
	want := []TensorInfo{
		{Name: "row", Type: F16, Dims: []int{3}, Offset: start, Bytes: 6},
		{Name: "scalar", Type: F32, Offset: start + 8, Bytes: 4},
		{Name: "none", Type: F32, Dims: []int{5, 0}, Offset: start + 16},
		{Name: "m", Type: I8, Dims: []int{3, 2}, Offset: start + 16, Bytes: 6},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(TensorInfo{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestCut cuts a true file at every length: each must be an error, none a panic.
func TestCut(t *testing.T) {
	whole, err := os.ReadFile("testdata/meta.gguf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse("file", whole)
	if err != nil {
		t.Fatal(err)
	}
	end := f.tensors[0].Offset + f.tensors[0].Bytes
	for n := range int(end) {
		if _, err := parse("file", whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(whole))
		}
	}
}

// TestFlip damages each byte of a true file in three ways: an error or other values, but no panic.
func TestFlip(t *testing.T) {
	whole, err := os.ReadFile("testdata/meta.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, mask := range []byte{1, 0x80, 0xff} {
			whole[i] ^= mask
			use(t, whole)
			whole[i] ^= mask
		}
	}
}

// use parses b and, if it is accepted, reads all that is in it.
func use(t *testing.T, b []byte) {
	im, err := parse("file", b)
	if err != nil {
		return
	}
	file := &File{images: []*image{im}, list: im.tensors, byName: map[string]int{}}
	total := uint64(0)
	for i, e := range im.tensors {
		file.byName[e.Name] = i
		total += e.Bytes
		if e.Type.Readable() && e.Elements() > 0 {
			if err := file.Float32(e.Name, make([]float32, e.Elements())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total > uint64(len(b)) {
		t.Fatalf("tensors of %d bytes in a file of %d", total, len(b))
	}
	_, _ = file.Tokenizer()
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/meta.gguf", "testdata/types.gguf", "testdata/big_endian.gguf"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(newImage(1, 1).key("k", Array).u32(uint32(Array)).u64(1).u32(uint32(Uint8)).u64(1).raw(9).
		tensor("t", Q6_K, 0, 256).data(210).b)
	f.Fuzz(use)
}
