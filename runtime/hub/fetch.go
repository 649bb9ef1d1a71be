package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// incomplete is the suffix of a blob that is being written. Such a file always holds the blob's first bytes
// without gaps, so that its length is where to go on.
const incomplete = ".incomplete"

// progressStep is how much must arrive before a broken transfer counts as a new first try.
const progressStep = 1 << 20

// errNoRange says that the server does not answer range requests as it should.
var errNoRange = errors.New("the server does not send the range that was asked for")

// blob is one download.
type blob struct {
	remote
	path  string // where it becomes visible
	meter *meter
}

func (b blob) progress(done int64) { b.meter.set(b.name, done, b.size) }

// fetch brings a blob into the cache, under the lock that keeps other processes from writing it too. When the
// hash is wrong, it is downloaded once more from the start.
func (c *Client) fetch(ctx context.Context, s store, b blob) error {
	unlock, err := s.lock(ctx, b.etag)
	if err != nil {
		return err
	}
	defer unlock()
	if size(b.path) == b.size {
		return nil
	}
	for range 2 {
		if err = c.fill(ctx, b); err != nil {
			return err
		}
		if err = verify(b.path+incomplete, b.etag, b.size); err == nil {
			return os.Rename(b.path+incomplete, b.path)
		}
		if e := os.Remove(b.path + incomplete); e != nil {
			return errors.Join(err, e)
		}
		b.progress(0)
	}
	return err
}

// fill completes the incomplete file, in several tries, and syncs it to the disk.
func (c *Client) fill(ctx context.Context, b blob) error {
	f, err := os.OpenFile(b.path+incomplete, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	w := &writer{f: f, blob: b}
	if err := w.start(); err != nil {
		return err
	}
	ranges := true
	for try := 0; w.at < b.size; try++ {
		before := w.at
		if ranges && b.size-w.at > 2*c.segment {
			err = c.segments(ctx, w)
		} else {
			err = c.stream(ctx, w, ranges)
		}
		if errors.Is(err, errNoRange) && ranges {
			ranges = false // from the start, in one piece
			err = w.rewind()
		}
		if err == nil {
			continue
		}
		if w.at >= before+progressStep {
			try = 0
		}
		if err := c.pause(ctx, err, try); err != nil {
			return err
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

// writer appends to an incomplete file.
type writer struct {
	f *os.File
	blob
	at int64 // bytes written without gap
}

// start goes to the end of what is there. More than there can be is of no use.
func (w *writer) start() error {
	st, err := w.f.Stat()
	if err != nil {
		return err
	}
	if w.at = st.Size(); w.at > w.size {
		return w.rewind()
	}
	w.progress(w.at)
	_, err = w.f.Seek(w.at, io.SeekStart)
	return err
}

// rewind throws away what is there.
func (w *writer) rewind() error {
	w.at = 0
	w.progress(0)
	_, err := w.f.Seek(0, io.SeekStart)
	return errors.Join(err, w.f.Truncate(0))
}

// Write appends, and refuses bytes past the expected size.
func (w *writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.size-w.at {
		return 0, transient{fmt.Errorf("the server sends more than the %d bytes it announced", w.size)}
	}
	n, err := w.f.Write(p)
	w.at += int64(n)
	w.progress(w.at)
	return n, err
}

// stream fetches the rest in one request, from the start if ranges are no use.
func (c *Client) stream(ctx context.Context, w *writer, ranges bool) error {
	if !ranges && w.at > 0 {
		if err := w.rewind(); err != nil {
			return err
		}
	}
	watched, feed, done := c.watch(ctx)
	defer done()
	body, whole, err := c.get(watched, w.remote, w.at, w.size)
	if err != nil {
		return err
	}
	defer body.Close()
	if whole && w.at > 0 {
		if err := w.rewind(); err != nil {
			return err
		}
	}
	if _, err := io.Copy(w, fedReader{body, feed, ctx, watched}); err != nil {
		return err
	}
	if w.at < w.size {
		return transient{fmt.Errorf("the connection ended after %d of %d bytes", w.at, w.size)}
	}
	return nil
}

// get opens bytes from to to of a file. whole says that the server sends all of it instead. Every try starts
// at the endpoint, because the storage address it redirects to expires.
func (c *Client) get(ctx context.Context, r remote, from, to int64) (
	body io.ReadCloser, whole bool, err error) {
	header := http.Header{}
	asked := from > 0 || to < r.size
	if asked {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	}
	resp, err := c.send(ctx, http.MethodGet, r.address, header, nil)
	if err != nil {
		return nil, false, err
	}
	var want int64
	switch {
	case resp.StatusCode == http.StatusOK:
		whole, want = true, r.size
	case resp.StatusCode == http.StatusPartialContent && asked:
		want = to - from
		if got := resp.Header.Get("Content-Range"); got != fmt.Sprintf("bytes %d-%d/%d", from, to-1, r.size) {
			err = fmt.Errorf("%w: asked for bytes %d-%d/%d, got %q",
				errNoRange, from, to-1, r.size, clip(got))
		}
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable,
		resp.StatusCode == http.StatusPartialContent:
		err = fmt.Errorf("%w: asked for bytes %d-%d/%d, got status %d",
			errNoRange, from, to-1, r.size, resp.StatusCode)
	case resp.StatusCode < 400:
		err = fmt.Errorf("%s: unexpected answer %s", bare(resp.Request.URL), resp.Status)
	default:
		err = c.newStatusError(resp)
	}
	if err == nil && resp.ContentLength >= 0 && resp.ContentLength != want {
		err = transient{fmt.Errorf("%s: the server sends %d bytes, want %d", bare(resp.Request.URL),
			resp.ContentLength, want)}
	}
	if err != nil {
		resp.Body.Close()
		return nil, false, err
	}
	return resp.Body, whole, nil
}
