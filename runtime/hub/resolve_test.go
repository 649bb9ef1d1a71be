package hub

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	h := newHub(t)
	for _, name := range []string{"config.json", "tokenizer.json", "model.safetensors",
		"consolidated.safetensors",
		"onnx/model.onnx", "onnx/config.json", "pytorch_model.bin", "q/a.gguf", "README.md",
		"big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "lost-00001-of-00002.gguf"} {
		h.add(name, []byte(name), false)
	}
	h.files[commitB] = map[string][]byte{"a.gguf": nil, "b/c.gguf": nil}
	h.refs["quantized"] = commitB
	c := h.client(nil)
	t.Chdir(t.TempDir())
	if err := errors.Join(os.MkdirAll("owner/local", 0o755), os.WriteFile("x.gguf", nil, 0o644),
		os.WriteFile("notes.txt", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	root := c.store(repo{"owner/repo", Model}).snapshot(commitA)
	tests := []struct{ name, ref, want, err string }{
		{"folder", "owner/local", "owner/local", ""},
		{"file", "x.gguf", "x.gguf", ""},
		{"other file", "notes.txt", "", "notes.txt is neither a folder nor a .gguf file"},
		{"missing file", "y.gguf", "", `"y.gguf" is no folder and no .gguf file here, and no repository`},
		{"missing path", "./owner/repo", "", "is no folder"},
		{"empty revision", "owner/repo@", "", "is no folder"},
		{"climbing", "owner/repo/../x.gguf", "", "is no folder"},
		{"repository", "owner/repo", root, ""},
		{"revision", "owner/repo@" + commitA, root, ""},
		{"gguf", "owner/repo/q/a.gguf@main", filepath.Join(root, "q", "a.gguf"), ""},
		{"parts", "owner/repo/big-00001-of-00002.gguf", filepath.Join(root, "big-00001-of-00002.gguf"), ""},
		{"lost part", "owner/repo/lost-00001-of-00002.gguf", "",
			"is one of 2 parts, and 1 of them are there"},
		{"missing gguf", "owner/repo/z.gguf", "", `not found: no file "z.gguf" among its 12 files`},
		{"only gguf", "owner/repo@quantized", "",
			"but GGUF files; name one of them, as OWNER/REPO/FILE.gguf: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Resolve(context.Background(), tt.ref)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q %v, want %q", got, err, tt.want)
			}
		})
	}
	files, err := walk(root)
	want := []string{"big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "config.json", "model.safetensors",
		"q/a.gguf",
		"tokenizer.json"}
	if d := cmp.Diff(want, files); err != nil || d != "" {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

func TestModelFiles(t *testing.T) {
	if _, err := model([]string{"config.json", "pytorch_model.bin"}); !errors.Is(err, ErrPickle) ||
		!strings.Contains(err.Error(), "SafeTensors") {
		t.Errorf("got %v", err)
	}
	if _, err := model([]string{"README.md"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
