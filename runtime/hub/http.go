package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const maxRedirects = 10

// errStalled is the cause of a context that watch ended.
var errStalled = errors.New("the connection stalls")

// origin is scheme, host and port of a URL, in one spelling.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func sameOrigin(a, b *url.URL) bool { return origin(a) == origin(b) }

// send makes one request and follows redirects by itself: the token goes along only to the endpoint's own
// origin, and never from https to http. Where stop says so, the redirect itself is the answer. The caller
// closes the body. Network errors are transient; the status is the caller's to judge.
func (c *Client) send(ctx context.Context, method, address string, header http.Header,
	stop func(*http.Response) bool) (*http.Response, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	for range maxRedirects {
		resp, err := c.hop(ctx, method, u, header)
		if err != nil {
			return nil, err
		}
		next, err := redirect(resp)
		if err != nil || next == nil || stop != nil && stop(resp) {
			if err != nil {
				resp.Body.Close()
			}
			return resp, err
		}
		resp.Body.Close()
		u = next
	}
	return nil, fmt.Errorf("%s: more than %d redirects", bare(u), maxRedirects)
}

// hop makes one request, without following anything.
func (c *Client) hop(ctx context.Context, method string, u *url.URL, header http.Header) (
	*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", userAgent())
	req.Header.Set("Accept-Encoding", "identity")
	if c.opt.Token != "" && sameOrigin(u, c.endpoint) {
		req.Header.Set("Authorization", "Bearer "+c.opt.Token)
	}
	resp, err := c.http.Do(req)
	if err == nil {
		return resp, nil
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the address, which may be signed
	}
	err = fmt.Errorf("%s %s: %w", method, bare(u), err)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStalled) {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return nil, transient{err}
}

// redirect returns where an answer sends the client, or nil for an answer that stays.
func redirect(r *http.Response) (*url.URL, error) {
	switch r.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	from := r.Request.URL
	next, err := from.Parse(r.Header.Get("Location"))
	switch {
	case r.Header.Get("Location") == "" || err != nil:
		return nil, fmt.Errorf("%s: %d without a readable Location", bare(from), r.StatusCode)
	case next.Scheme != "https" && next.Scheme != "http" || next.Host == "":
		return nil, fmt.Errorf("%s: redirect to %q is not followed, want http or https",
			bare(from), bare(next))
	case from.Scheme == "https" && next.Scheme == "http":
		return nil, fmt.Errorf("%s: redirect to unencrypted %s is not followed", bare(from), bare(next))
	}
	return next, nil
}

// pause waits before try number try+1 after err, or returns err where another try is no use: the error is
// final, the tries are used up, or the server asks for too long a wait.
func (c *Client) pause(ctx context.Context, err error, try int) error {
	asked, ok := mayRetry(err)
	if !ok {
		return err
	}
	if try >= c.opt.Retries {
		return fmt.Errorf("%w (given up after %d tries)", err, try+1)
	}
	if asked > c.opt.MaxWait {
		return fmt.Errorf("%w (the server asks to wait %v)", err, asked)
	}
	wait := min(c.opt.Backoff<<min(try, 10), 30*time.Second)
	wait += rand.N(wait/4 + 1) // so that many clients do not come back at once
	timer := time.NewTimer(max(wait, asked))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), err)
	}
}

// retry calls f until it succeeds or pause gives up.
func (c *Client) retry(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		if err == nil {
			return nil
		}
		if err := c.pause(ctx, err, try); err != nil {
			return err
		}
	}
}

// watch gives a request a context that ends when feed was not called for StallTimeout.
func (c *Client) watch(ctx context.Context) (watched context.Context, feed func(), done func()) {
	watched, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.opt.StallTimeout, func() {
		cancel(fmt.Errorf("%w: no byte came for %v", errStalled, c.opt.StallTimeout))
	})
	return watched, func() { timer.Reset(c.opt.StallTimeout) }, func() { timer.Stop(); cancel(nil) }
}

// fedReader reports each arrival of bytes, and marks what breaks a transfer as transient unless the caller
// itself gave up.
type fedReader struct {
	r     io.Reader
	feed  func()
	outer context.Context // the caller's
	inner context.Context // the watched one
}

func (f fedReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if n > 0 {
		f.feed()
	}
	if err != nil && err != io.EOF {
		switch {
		case f.outer.Err() != nil:
			err = context.Cause(f.outer)
		case f.inner.Err() != nil:
			err = transient{context.Cause(f.inner)}
		default:
			err = transient{err}
		}
	}
	return n, err
}
