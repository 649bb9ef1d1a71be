package hub

import (
	"context"
	"fmt"
	"io"
)

// segment is a part of a file on its way.
type segment struct {
	from, to int64
	data     []byte
	err      error
	ready    chan struct{} // closed when data or err is set
}

// segments fetches the rest of a large file by several range requests at a time. They are written in
// order, so that the incomplete file never has gaps. Memory is bounded over all files: a segment holds
// one of the client's buffers from before its request until it is written. As buffers are taken in order,
// the segment that is to be written next always has one, and no two files can wait for each other.
func (c *Client) segments(outer context.Context, w *writer) error {
	ctx, cancel := context.WithCancel(outer)
	queue := make(chan *segment, segmentsPerFile-1) // one more is in the hand of the loop below
	go c.dispatch(ctx, w.remote, w.at, queue)
	var failed error
	for s := range queue { // to its end, also after an error: every segment gives its buffer back
		<-s.ready
		if failed == nil {
			if failed = s.err; failed == nil {
				_, failed = w.Write(s.data)
			}
			if failed != nil {
				cancel()
			}
		}
		s.data = nil
		<-c.buffers
	}
	cancel()
	if failed == nil {
		failed = context.Cause(outer) // then the last segments were not even started
	}
	return failed
}

// dispatch starts the segments from byte at on, and closes queue after the last one.
func (c *Client) dispatch(ctx context.Context, r remote, at int64, queue chan<- *segment) {
	defer close(queue)
	for at < r.size && ctx.Err() == nil {
		select {
		case c.buffers <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s := &segment{from: at, to: min(at+c.segment, r.size), ready: make(chan struct{})}
		at = s.to
		go func() {
			defer close(s.ready)
			s.data = make([]byte, 0, s.to-s.from)
			s.err = c.fetchSegment(ctx, r, s)
		}()
		queue <- s
	}
}

// fetchSegment fills a segment, in several tries, each going on where the last one stopped.
func (c *Client) fetchSegment(ctx context.Context, r remote, s *segment) error {
	for try := 0; ; try++ {
		before := len(s.data)
		err := c.fetchPart(ctx, r, s)
		if err == nil {
			return nil
		}
		if len(s.data) >= before+progressStep {
			try = 0
		}
		if err := c.pause(ctx, err, try); err != nil {
			return err
		}
	}
}

// fetchPart requests what a segment still lacks.
func (c *Client) fetchPart(ctx context.Context, r remote, s *segment) error {
	watched, feed, done := c.watch(ctx)
	defer done()
	body, whole, err := c.get(watched, r, s.from+int64(len(s.data)), s.to)
	if err != nil {
		return err
	}
	defer body.Close()
	if whole {
		return fmt.Errorf("%w: it sends the whole file", errNoRange)
	}
	have := len(s.data)
	n, err := io.ReadFull(fedReader{body, feed, ctx, watched}, s.data[have:cap(s.data)])
	s.data = s.data[:have+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = transient{fmt.Errorf("the connection ended %d bytes early", cap(s.data)-len(s.data))}
	}
	return err
}
