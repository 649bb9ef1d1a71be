package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
	"time"
)

// Recording is a finished sequence of operations that can be run any number of times.
type Recording struct {
	dev        *Device
	ops        []op
	bufs       []use
	words      []uint32
	sizes      []int64
	persistent []*storage
	arena      *Arena
	ownArena   bool
	gen        int   // generation of the arena that is bound
	checked    int64 // Device.released when the persistent tensors were last looked at
	pools      []uint64
	sets       []uint64 // per operation
	final      commands // runs
	measured   commands // the first run and profiles: a barrier and a timestamp round every operation
	cuts       []int    // first operation of each submission, from measured times
	timed      commands // runs with timestamps at the ends
	times      []int64  // nanoseconds per operation, of the last measured run
	total      int64    // nanoseconds, of the last timed run
	barriers   int
	busy       *commands // submitted and not waited for
	closed     bool
}

const (
	maxSubmission   = 300 * time.Millisecond // of measured time, far below any driver's watchdog
	unmeasuredBatch = 4                      // operations per submission before times are known
)

// Bytes returns the planned bytes of temporary tensors.
func (rec *Recording) Bytes() (n int64) {
	for _, s := range rec.sizes {
		n += s
	}
	return n
}

// Barriers returns the number of barriers between operations, as the recording was last built.
func (rec *Recording) Barriers() int { return rec.barriers }

// Ops returns the number of operations.
func (rec *Recording) Ops() int { return len(rec.ops) }

// Run submits the recording and waits for it.
func (rec *Recording) Run() error {
	if err := rec.Submit(); err != nil {
		return err
	}
	return rec.Wait()
}

// Submit starts the recording behind everything submitted before. A run of the same recording that is still
// going on is waited for first.
func (rec *Recording) Submit() error {
	if err := rec.Wait(); err != nil {
		return err
	}
	if err := rec.ready(); err != nil {
		return err
	}
	if rec.measures() {
		return rec.submit(&rec.measured, every(len(rec.ops), unmeasuredBatch), stampsEach)
	}
	return rec.submit(&rec.final, rec.finalCuts(), noStamps)
}

// ready checks that all memory still exists and binds again after the arena has grown.
func (rec *Recording) ready() error {
	switch {
	case rec.closed:
		return fmt.Errorf("the recording is closed")
	case rec.dev.usable() != nil:
		return rec.dev.usable()
	}
	if n := rec.dev.released.Load(); n != rec.checked {
		for _, st := range rec.persistent {
			if st.dead {
				return fmt.Errorf("the recording uses %v, which was released", st)
			}
		}
		rec.checked = n
	}
	if rec.gen != rec.arena.gen {
		return rec.bind()
	}
	return nil
}

func (rec *Recording) submit(c *commands, cuts []int, mode stamping) error {
	d := rec.dev
	if len(c.cbs) == 0 {
		if err := rec.build(c, cuts, mode); err != nil {
			rec.drop(c)
			return err
		}
	}
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	rec.busy = c
	d.inflight[rec] = true
	for k, cb := range c.cbs {
		if err := d.submit(cb, c.fences[k]); err != nil {
			err = rec.lostError(err)
			rec.abandon(c, k)
			return err
		}
	}
	return nil
}

// abandon waits for the k buffers of c that were submitted before one failed; queueMu is held.
func (rec *Recording) abandon(c *commands, k int) {
	C.vkd_idle(rec.dev.vk)
	for _, f := range c.fences[:k] {
		C.vkd_fence_reset(rec.dev.vk, f)
	}
	rec.busy = nil
	delete(rec.dev.inflight, rec)
}

// Wait waits for the run that Submit started; without one it returns at once.
func (rec *Recording) Wait() error {
	c := rec.busy
	if c == nil {
		return nil
	}
	d := rec.dev
	if err := d.usable(); err != nil {
		return err
	}
	for _, f := range c.fences {
		if err := d.await(f); err != nil {
			return rec.lostError(err)
		}
	}
	d.queueMu.Lock()
	delete(d.inflight, rec)
	d.queueMu.Unlock()
	rec.busy = nil
	if c.mode != noStamps {
		if err := rec.readTimes(c); err != nil {
			return err
		}
	}
	return d.validation("running a recording")
}

// Close waits for a run and frees the recording and, unless it is shared, its memory.
func (rec *Recording) Close() error {
	if rec.closed || rec.dev.vk == nil {
		return nil
	}
	err := rec.Wait()
	rec.dev.queueMu.Lock()
	delete(rec.dev.inflight, rec)
	delete(rec.dev.recordings, rec)
	rec.dev.queueMu.Unlock()
	rec.closed, rec.busy = true, nil
	rec.drop(&rec.final)
	rec.drop(&rec.measured)
	rec.drop(&rec.timed)
	for _, p := range rec.pools {
		C.vkd_sets_pool_destroy(rec.dev.vk, C.uint64_t(p))
	}
	rec.pools = nil
	rec.arena.users--
	if rec.ownArena {
		rec.arena.release()
	}
	return err
}
