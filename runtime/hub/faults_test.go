package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// oneFile makes a hub with one large file and a client for it.
func oneFile(t *testing.T, size int) (*fakeHub, *Client, []byte) {
	h := newHub(t)
	contents := noise(size)
	h.add("model.safetensors", contents, true)
	return h, h.client(nil), contents
}

// fromStorage limits a trick to downloads of the large file.
func fromStorage(trick trick) trick {
	return func(w http.ResponseWriter, r *http.Request, n int) bool {
		return r.Method == http.MethodGet && r.URL.RawQuery != "" && trick(w, r, n)
	}
}

const (
	small = 100_000 // one request
	large = 500_000 // segments of 64 KiB
)

// TestFaults downloads past every fault that goes away.
func TestFaults(t *testing.T) {
	tests := []struct {
		name  string
		size  int
		trick func(contents []byte) trick
	}{
		{"cut twice", small, func(b []byte) trick {
			return func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n <= 2 {
					cut(w, r, b, 30_000)
				}
				return false
			}
		}},
		{"cut segments", large, func(b []byte) trick {
			return func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n%2 == 1 {
					cut(w, r, b, 20_000)
				}
				return false
			}
		}},
		{"no ranges", large, func([]byte) trick {
			return func(_ http.ResponseWriter, r *http.Request, _ int) bool {
				r.Header.Del("Range")
				return false
			}
		}},
		{"cut and no ranges", small, func(b []byte) trick {
			return func(w http.ResponseWriter, r *http.Request, n int) bool {
				r.Header.Del("Range")
				if n == 1 {
					cut(w, r, b, 30_000)
				}
				return false
			}
		}},
		{"other range", large, func([]byte) trick {
			return func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.Header.Get("Range") == "" {
					return false
				}
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 1-65536/%d", large))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(make([]byte, 65536))
				return true
			}
		}},
		{"range refused", large, func([]byte) trick {
			return func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.Header.Get("Range") != "" {
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				}
				return r.Header.Get("Range") != ""
			}
		}},
		{"wrong bytes once", small, func([]byte) trick {
			return func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n == 1 {
					_, _ = w.Write(make([]byte, small))
				}
				return n == 1
			}
		}},
		{"too short once", small, func([]byte) trick {
			return func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n == 1 {
					_, _ = w.Write(make([]byte, 10))
				}
				return n == 1
			}
		}},
		{"too long once", small, func([]byte) trick {
			return tooLongOnce
		}},
		{"503 and 429", small, func([]byte) trick {
			return func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n < 3 {
					w.WriteHeader([]int{503, 429}[n-1])
				}
				return n < 3
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, c, contents := oneFile(t, tt.size)
			h.trick = fromStorage(tt.trick(contents))
			dir, err := snapshot(t, c, Request{})
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, c, dir, map[string][]byte{"model.safetensors": contents})
			if len(h.leaks) > 0 {
				t.Errorf("the token went to the storage: %q", h.leaks)
			}
		})
	}
}

// tooLongOnce sends, without announcing a length, more than the file has.
func tooLongOnce(w http.ResponseWriter, _ *http.Request, n int) bool {
	if n > 1 {
		return false
	}
	for range 3 {
		_, _ = w.Write(make([]byte, small/2))
		_ = http.NewResponseController(w).Flush()
	}
	return true
}

// TestFaultsThatStay wants an error, and no file of that name.
func TestFaultsThatStay(t *testing.T) {
	tests := []struct {
		name  string
		trick trick
		kind  error
		want  string
	}{
		{"wrong bytes", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			_, _ = w.Write(make([]byte, small))
			return true
		}, ErrDamaged, "model.safetensors: damaged download: its hash is "},
		{"wrong length", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			_, _ = w.Write(make([]byte, 10))
			return true
		}, nil, "the server sends 10 bytes, want 100000 (given up after 4 tries)"},
		{"storage refuses", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}, nil, ": 403 Forbidden"},
		{"always down", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}, nil, "503 Service Unavailable (given up after 4 tries)"},
		{"asks to wait", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}, nil, "429 Too Many Requests (the server asks to wait 24h0m0s)"},
		{"redirects for ever", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
			return true
		}, nil, "more than 10 redirects"},
		{"redirect to a file", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
			return true
		}, nil, "is not followed, want http or https"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, c, _ := oneFile(t, small)
			h.trick = fromStorage(tt.trick)
			_, err := snapshot(t, c, Request{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.kind != nil && !errors.Is(err,
				tt.kind) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "private") || strings.Contains(err.Error(),
				"hf_secret")) {
				t.Errorf("the error shows a secret: %v", err)
			}
			s := c.store(repo{"owner/repo", Model})
			if _, err := os.Lstat(s.file(commitA, "model.safetensors")); err == nil {
				t.Error("the file is visible")
			}
			if _, err := os.Stat(s.ref("main")); err == nil {
				t.Error("the ref was written")
			}
		})
	}
}

// TestResume ends a download midway and wants the next one to ask for the rest only.
func TestResume(t *testing.T) {
	h, c, contents := oneFile(t, small)
	c.opt.Retries = 1
	h.trick = fromStorage(func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 2 {
			return false
		}
		if n == 1 {
			cut(w, r, contents, 40_000)
		}
		cut(w, r, contents, 0)
		return true
	})
	if _, err := snapshot(t, c, Request{}); err == nil || !strings.Contains(err.Error(),
		"given up after 2 tries") {
		t.Fatalf("got %v", err)
	}
	part := c.store(repo{"owner/repo", Model}).blob(sha256Of(contents)) + incomplete
	if n := size(part); n != 40_000 {
		t.Fatalf("%d bytes are left, want 40000", n)
	}
	dir, err := snapshot(t, c, Request{})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, c, dir, map[string][]byte{"model.safetensors": contents})
	last := h.seen[len(h.seen)-1]
	if !strings.HasSuffix(last, " bytes=40000-99999") {
		t.Errorf("last request: %s", last)
	}
}

// TestResumeDamaged starts from a part with wrong bytes, and from one that is too long.
func TestResumeDamaged(t *testing.T) {
	for _, n := range []int{1000, small, small + 1} {
		_, c, contents := oneFile(t, small)
		part := c.store(repo{"owner/repo", Model}).blob(sha256Of(contents)) + incomplete
		if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(part, make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
		dir, err := snapshot(t, c, Request{})
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, c, dir, map[string][]byte{"model.safetensors": contents})
	}
}

func TestAccess(t *testing.T) {
	status := func(code int, x string) trick {
		return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			fail(w, code, x)
			return true
		}
	}
	tests := []struct {
		name, token string
		trick       trick
		kind        error
		want        string
	}{
		{"no token", "", nil, ErrUnauthorized, "the repository is private or does not exist: check its name"},
		{"wrong token", "hf_other", nil, ErrUnauthorized, "the token is wrong, out of date or may not read"},
		{"gated without token", "", status(401, "GatedRepo"), ErrGated,
			"accept its terms on its page, then create"},
		{"gated", "hf_secret", status(403, "GatedRepo"), ErrGated, "this token's account has no access"},
		{"forbidden", "", status(403, ""), ErrUnauthorized, "the server refuses access"},
		{"no repository", "hf_secret", status(404, "RepoNotFound"), ErrNotFound,
			"check the names of repository"},
		{"no revision", "hf_secret", status(404, "RevisionNotFound"), ErrNotFound,
			"no such branch, tag or commit"},
		{"no file", "hf_secret", status(404, "EntryNotFound"), ErrNotFound, "no such file at this revision"},
		{"teapot", "hf_secret", status(418, ""), nil, "418 I'm a teapot"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHub(t)
			h.trick = tt.trick
			_, err := snapshot(t, h.client(func(o *Options) { o.Token = tt.token }), Request{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.kind != nil && !errors.Is(err,
				tt.kind) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hf_") {
				t.Errorf("the error shows the token: %v", err)
			}
			if len(h.seen) != 1 {
				t.Errorf("%d requests, want no second try", len(h.seen))
			}
		})
	}
}

// TestRevisionMoves: the branch gets another commit between the listing and the downloads, and the server
// answers for that one.
func TestRevisionMoves(t *testing.T) {
	h, c, _ := oneFile(t, small)
	h.trick = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodHead {
			w.Header().Set("X-Repo-Commit", commitB)
			w.Header().Set("ETag", gitHash(nil))
		}
		return r.Method == http.MethodHead
	}
	_, err := snapshot(t, c, Request{})
	if err == nil || !strings.Contains(err.Error(), "answers for commit "+commitB+", want "+commitA) {
		t.Errorf("got %v", err)
	}
	// An honest server keeps answering for the old commit, because all addresses name it.
	h.files[commitB] = map[string][]byte{"model.safetensors": noise(10)}
	h.trick = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodHead {
			h.mu.Lock()
			h.refs["main"] = commitB
			h.mu.Unlock()
		}
		return false
	}
	dir, err := snapshot(t, c, Request{})
	if err != nil || filepath.Base(dir) != commitA {
		t.Fatalf("%s %v", dir, err)
	}
	wantFiles(t, c, dir, map[string][]byte{"model.safetensors": noise(small)})
}

func TestHeadLies(t *testing.T) {
	tests := []struct{ name, key, value, want string }{
		{"no commit", "X-Repo-Commit", "", "no X-Repo-Commit, so it comes from no Hub"},
		{"etag", "X-Linked-Etag", `"../../../evil"`, "want a SHA-256 or a git SHA-1"},
		{"negative size", "X-Linked-Size", "-1", `the size is "-1"`},
		{"size", "X-Linked-Size", "1e9", `the size is "1e9"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{"X-Repo-Commit": {commitA}, "X-Linked-Etag": {sha256Of(nil)},
				"X-Linked-Size": {"0"}}
			h.Set(tt.key, tt.value)
			_, err := parseHead(h, 302, commitA)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestListingLies(t *testing.T) {
	file := func(name string) string {
		quoted, _ := json.Marshal(name)
		return fmt.Sprintf(`{"sha":%q,"siblings":[{"rfilename":%s}]}`, commitA, quoted)
	}
	tests := []struct{ name, in, want string }{
		{"html", "<html>", "describes no repository"},
		{"no commit", `{"sha":"main"}`, `gives commit "main"`},
		{"up", file("../x"), "is no plain relative path"},
		{"up inside", file("a/../../x"), "is no plain relative path"},
		{"root", file("/etc/passwd"), "is no plain relative path"},
		{"dot", file("./a"), "is no plain relative path"},
		{"backslash", file(`..\x`), "backslash"},
		{"nul", file("a\x00b"), "control character"},
		{"empty", file(""), "is empty"},
		{"twice", `{"sha":"` + commitA + `","siblings":[{"rfilename":"a"},{"rfilename":"a"}]}`, `"a" twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseListing([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzListing(f *testing.F) {
	f.Add([]byte(`{"sha":"` + commitA + `","siblings":[{"rfilename":"a/b.txt"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseListing(b)
		if err != nil {
			return
		}
		s := store{"/cache", "/cache/r", "r"}
		for _, name := range l.files {
			if p := s.file(l.commit, name); !strings.HasPrefix(p,
				s.snapshot(l.commit)+string(filepath.Separator)) {
				t.Fatalf("%q leaves the snapshot: %s", name, p)
			}
		}
	})
}

// TestTogether lets several clients, as other processes would, download into one cache at a time.
func TestTogether(t *testing.T) {
	h, c, contents := oneFile(t, large)
	var all sync.WaitGroup
	for range 4 {
		other := h.client(func(o *Options) { o.CacheDir = c.opt.CacheDir })
		all.Go(func() {
			dir, err := snapshot(t, other, Request{})
			if err != nil {
				t.Error(err)
				return
			}
			wantFiles(t, other, dir, map[string][]byte{"model.safetensors": contents})
		})
	}
	all.Wait()
	if n, want := h.requests("GET /"+sha256Of(contents)), (large+65535)>>16; n != want {
		t.Errorf("%d segments were downloaded, want %d", n, want)
	}
}

func TestStallAndCancel(t *testing.T) {
	h, c, contents := oneFile(t, small)
	c.opt.StallTimeout = 50 * time.Millisecond
	h.trick = fromStorage(func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 1 {
			return false
		}
		_, _ = w.Write(contents[:1000])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
		panic(http.ErrAbortHandler)
	})
	dir, err := snapshot(t, c, Request{})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, c, dir, map[string][]byte{"model.safetensors": contents})

	for _, n := range []int{small, large} {
		h, c, contents := oneFile(t, n)
		ctx, cancel := context.WithCancelCause(context.Background())
		stop := errors.New("enough")
		h.trick = fromStorage(func(w http.ResponseWriter, r *http.Request, n int) bool {
			cancel(stop)
			cut(w, r, contents, 10)
			return true
		})
		if _, err := c.Snapshot(ctx, "owner/repo", Request{}); !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
	}
}
