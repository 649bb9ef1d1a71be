package safetensors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]*?") // names that a pattern would misread
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, []Tensor{u8("a", 1)}, Options{Base: "adapter"}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Path() != filepath.Join(dir, "adapter.safetensors") || s.Index() != nil {
		t.Errorf("opened %s, index %v", s.Path(), s.Index())
	}
	if i, _ := s.Info("a"); i.Len() != 1 {
		t.Errorf("%d elements", i.Len())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Write(dir, []Tensor{u8("a", 1), {Name: "s", DType: U8, Body: Bytes([]byte{2})}}, Options{MaxShard: 1}); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(filepath.Join(dir, "model.safetensors.index.json")); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := string(s.Index().Metadata["total_size"]); got != "2" || len(s.Index().WeightMap) != 2 {
		t.Errorf("index %+v", s.Index())
	}
	if i, _ := s.Info("s"); i.Shape == nil || len(i.Shape) != 0 {
		t.Errorf("a scalar has shape %#v", i.Shape)
	}
}

func TestOpenBadFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, empty := Open(dir)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	_, folder := Open(dir)
	_, none := Open(filepath.Join(dir, "none"))
	got := []string{empty.Error(), folder.Error(), none.Error()}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], dir, "DIR")
	}
	want := []string{"DIR/model.safetensors: 0 bytes, too short for a safetensors file (8 bytes of header length come first)",
		"DIR/model.safetensors: not a regular file", "stat DIR/none: no such file or directory"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSmallHalves rounds in the range where halves have no leading one.
func TestSmallHalves(t *testing.T) {
	const unit = 1.0 / (1 << 24)
	for _, tt := range []struct {
		in   float32
		want uint16
	}{{unit, 1}, {unit * 0.5, 0}, {unit * 0.500001, 1}, {unit * 1.5, 2}, {unit * 2.5, 2}, {unit * 2.500001, 3},
		{unit * 1023, 1023}, {unit * 1023.5, 1024}, {-unit * 1.5, 0x8002}, {unit * 0.4, 0}} {
		if got := ToF16(tt.in); got != tt.want {
			t.Errorf("%g became %#04x, want %#04x", tt.in, got, tt.want)
		}
	}
}
