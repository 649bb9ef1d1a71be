package model

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// chunk is how many elements are converted at a time.
const chunk = 1 << 16

// inChunks calls f for ranges [at, at+n) that cover [0, total), several at a time. Ranges start at multiples of chunk,
// so that what f does does not depend on the number of processors.
func inChunks(total int, f func(at, n int) error) error {
	if total <= chunk {
		return f(0, total)
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for at := 0; at < total; at += chunk {
		g.Go(func() error { return f(at, min(chunk, total-at)) })
	}
	return g.Wait()
}
