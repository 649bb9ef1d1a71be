package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheFile(t *testing.T) {
	dir := t.TempDir()
	use := func() []string {
		d, err := Open(Options{CacheDir: dir})
		if err != nil && strings.Contains(err.Error(), "install the Debian package") {
			t.Skip(err)
		}
		ok(t, err)
		x := must[Tensor](t)(d.Alloc(U32, 8))
		r := d.NewRecorder()
		r.Dispatch(&inc, [3]int{1, 1, 1}, []uint32{8}, []uint32{8, 1}, x)
		rec := must[*Recording](t)(r.Finish())
		ok(t, rec.Run())
		d.Close()
		return d.Warnings()
	}
	if w := use(); len(w) > 0 {
		t.Errorf("first use: %q", w)
	}
	files := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*")))
	if len(files) != 1 {
		t.Fatalf("files %q, wanted one", files)
	}
	if w := use(); len(w) > 0 {
		t.Errorf("second use: %q", w)
	}
	data := must[[]byte](t)(os.ReadFile(files[0]))
	for name, bad := range map[string][]byte{"checksum": append(data, 1),
		"pipeline cache": []byte("something else")} {
		ok(t, os.WriteFile(files[0], bad, 0o644))
		if w := use(); len(w) != 1 || !strings.Contains(w[0], name) || !strings.Contains(w[0], "delete it") {
			t.Errorf("damaged file: %q, wanted a warning with %q", w, name)
		}
	}
	blocked := filepath.Join(dir, "file")
	ok(t, os.WriteFile(blocked, nil, 0o644))
	dir = filepath.Join(blocked, "sub")
	if w := use(); len(w) == 0 || !strings.Contains(strings.Join(w, " "), "not written") {
		t.Errorf("unusable folder: %q", w)
	}
}
