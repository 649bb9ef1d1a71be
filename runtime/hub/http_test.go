package hub

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestRedirect(t *testing.T) {
	tests := []struct{ name, from, location, want, err string }{
		{"relative", "https://h/a/b", "/c", "https://h/c", ""},
		{"other host", "https://h/a", "https://x/y?z", "https://x/y?z", ""},
		{"upgrade", "http://h/a", "https://h/a", "https://h/a", ""},
		{"downgrade", "https://h/a", "http://h/a?sig=1", "",
			"https://h/a: redirect to unencrypted http://h/a is not followed"},
		{"none", "https://h/a", "", "", "https://h/a: 302 without a readable Location"},
		{"scheme", "https://h/a", "file:///x", "",
			`https://h/a: redirect to "file:///x" is not followed, want http or https`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			from, err := url.Parse(tt.from)
			if err != nil {
				t.Fatal(err)
			}
			got, err := redirect(&http.Response{StatusCode: 302, Request: &http.Request{URL: from},
				Header: http.Header{"Location": {tt.location}}})
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Errorf("got %v %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestSameOrigin(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"https://h", "https://H:443/x", true},
		{"https://h", "http://h", false},
		{"https://h", "https://h:8443", false},
		{"https://h", "https://h.evil", false},
		{"https://h", "https://evil/https://h", false},
		{"http://127.0.0.1:80", "http://127.0.0.1", true},
	}
	for _, tt := range tests {
		a, _ := url.Parse(tt.a)
		b, _ := url.Parse(tt.b)
		if got := sameOrigin(a, b); got != tt.want {
			t.Errorf("%s %s: got %v", tt.a, tt.b, got)
		}
	}
}

func TestWaits(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "x": 0, "Tue, 01 Dec 2026 12:01:00 GMT": time.Minute,
		"Tue, 01 Dec 2026 11:00:00 GMT": 0} {
		if got := retryAfter(in, now); got != want {
			t.Errorf("Retry-After %q: got %v, want %v", in, got, want)
		}
	}
	for in, want := range map[string]time.Duration{
		"": 0, `"api";r=0;t=55`: 55 * time.Second, `"api";r=9;t=55`: 0, `"api";r=0`: 0} {
		if got := rateLimit(in); got != want {
			t.Errorf("RateLimit %q: got %v, want %v", in, got, want)
		}
	}
}

// TestRenamed follows a renamed repository within the endpoint, with the token, and a mirror's redirect to
// another host without it.
func TestRenamed(t *testing.T) {
	h := newHub(t)
	h.add("a.txt", []byte("a"), false)
	h.add("model.safetensors", noise(100), true)
	h.trick = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if !strings.Contains(r.URL.Path, "old/name") {
			return false
		}
		http.Redirect(w, r, strings.Replace(r.URL.Path, "old/name", "owner/repo", 1),
			http.StatusTemporaryRedirect)
		return true
	}
	c := h.client(nil)
	dir, err := c.Snapshot(t.Context(), "old/name", Request{})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, c, dir, map[string][]byte{"a.txt": []byte("a"), "model.safetensors": noise(100)})

	h.trick = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			http.Redirect(w, r, h.storage.URL+"/elsewhere", http.StatusFound)
			return true
		}
		return false
	}
	if _, err := snapshot(t, c, Request{}); err == nil || !strings.Contains(err.Error(),
		"/elsewhere: 403 Forbidden") {
		t.Errorf("got %v", err)
	}
	if len(h.leaks) > 0 {
		t.Errorf("the token went to another host: %q", h.leaks)
	}
}
