package gguf

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var (
	realFile = flag.String("real", "", "a GGUF file to compare with -real-sums")
	realSums = flag.String("real-sums", "", "output of testdata/make_fixtures.py sums FILE")
)

// TestDequantize compares every type, bit for bit, with the reference values of testdata/make_fixtures.py.
func TestDequantize(t *testing.T) {
	f := open(t, "testdata/types.gguf")
	want, err := os.ReadFile("testdata/types.f32")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range f.Tensors() {
		if e.Type.String() != e.Name {
			t.Errorf("tensor %q has type %s", e.Name, e.Type)
		}
		got := make([]float32, e.Elements())
		if err := f.Float32(e.Name, got); err != nil {
			t.Fatal(err)
		}
		for i, g := range got {
			w := binary.LittleEndian.Uint32(want[4*i:])
			if math.Float32bits(g) != w {
				t.Errorf("%s: value %d is %v, want %v", e.Name, i, g, math.Float32frombits(w))
				break
			}
		}
		want = want[4*len(got):]
	}
	if len(want) > 0 {
		t.Errorf("%d values are left over", len(want)/4)
	}
}

// TestHalf checks all 65,536 numbers against the formula of the standard.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		got := half([]byte{byte(h), byte(h >> 8)})
		exp, frac := h>>10&31, h&0x3ff
		want := math.Ldexp(float64(frac+1024), exp-25)
		switch {
		case exp == 31 && frac > 0:
			if got == got {
				t.Errorf("%#04x is %v, want NaN", h, got)
			}
			continue
		case exp == 31:
			want = math.Inf(1)
		case exp == 0:
			want = math.Ldexp(float64(frac), -24)
		}
		if h >= 1<<15 {
			want = -want
		}
		if float64(got) != want || math.Signbit(float64(got)) != (h >= 1<<15) {
			t.Errorf("%#04x is %v, want %v", h, got, want)
		}
	}
}

func TestCodebooks(t *testing.T) {
	if len(codebooks) != gridEnd {
		t.Errorf("%d values, want %d", len(codebooks), gridEnd)
	}
}

// TestParallel compares the shared work with the work of one goroutine, at a length that shares unevenly.
func TestParallel(t *testing.T) {
	n := parallelFrom + 7*256
	src := make([]byte, n/256*210)
	for i := range src {
		src[i] = byte(i * i >> 3)
	}
	for b := range n / 256 {
		binary.LittleEndian.PutUint16(src[b*210+208:], uint16(0x2c00+b))
	}
	got, want := make([]float32, n), make([]float32, n)
	if err := Dequantize(Q6_K, src, got); err != nil {
		t.Fatal(err)
	}
	decodeQ6K(src, want)
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("value %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestDequantizeErrors(t *testing.T) {
	tests := []struct {
		name   string
		typ    Type
		src, n int
		want   string
	}{
		{"type", 77, 0, 0, "unknown tensor type 77"},
		{"unread", Q1_0, 18, 128, "values of type Q1_0 cannot be read; " +
			"convert the model to another type, for example Q8_0 or F16"},
		{"values", Q4_0, 18, 31, "31 values are no multiple of the 32 values of a Q4_0 block"},
		{"bytes", Q4_0, 17, 32, "32 values of type Q4_0 take 18 bytes, got 17"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Dequantize(tt.typ, make([]byte, tt.src), make([]float32, tt.n))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestReal compares every tensor and every text array of a real model with the sums of the reference.
func TestReal(t *testing.T) {
	if *realFile == "" || *realSums == "" {
		t.Skip("needs -real FILE -real-sums SUMS (testdata/make_fixtures.py sums FILE > SUMS)")
	}
	f := open(t, *realFile)
	if _, err := f.Tokenizer(); err != nil {
		t.Error(err)
	}
	sums, err := os.Open(*realSums)
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	lines, tensors := bufio.NewScanner(sums), 0
	for lines.Scan() {
		var got string
		name := strings.Fields(lines.Text())[1]
		if strings.HasPrefix(lines.Text(), "tensor ") {
			got, tensors = tensorSum(t, f, name), tensors+1
		} else {
			texts, err := f.Meta(name).Texts()
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
			got = fmt.Sprintf("texts %s %d %s", name, len(texts), hex.EncodeToString(sum[:]))
		}
		if got != lines.Text() {
			t.Errorf("got  %s\nwant %s", got, lines.Text())
		}
	}
	if tensors != len(f.Tensors()) {
		t.Errorf("%d tensors were compared, the file has %d", tensors, len(f.Tensors()))
	}
}

func tensorSum(t *testing.T, f *File, name string) string {
	e, _ := f.Tensor(name)
	values := make([]float32, e.Elements())
	if err := f.Float32(name, values); err != nil {
		t.Fatal(err)
	}
	h, b := sha256.New(), make([]byte, 0, 4096)
	for i, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		if len(b) == 4096 || i == len(values)-1 {
			h.Write(b)
			b = b[:0]
		}
	}
	dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Dims), "[]"), " ", "x")
	return fmt.Sprintf("tensor %s %s %s %s", name, e.Type, dims, hex.EncodeToString(h.Sum(nil)))
}

func BenchmarkDequantize(b *testing.B) {
	for _, t := range []Type{F16, Q8_0, Q4_0, Q4_K, Q6_K, IQ4_XS} {
		b.Run(t.String(), func(b *testing.B) {
			per, size := t.Block()
			dst, src := make([]float32, 1<<20), make([]byte, 1<<20/per*size)
			b.SetBytes(int64(4 * len(dst)))
			for b.Loop() {
				if err := Dequantize(t, src, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
