package model

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// TestUnchangedKeepsBits: whatever the types, values that come back unchanged give the checkpoint's bytes,
// and a changed element changes its own bytes alone.
func TestUnchangedKeepsBits(t *testing.T) {
	disk := []safetensors.DType{safetensors.F32, safetensors.F64, safetensors.F16, safetensors.BF16,
		safetensors.F8E4M3, safetensors.F8E5M2}
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(disk).Draw(t, "disk")
		stored := rapid.SampledFrom([]gpu.DType{gpu.F32, gpu.BF16}).Draw(t, "stored")
		n := rapid.IntRange(1, 20).Draw(t, "n")
		raw := rapid.SliceOfN(rapid.Byte(), n*from.Bits()/8, n*from.Bits()/8).Draw(t, "raw")
		values, err := toStorage(raw, from, stored)
		if err != nil {
			t.Fatal(err)
		}
		back, err := fromStorage(values, stored, raw, from)
		if err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("%x came back as %x, %v", raw, back, err)
		}
		if from.Bits() == 8 || diskType(stored) == from {
			return
		}
		i := rapid.IntRange(0, n-1).Draw(t, "i")
		changed := append([]byte(nil), values...)
		copy(changed[i*stored.Size():], []byte{0, 0, 0x40, 0x3f}[4-stored.Size():]) // 0.75
		if bytes.Equal(changed, values) {
			return // it was 0.75 after rounding already
		}
		back, err = fromStorage(changed, stored, raw, from)
		if err != nil {
			t.Fatal(err)
		}
		w := from.Bits() / 8
		var v [1]float32
		if err := safetensors.Widen(from, back[i*w:(i+1)*w], v[:]); err != nil || v[0] != 0.75 {
			t.Fatalf("the changed element is %g, %v", v[0], err)
		}
		copy(back[i*w:(i+1)*w], raw[i*w:(i+1)*w])
		if !bytes.Equal(back, raw) {
			t.Fatal("other elements changed")
		}
	})
}

func TestConvertErrors(t *testing.T) {
	big := make([]byte, 4)
	binary.LittleEndian.PutUint32(big, 0x47800000) // 65536
	huge := binary.LittleEndian.AppendUint64(nil, 1<<40)
	_, overflow := toStorage(big, safetensors.F32, gpu.F16)
	_, integer := toStorage(huge, safetensors.I64, gpu.I32)
	_, unsigned := toStorage(bytes.Repeat([]byte{255}, 8), safetensors.U64, gpu.I32)
	_, changed := fromStorage(make([]byte, 4), gpu.I32, huge[:0], safetensors.I64)
	_, eight := fromStorage(make([]byte, 4), gpu.F32, []byte{0x38}, safetensors.F8E4M3)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{overflow, "value 65536 does not fit F16 (at most 65504): use BF16 or F32 storage"},
		{integer, "element 0 of an integer table does not fit 32 bits"},
		{unsigned, "element 0 of an integer table does not fit 32 bits"},
		{changed, "changed integers are not written as I64"},
		{eight, "float32 values are not written as F8_E4M3 (F32, F64, F16 and BF16 are)"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("error is %v, want %s", tt.err, tt.want)
		}
	}
}

func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		t    safetensors.DType
		raw  []byte
		want []byte
	}{
		{safetensors.I64, []byte{254, 255, 255, 255, 255, 255, 255, 255}, []byte{254, 255, 255, 255}},
		{safetensors.I32, []byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}},
		{safetensors.U32, []byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}},
		{safetensors.I16, []byte{254, 255}, []byte{254, 255, 255, 255}},
		{safetensors.U16, []byte{254, 255}, []byte{254, 255, 0, 0}},
		{safetensors.I8, []byte{255}, []byte{255, 255, 255, 255}},
		{safetensors.U8, []byte{255}, []byte{255, 0, 0, 0}},
		{safetensors.Bool, []byte{1}, []byte{1, 0, 0, 0}},
		{safetensors.U64, []byte{7, 0, 0, 0, 0, 0, 0, 0}, []byte{7, 0, 0, 0}},
	} {
		got, err := toStorage(tt.raw, tt.t, gpu.I32)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.t, err, diff)
		}
		back, err := fromStorage(got, gpu.I32, tt.raw, tt.t)
		if diff := cmp.Diff(tt.raw, back); err != nil || diff != "" {
			t.Errorf("%s back: %v (-want +got):\n%s", tt.t, err, diff)
		}
	}
}

func TestStorageType(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    nn.Param
		want gpu.DType
	}{
		{"matrix", nn.Param{Shape: []int{3, 8}}, gpu.BF16}, {"vector", nn.Param{Shape: []int{8}}, gpu.F32},
		{"odd rows", nn.Param{Shape: []int{8, 6}}, gpu.F32}, {"index", nn.Param{Shape: []int{8, 8},
			Index: true}, gpu.I32},
	} {
		if got := storageType(&tt.p, gpu.BF16); got != tt.want {
			t.Errorf("%s is stored as %s, want %s", tt.name, got, tt.want)
		}
	}
}
