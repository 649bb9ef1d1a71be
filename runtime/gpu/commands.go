package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// commands are the command buffers of one way to run a recording.
type commands struct {
	cbs     []unsafe.Pointer
	fences  []C.uint64_t
	first   []int // first operation of each buffer
	mode    stamping
	queries C.uint64_t
	stamps  int // number of queries
}

// stamping tells where timestamps stand.
type stamping uint8

const (
	noStamps   stamping = iota
	stampsEnds          // at the beginning and the end of each buffer: 2k and 2k+1 for buffer k
	stampsEach          // at the beginning of buffer k: first[k]+k; after operation i, behind a barrier: i+1+k
)

// measures reports whether the first run must be timed to find where to cut submissions. CPU drivers have
// no watchdog.
func (rec *Recording) measures() bool {
	return rec.cuts == nil && rec.dev.canMeasure() && !rec.dev.Info.IsCPU && rec.dev.opt.forceCuts == 0
}

func (d *Device) canMeasure() bool { return d.Info.HasTimestamps }

// finalCuts returns the first operation of each submission: by measured time where there is one.
func (rec *Recording) finalCuts() []int {
	if rec.cuts != nil {
		return rec.cuts
	}
	return rec.fixedCuts()
}

// fixedCuts cuts without times: not at all on CPUs, after every few operations on GPUs without timestamps.
func (rec *Recording) fixedCuts() []int {
	switch {
	case rec.dev.opt.forceCuts > 0:
		return every(len(rec.ops), rec.dev.opt.forceCuts)
	case rec.dev.Info.IsCPU:
		return []int{0}
	}
	return every(len(rec.ops), unmeasuredBatch)
}

func every(n, step int) []int {
	cuts := []int{0}
	for at := step; at < n; at += step {
		cuts = append(cuts, at)
	}
	return cuts
}

// cutByTime starts a new submission before the operation that would take the running one over limit.
func cutByTime(times []int64, limit time.Duration) []int {
	cuts, sum := []int{0}, int64(0)
	for i, t := range times {
		if sum+t > int64(limit) && i > 0 && sum > 0 {
			cuts, sum = append(cuts, i), 0
		}
		sum += t
	}
	return cuts
}

// build records the command buffers of c, one per cut. Every buffer begins with a barrier, because
// submissions before it are not ordered in memory, and ends with one towards the host.
func (rec *Recording) build(c *commands, cuts []int, mode stamping) error {
	d := rec.dev
	blocks, err := rec.arena.current()
	if err != nil {
		return err
	}
	n := len(cuts)
	if err := rec.prepare(c, cuts, mode); err != nil {
		return err
	}
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if r := C.vkd_cmds(d.vk, d.pool, C.uint32_t(n), &c.cbs[0]); r != 0 {
		return vkError("vkAllocateCommandBuffers", r)
	}
	transfers := false
	for _, o := range rec.ops {
		transfers = transfers || o.kind != opDispatch
	}
	rec.barriers = 0
	h := newHazards()
	for k, from := range cuts {
		to := len(rec.ops)
		if k+1 < n {
			to = cuts[k+1]
		}
		s := make(stream, 0, 16*(to-from)+16)
		s.barrier(true)
		h.clear()
		switch mode {
		case stampsEach:
			s.add(C.VKOP_RESET, uint64(c.queries), uint64(from+k), uint64(to-from+1))
			s.add(C.VKOP_STAMP, uint64(c.queries), uint64(from+k))
		case stampsEnds:
			s.add(C.VKOP_RESET, uint64(c.queries), uint64(2*k), 2)
			s.add(C.VKOP_STAMP, uint64(c.queries), uint64(2*k))
		}
		if err := rec.segment(&s, blocks, h, from, to, transfers, c, k); err != nil {
			return err
		}
		if mode == stampsEnds {
			s.add(C.VKOP_STAMP, uint64(c.queries), uint64(2*k+1))
		}
		s.hostBarrier()
		if err := d.record(c.cbs[k], false, s); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the queries and fences of c.
func (rec *Recording) prepare(c *commands, cuts []int, mode stamping) error {
	d, n := rec.dev, len(cuts)
	*c = commands{cbs: make([]unsafe.Pointer, n), fences: make([]C.uint64_t, n), first: cuts,
		mode: mode}
	switch mode {
	case stampsEach:
		c.stamps = len(rec.ops) + n
	case stampsEnds:
		c.stamps = 2 * n
	}
	if c.stamps > 0 {
		if r := C.vkd_queries(d.vk, C.uint32_t(c.stamps), &c.queries); r != 0 {
			return vkError("vkCreateQueryPool", r)
		}
	}
	for k := range c.fences {
		if r := C.vkd_fence(d.vk, &c.fences[k]); r != 0 {
			return vkError("vkCreateFence", r)
		}
	}
	return nil
}

// segment emits the operations from to to-1 as buffer k.
func (rec *Recording) segment(s *stream, blocks []*block, h *hazards, from, to int, transfers bool,
	c *commands, k int) (err error) {
	var bound *pipeline
	for i := from; i < to; i++ {
		conflict := h.step(rec.uses(rec.ops[i])) && !rec.dev.opt.noBarriers
		if conflict || c.mode == stampsEach && i > from {
			s.barrier(transfers)
			rec.barriers++
		}
		if bound, err = rec.emit(s, blocks, i, bound); err != nil {
			return err
		}
		if c.mode == stampsEach {
			s.add(C.VKOP_STAMP, uint64(c.queries), uint64(i+1+k))
		}
	}
	return nil
}

// drop frees the command buffers of c.
func (rec *Recording) drop(c *commands) {
	d := rec.dev
	for _, f := range c.fences {
		if f != 0 {
			C.vkd_fence_destroy(d.vk, f)
		}
	}
	if len(c.cbs) > 0 && c.cbs[0] != nil {
		d.queueMu.Lock()
		C.vkd_cmds_free(d.vk, d.pool, C.uint32_t(len(c.cbs)), &c.cbs[0])
		d.queueMu.Unlock()
	}
	if c.queries != 0 {
		C.vkd_queries_destroy(d.vk, c.queries)
	}
	*c = commands{}
}
