package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// fakeHub is a hub with one repository and, on another port, the storage it redirects large files to.
type fakeHub struct {
	t       *testing.T
	hub     *httptest.Server
	storage *httptest.Server

	mu    sync.Mutex
	repo  string                       // OWNER/REPO
	refs  map[string]string            // revision -> commit
	files map[string]map[string][]byte // commit -> name -> contents
	large map[string]bool              // names kept in the storage
	seen  []string                     // "METHOD PATH RANGE" of every request
	leaks []string                     // requests to the storage with a token

	trick trick
	count map[string]int
}

// trick may answer a request itself (true), to misbehave; n counts the requests of that method and path.
type trick func(w http.ResponseWriter, r *http.Request, n int) bool

func newHub(t *testing.T) *fakeHub {
	h := &fakeHub{
		t: t, repo: "owner/repo", refs: map[string]string{"main": commitA}, large: map[string]bool{},
		files: map[string]map[string][]byte{commitA: {}}, count: map[string]int{},
	}
	h.hub = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.serve(w, r,
			h.api)
	}))
	h.storage = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.serve(w, r, h.store)
	}))
	t.Cleanup(func() { h.hub.Close(); h.storage.Close() })
	return h
}

// add puts a file into commitA; large ones go to the storage.
func (h *fakeHub) add(name string, contents []byte, large bool) {
	h.files[commitA][name] = contents
	h.large[name] = large
}

// client makes a client with quick retries and small segments.
func (h *fakeHub) client(change func(*Options)) *Client {
	h.t.Helper()
	o := Options{Endpoint: h.hub.URL, CacheDir: h.t.TempDir(), Token: "hf_secret", Retries: 3,
		Backoff: time.Millisecond, StallTimeout: 5 * time.Second}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		h.t.Fatal(err)
	}
	c.segment = 64 << 10
	return c
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
	h.mu.Lock()
	key := r.Method + " " + r.URL.Path
	h.count[key]++
	n := h.count[key]
	h.seen = append(h.seen, strings.TrimSpace(key+" "+r.Header.Get("Range")))
	if r.Host == strings.TrimPrefix(h.storage.URL, "http://") && r.Header.Get("Authorization") != "" {
		h.leaks = append(h.leaks, key)
	}
	trick := h.trick
	h.mu.Unlock()
	if trick == nil || !trick(w, r, n) {
		answer(w, r)
	}
}

// requests counts the requests that start with prefix.
func (h *fakeHub) requests(prefix string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Error-Code", code)
	w.WriteHeader(status)
}

func (h *fakeHub) api(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer hf_secret" {
		fail(w, http.StatusUnauthorized, "RepoNotFound")
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	path := r.URL.Path
	for _, kind := range []string{"models", "datasets"} {
		if rev, ok := strings.CutPrefix(path, "/api/"+kind+"/"+h.repo+"/revision/"); ok {
			h.revision(w, rev)
			return
		}
	}
	path = strings.TrimPrefix(path, "/datasets")
	if rest, ok := strings.CutPrefix(path, "/"+h.repo+"/resolve/"); ok {
		h.resolve(w, r, rest)
		return
	}
	fail(w, http.StatusNotFound, "RepoNotFound")
}

func (h *fakeHub) revision(w http.ResponseWriter, rev string) {
	commit, ok := h.refs[rev]
	if _, is := h.files[rev]; is {
		commit, ok = rev, true
	}
	if !ok {
		fail(w, http.StatusNotFound, "RevisionNotFound")
		return
	}
	var names []map[string]string
	for name := range h.files[commit] {
		names = append(names, map[string]string{"rfilename": name})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": names})
}

func (h *fakeHub) resolve(w http.ResponseWriter, r *http.Request, rest string) {
	commit, name, _ := strings.Cut(rest, "/")
	contents, ok := h.files[commit][name]
	if !ok {
		fail(w, http.StatusNotFound, "EntryNotFound")
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	if h.large[name] {
		w.Header().Set("X-Linked-Etag", `"`+sha256Of(contents)+`"`)
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(contents)))
		w.Header().Set("ETag", `"not-this-one"`)
		http.Redirect(w, r, h.storage.URL+"/"+sha256Of(contents)+"?signature=private", http.StatusFound)
		return
	}
	w.Header().Set("ETag", `"`+gitHash(contents)+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(contents))
}

func (h *fakeHub) store(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, files := range h.files {
		for _, contents := range files {
			if r.URL.Path == "/"+sha256Of(contents) && r.URL.RawQuery == "signature=private" {
				w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(contents))
				return
			}
		}
	}
	w.WriteHeader(http.StatusForbidden)
}

func sha256Of(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func gitHash(b []byte) string {
	s := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(b), b)))
	return hex.EncodeToString(s[:])
}

// noise is n bytes that do not repeat early.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// cut answers like http.ServeContent, but ends the connection after keep bytes of the body.
func cut(w http.ResponseWriter, r *http.Request, contents []byte, keep int) {
	rec := httptest.NewRecorder()
	http.ServeContent(rec, r, "", time.Time{}, bytes.NewReader(contents))
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()[:min(keep, rec.Body.Len())])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func snapshot(t *testing.T, c *Client, req Request) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return c.Snapshot(ctx, "owner/repo", req)
}

// wantFiles compares a snapshot's files, and that nothing half-done is left in the cache.
func wantFiles(t *testing.T, c *Client, dir string, want map[string][]byte) {
	t.Helper()
	got, err := walk(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("files %q, want %d", got, len(want))
	}
	for name, contents := range want {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(b, contents) {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(b), err, len(contents))
		}
	}
	left, err := filepath.Glob(filepath.Join(c.opt.CacheDir, "*", "blobs", "*"+incomplete))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}
