package hub

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshot(t *testing.T) {
	h := newHub(t)
	h.add("config.json", []byte("{}"), false)
	h.add("empty.txt", nil, false)
	h.add("sub/dir/ä b.txt", []byte("text"), false)
	h.add("model.safetensors", noise(1<<20+17), true)
	h.add("copy.safetensors", noise(1<<20+17), true)
	h.add("pytorch_model.bin", []byte("pickle"), true)
	c := h.client(nil)
	var last Progress
	files := map[string]int64{}
	dir, err := snapshot(t, c, Request{Progress: func(p Progress) { last, files[p.File] = p, p.FileDone }})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	total := int64(0)
	for name, b := range h.files[commitA] {
		if name != "pytorch_model.bin" {
			want[name] = b
			total += int64(len(b))
			if files[name] != int64(len(b)) {
				t.Errorf("%s: progress %d, want %d", name, files[name], len(b))
			}
		}
	}
	wantFiles(t, c, dir, want)
	if last.Done != total || last.Total != total {
		t.Errorf("progress %+v, want %d", last, total)
	}
	if len(h.leaks) > 0 {
		t.Errorf("the token went to the storage: %q", h.leaks)
	}
	layout(t, c, want)

	asked := len(h.seen)
	again, err := snapshot(t, c, Request{})
	if err != nil || again != dir || len(h.seen) != asked+1 {
		t.Errorf("second time: %q %v, %d requests, want 1", again, err, len(h.seen)-asked)
	}
}

// layout compares the cache's files with those that huggingface_hub makes.
func layout(t *testing.T, c *Client, files map[string][]byte) {
	t.Helper()
	root := filepath.Join(c.opt.CacheDir, "models--owner--repo")
	ref, err := os.ReadFile(filepath.Join(root, "refs", "main"))
	if err != nil || string(ref) != commitA {
		t.Errorf("refs/main is %q %v", ref, err)
	}
	var blobs, want []string
	entries, err := os.ReadDir(filepath.Join(root, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		blobs = append(blobs, e.Name())
	}
	for name, b := range files {
		if strings.HasSuffix(name, ".safetensors") {
			want = append(want, sha256Of(b))
		} else {
			want = append(want, gitHash(b))
		}
	}
	sort.Strings(want)
	if d := cmp.Diff(slices.Compact(want), blobs); d != "" {
		t.Errorf("blobs (-want +got)\n%s", d)
	}
	target, err := os.Readlink(filepath.Join(root, "snapshots", commitA, "sub", "dir", "ä b.txt"))
	if err != nil || filepath.ToSlash(target) != "../../../../blobs/"+gitHash([]byte("text")) {
		t.Errorf("link to %q %v", target, err)
	}
}

func TestIncludeExclude(t *testing.T) {
	names := []string{"config.json", "data/a.json", "model.safetensors", "pytorch_model.bin", "model.py"}
	tests := []struct {
		name             string
		kind             RepoType
		include, exclude []string
		want             []string
		err              error
	}{
		{"all", Model, nil, nil, []string{"config.json", "data/a.json", "model.safetensors", "model.py"},
			nil},
		{"star", Model, []string{"*.json"}, nil, []string{"config.json", "data/a.json"}, nil},
		{"folder", Model, []string{"data/"}, nil, []string{"data/a.json"}, nil},
		{"exclude", Model, []string{"*.json"}, []string{"data/*"}, []string{"config.json"}, nil},
		{"set", Model, []string{"[!c]onfig.json", "[cd]onfig.json"}, nil, []string{"config.json"}, nil},
		{"any pickle", Model, []string{"p*"}, nil, nil, ErrPickle},
		{"no weights but pickles", Model, nil, []string{"*.safetensors"}, nil, ErrPickle},
		{"data set", Dataset, nil, []string{"*.safetensors"}, []string{"config.json", "data/a.json",
			"model.py"}, nil},
		{"named pickle", Model, []string{"*.bin"}, nil, []string{"pytorch_model.bin"}, nil},
		{"nothing", Model, []string{"*.gguf"}, nil, nil, ErrNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			choose, err := byPatterns(tt.kind, tt.include, tt.exclude)
			if err != nil {
				t.Fatal(err)
			}
			got, err := choose(names)
			if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	if _, err := byPatterns(Model, []string{""}, nil); err == nil {
		t.Error("an empty pattern was accepted")
	}
}

func TestRevisions(t *testing.T) {
	h := newHub(t)
	h.add("a.txt", []byte("a"), false)
	h.files[commitB] = map[string][]byte{"a.txt": []byte("b")}
	h.refs["v1"], h.refs["refs/pr/3"] = commitB, commitB
	c := h.client(nil)
	for rev, want := range map[string]string{"": "a", "main": "a", "v1": "b", "refs/pr/3": "b",
		commitB: "b"} {
		for _, kind := range []RepoType{Model, Dataset} {
			dir, err := snapshot(t, c, Request{Revision: rev, Type: kind})
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, c, dir, map[string][]byte{"a.txt": []byte(want)})
		}
	}
	ref, err := os.ReadFile(filepath.Join(c.opt.CacheDir, "datasets--owner--repo", "refs", "refs", "pr", "3"))
	if err != nil || string(ref) != commitB {
		t.Errorf("refs/refs/pr/3 is %q %v", ref, err)
	}
	if n := h.requests("GET /api/models/owner/repo/revision/refs/pr/3"); n != 1 {
		t.Errorf("%d requests for the pull request's revision", n)
	}
	for _, rev := range []string{"../x", "/x", "a//b", "a\\b", "a\nb"} {
		if _, err := snapshot(t, c, Request{Revision: rev}); err == nil || !strings.Contains(err.Error(),
			"no revision") {
			t.Errorf("%q: got %v", rev, err)
		}
	}
}

func TestOffline(t *testing.T) {
	h := newHub(t)
	h.add("a.txt", []byte("a"), false)
	h.add("model.safetensors", noise(10), true)
	c := h.client(nil)
	off := h.client(func(o *Options) { o.CacheDir, o.Offline = c.opt.CacheDir, true })
	if _, err := snapshot(t, off, Request{}); !errors.Is(err, ErrOffline) ||
		!strings.Contains(err.Error(), "revision main of owner/repo") {
		t.Errorf("got %v", err)
	}
	dir, err := snapshot(t, c, Request{})
	if err != nil {
		t.Fatal(err)
	}
	h.hub.Close()
	for _, rev := range []string{"main", commitA} {
		if got, err := snapshot(t, off, Request{Revision: rev}); err != nil || got != dir {
			t.Errorf("%s: got %q %v", rev, got, err)
		}
	}
	if _, err := snapshot(t, off, Request{Revision: "v2"}); !errors.Is(err, ErrOffline) {
		t.Errorf("got %v", err)
	}
	if _, err := snapshot(t, off, Request{Include: []string{"*.json"}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = snapshot(t, c, Request{}) // online without network: no silent use of the cache, but a word on it
	if err == nil || !strings.Contains(err.Error(), "the cache has commit "+commitA) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(c.store(repo{"owner/repo", Model}).blob(sha256Of(noise(10)))); err != nil {
		t.Fatal(err)
	}
	if _, err = snapshot(t, off, Request{}); !errors.Is(err, ErrOffline) ||
		!strings.Contains(err.Error(), "1 of 2 files are missing: model.safetensors") {
		t.Errorf("got %v", err)
	}
	offlineListings(t, c, off)
}

// offlineListings: without a listing the files that are there are taken for all; huggingface_hub's tells
// better.
func offlineListings(t *testing.T, c, off *Client) {
	t.Helper()
	s := c.store(repo{"owner/repo", Model})
	tree := filepath.Join(s.dir, "trees", commitA+".json")
	if err := errors.Join(os.Remove(s.names(commitA)), os.Remove(s.file(commitA,
		"model.safetensors"))); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, tree, want string }{
		{"none", "", ""},
		{"format 1", `{"format_version":1,"files":{"a.txt":{"size":1},"b.txt":{"size":1}}}`,
			"1 of 2 files are missing: b.txt"},
		{"format 2", `{"format_version":2,"files":{"a.txt":1,"b.txt":1}}`, ""},
		{"climbing", `{"format_version":1,"files":{"../b.txt":{}}}`, "is no plain relative path"},
	}
	for _, tt := range tests {
		if tt.tree != "" {
			if err := os.WriteFile(tree, []byte(tt.tree), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := snapshot(t, off, Request{})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(),
			tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestSpace(t *testing.T) {
	h := newHub(t)
	h.add("model.safetensors", noise(1000), true)
	c := h.client(nil)
	c.space = func(string) (uint64, bool, error) { return 999, true, nil }
	_, err := snapshot(t, c, Request{})
	if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(),
		"999 bytes free, and the download takes 1000") {
		t.Errorf("got %v", err)
	}
	if n := h.requests("GET /owner/repo/resolve"); n > 0 {
		t.Errorf("%d downloads were started", n)
	}
	c.space = freeSpace
	if _, err := snapshot(t, c, Request{}); err != nil {
		t.Error(err)
	}
}

func TestRepoNames(t *testing.T) {
	for _, name := range []string{"", "a/b/c", "../b", "a/..", "a//b", "a/b.git", "a--b/c", "/a", "a/",
		"a b/c", "a/b-"} {
		if _, err := newRepo(name, Model); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	for _, name := range []string{"repo", "owner/repo", "Owner-1/re_po.v1"} {
		if _, err := newRepo(name, ""); err != nil {
			t.Error(err)
		}
	}
	if _, err := newRepo("a/b", "space"); err == nil {
		t.Error("type space was accepted")
	}
}
