package hub

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The kinds of failure that a program may want to tell apart, by errors.Is.
var (
	ErrUnauthorized = errors.New("no access")        // no or wrong token, or a private or missing repository
	ErrGated        = errors.New("gated repository") // its terms were not accepted with this account
	ErrNotFound     = errors.New("not found")        // repository, revision or file
	ErrOffline      = errors.New("not in the cache") // offline, and the cache lacks it
	ErrPickle       = errors.New("pickled weights")  // only pickles match, and they were not named
	ErrDamaged      = errors.New("damaged download") // wrong length or hash, again after another try
	ErrNoSpace      = errors.New("not enough space") // on the cache's disk
)

// StatusError is an HTTP answer that is no success.
type StatusError struct {
	URL     string // without query: a signed address is a credential
	Status  int
	Code    string // X-Error-Code
	Message string // X-Error-Message
	advice  string
	kind    error
	retry   time.Duration // Retry-After
}

// Error says what was asked, what the server answered and what to do about it.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("%s: %d %s", e.URL, e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		s += fmt.Sprintf(" (%s)", e.Message)
	}
	if e.advice != "" {
		s += ": " + e.advice
	}
	return s
}

// Unwrap returns ErrUnauthorized, ErrGated, ErrNotFound or nil.
func (e *StatusError) Unwrap() error { return e.kind }

// newStatusError reads an unsuccessful answer.
func (c *Client) newStatusError(r *http.Response) *StatusError {
	e := &StatusError{
		URL: bare(r.Request.URL), Status: r.StatusCode,
		Code: r.Header.Get("X-Error-Code"), Message: clip(r.Header.Get("X-Error-Message")),
		retry: max(retryAfter(r.Header.Get("Retry-After"), time.Now()), rateLimit(r.Header.Get("RateLimit"))),
	}
	if sameOrigin(r.Request.URL, c.endpoint) {
		e.advice, e.kind = c.advise(e)
	}
	return e
}

// advise tells what to do about an answer of the endpoint itself.
//
// Source: huggingface_hub, utils/_http.py (which code means what).
func (c *Client) advise(e *StatusError) (string, error) {
	account := "create a token in the settings of your account on " + c.opt.Endpoint +
		" and put it into HF_TOKEN or the token file"
	switch {
	case e.Code == "GatedRepo" && c.opt.Token == "":
		return "the repository is gated: accept its terms on its page, then " + account, ErrGated
	case e.Code == "GatedRepo":
		return "the repository is gated and this token's account has no access: accept its terms on its " +
			"page and wait for its owner's consent if it asks for that", ErrGated
	case e.Code == "RevisionNotFound":
		return "the repository has no such branch, tag or commit", ErrNotFound
	case e.Code == "EntryNotFound":
		return "the repository has no such file at this revision", ErrNotFound
	case e.Status == http.StatusUnauthorized && c.opt.Token == "":
		return "the repository is private or does not exist: check its name; if it is private, " + account,
			ErrUnauthorized
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden && c.opt.Token != "":
		return "the token is wrong, out of date or may not read this repository: check the repository's " +
			"name, then " + account, ErrUnauthorized
	case e.Status == http.StatusForbidden:
		return "the server refuses access: " + account, ErrUnauthorized
	case e.Status == http.StatusNotFound:
		return "check the names of repository, type and revision, and HF_ENDPOINT if it is set; a private " +
			"repository needs a token of an account that may read it (HF_TOKEN)", ErrNotFound
	case e.Status == http.StatusTooManyRequests:
		return "the server limits the number of requests: wait and start again (what was " +
			"downloaded is kept)", nil
	}
	return "", nil
}

// transient marks an error that another try may cure.
type transient struct{ error }

func (t transient) Unwrap() error { return t.error }

// mayRetry reports whether another try may help, and how long the server asks to wait before.
func mayRetry(err error) (wait time.Duration, ok bool) {
	var s *StatusError
	if errors.As(err, &s) {
		switch s.Status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return s.retry, true
		}
		return 0, false
	}
	var t transient
	return 0, errors.As(err, &t)
}

// retryAfter reads a number of seconds or a date; 0 where there is none.
func retryAfter(h string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(h); err == nil && n > 0 {
		return time.Duration(min(n, 1<<30)) * time.Second
	}
	if t, err := http.ParseTime(h); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

// rateLimit reads the seconds until the Hub's limit is reset: "api";r=0;t=55.
//
// Source: draft-ietf-httpapi-ratelimit-headers.
func rateLimit(h string) time.Duration {
	if !strings.Contains(h, ";r=0") {
		return 0
	}
	_, t, _ := strings.Cut(h, ";t=")
	t, _, _ = strings.Cut(t, ";")
	n, _ := strconv.Atoi(t)
	return time.Duration(min(max(n, 0), 1<<30)) * time.Second
}

// bare is a URL without query, fragment and user: what may be shown.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// clip keeps a server's text short in messages.
func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}
