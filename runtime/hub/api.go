package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxListing bounds the answer that lists a repository; the largest ones have about 100,000 files.
const maxListing = 64 << 20

// listing is a repository at one commit.
type listing struct {
	commit string
	files  []string
}

// list asks which commit a revision is and which files it has.
func (c *Client) list(ctx context.Context, r repo, revision string) (l listing, err error) {
	address := c.opt.Endpoint + r.apiPath() + "/revision/" + url.PathEscape(revision)
	err = c.retry(ctx, func() error {
		l, err = c.listOnce(ctx, address)
		return err
	})
	return l, err
}

func (c *Client) listOnce(ctx context.Context, address string) (listing, error) {
	watched, feed, done := c.watch(ctx)
	defer done()
	resp, err := c.send(watched, http.MethodGet, address, nil, nil)
	if err != nil {
		return listing{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return listing{}, c.newStatusError(resp)
	}
	b, err := io.ReadAll(io.LimitReader(fedReader{resp.Body, feed, ctx, watched}, maxListing+1))
	if err != nil {
		return listing{}, fmt.Errorf("%s: %w", address, err)
	}
	if len(b) > maxListing {
		return listing{}, fmt.Errorf("%s: the list of files has more than %d bytes", address, maxListing)
	}
	l, err := parseListing(b)
	if err != nil {
		return listing{}, fmt.Errorf("%s: %w", address, err)
	}
	return l, nil
}

// parseListing reads and checks the Hub's description of a revision.
func parseListing(b []byte) (listing, error) {
	var info struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if err := json.Unmarshal(b, &info); err != nil {
		return listing{}, fmt.Errorf("the answer describes no repository: %w; check HF_ENDPOINT", err)
	}
	if !isCommit(info.SHA) {
		return listing{}, fmt.Errorf("the answer gives commit %q, want 40 hex digits; check HF_ENDPOINT",
			clip(info.SHA))
	}
	l := listing{commit: info.SHA}
	seen := map[string]bool{}
	for _, s := range info.Siblings {
		if err := checkFile(s.Name); err != nil {
			return listing{}, err
		}
		if seen[s.Name] {
			return listing{}, fmt.Errorf("the server lists the file %q twice", s.Name)
		}
		seen[s.Name] = true
		l.files = append(l.files, s.Name)
	}
	return l, nil
}

// remote is a file as its headers describe it.
type remote struct {
	name    string
	address string // at the endpoint, by commit; storage addresses behind it expire
	etag    string // hex: SHA-256 of the contents, or git's SHA-1 of the blob
	size    int64
}

// head asks for the hash and size of a file without downloading it.
func (c *Client) head(ctx context.Context, r repo, commit, name string) (f remote, err error) {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	address := c.opt.Endpoint + r.filePath() + "/resolve/" + commit + "/" + strings.Join(parts, "/")
	err = c.retry(ctx, func() error {
		f, err = c.headOnce(ctx, address, commit)
		f.name, f.address = name, address
		return err
	})
	return f, err
}

// headOnce follows redirects (a renamed repository, a mirror) up to the one to the storage: that redirect
// carries the headers that count, and the storage's own ETag means something else.
func (c *Client) headOnce(ctx context.Context, address, commit string) (remote, error) {
	watched, _, done := c.watch(ctx)
	defer done()
	resp, err := c.send(watched, http.MethodHead, address, nil, func(r *http.Response) bool {
		return r.Header.Get("X-Linked-Etag") != "" && r.Header.Get("X-Linked-Size") != ""
	})
	if err != nil {
		return remote{}, err
	}
	resp.Body.Close()
	if resp.StatusCode >= 400 {
		return remote{}, c.newStatusError(resp)
	}
	f, err := parseHead(resp.Header, resp.StatusCode, commit)
	if err != nil {
		return remote{}, fmt.Errorf("%s: %w", address, err)
	}
	return f, nil
}

// parseHead reads commit, hash and size out of the headers.
func parseHead(h http.Header, status int, commit string) (remote, error) {
	got := h.Get("X-Repo-Commit")
	if got == "" {
		return remote{}, errors.New("the answer has no X-Repo-Commit, so it comes from no Hub: " +
			"check HF_ENDPOINT and proxies")
	}
	if got != commit {
		return remote{}, fmt.Errorf("the server answers for commit %s, want %s: the repository changed; "+
			"start again", clip(got), commit)
	}
	etag, size := h.Get("X-Linked-Etag"), h.Get("X-Linked-Size")
	if etag == "" {
		etag = h.Get("ETag")
	}
	if size == "" && status/100 == 2 {
		size = h.Get("Content-Length")
	}
	f := remote{etag: strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)}
	if !isHex(f.etag, 64) && !isHex(f.etag, 40) {
		return remote{}, fmt.Errorf("the ETag is %q, want a SHA-256 or a git SHA-1, without which the file "+
			"cannot be checked", clip(etag))
	}
	var err error
	if f.size, err = strconv.ParseInt(size, 10, 64); err != nil || f.size < 0 {
		return remote{}, fmt.Errorf("the size is %q, want a number of bytes", clip(size))
	}
	return f, nil
}
