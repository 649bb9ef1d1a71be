package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
	"sort"
	"strings"
	"time"
	"unsafe"
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
	times      []int64  // nanoseconds per operation, of the last measured run
	barriers   int
	busy       *commands // submitted and not waited for
	closed     bool
}

// commands are the command buffers of one way to run a recording.
type commands struct {
	cbs     []unsafe.Pointer
	fences  []C.uint64_t
	first   []int // first operation of each buffer
	queries C.uint64_t
}

const (
	maxSubmission   = 300 * time.Millisecond // of measured time, far below any driver's watchdog
	unmeasuredBatch = 16                     // operations per submission before times are known
)

// Bytes returns the planned bytes of temporary tensors.
func (rec *Recording) Bytes() (n int64) {
	for _, s := range rec.sizes {
		n += s
	}
	return n
}

// Ops returns the number of operations.
func (rec *Recording) Ops() int { return len(rec.ops) }

// measures reports whether the first run must be timed to find where to cut submissions. CPU drivers have no watchdog.
func (rec *Recording) measures() bool {
	return rec.cuts == nil && rec.dev.canMeasure() && !rec.dev.Info.IsCPU && rec.dev.opt.forceCuts == 0
}

func (d *Device) canMeasure() bool { return d.Info.HasTimestamps }

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

// build records the command buffers of c, one per cut. Every buffer begins with a barrier, because submissions before it are
// not ordered in memory, and ends with one towards the host.
func (rec *Recording) build(c *commands, cuts []int, measure bool) error {
	d := rec.dev
	blocks, err := rec.arena.current()
	if err != nil {
		return err
	}
	n := len(cuts)
	*c = commands{cbs: make([]unsafe.Pointer, n), fences: make([]C.uint64_t, n), first: cuts}
	if measure {
		if r := C.vkd_queries(d.vk, C.uint32_t(len(rec.ops)+n), &c.queries); r != 0 {
			return vkError("vkCreateQueryPool", r)
		}
	}
	for k := range c.fences {
		if r := C.vkd_fence(d.vk, &c.fences[k]); r != 0 {
			return vkError("vkCreateFence", r)
		}
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
		if measure {
			s.add(C.VKOP_RESET, uint64(c.queries), uint64(from+k), uint64(to-from+1))
			s.add(C.VKOP_STAMP, uint64(c.queries), uint64(from+k))
		}
		if err := rec.segment(&s, blocks, h, from, to, transfers, c.queries, k); err != nil {
			return err
		}
		s.hostBarrier()
		if err := d.record(c.cbs[k], false, s); err != nil {
			return err
		}
	}
	return nil
}

// segment emits the operations from to to-1 as buffer k.
func (rec *Recording) segment(s *stream, blocks []*block, h *hazards, from, to int, transfers bool, queries C.uint64_t,
	k int) (err error) {
	var bound *pipeline
	for i := from; i < to; i++ {
		conflict := h.step(rec.uses(rec.ops[i])) && !rec.dev.opt.noBarriers
		if conflict || queries != 0 && i > from {
			s.barrier(transfers)
			rec.barriers++
		}
		if bound, err = rec.emit(s, blocks, i, bound); err != nil {
			return err
		}
		if queries != 0 {
			s.add(C.VKOP_STAMP, uint64(queries), uint64(i+1+k))
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

// Run submits the recording and waits for it.
func (rec *Recording) Run() error {
	if err := rec.Submit(); err != nil {
		return err
	}
	return rec.Wait()
}

// Submit starts the recording behind everything submitted before. A run of the same recording that is still going on is waited
// for first.
func (rec *Recording) Submit() error {
	if err := rec.Wait(); err != nil {
		return err
	}
	if err := rec.ready(); err != nil {
		return err
	}
	if rec.measures() {
		return rec.submit(&rec.measured, every(len(rec.ops), unmeasuredBatch), true)
	}
	cuts := rec.cuts
	if cuts == nil {
		cuts = rec.fixedCuts()
	}
	return rec.submit(&rec.final, cuts, false)
}

// ready checks that all memory still exists and binds again after the arena has grown.
func (rec *Recording) ready() error {
	switch {
	case rec.closed:
		return fmt.Errorf("the recording is closed")
	case rec.dev.lost.Load():
		return errLostBefore
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

func (rec *Recording) submit(c *commands, cuts []int, measure bool) error {
	d := rec.dev
	if len(c.cbs) == 0 {
		if err := rec.build(c, cuts, measure); err != nil {
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
			return rec.lostError(err)
		}
	}
	return nil
}

// Wait waits for the run that Submit started; without one it returns at once.
func (rec *Recording) Wait() error {
	c := rec.busy
	if c == nil {
		return nil
	}
	d := rec.dev
	if d.lost.Load() {
		return errLostBefore
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
	if c.queries != 0 {
		if err := rec.readTimes(c); err != nil {
			return err
		}
	}
	return d.validation("running a recording")
}

// readTimes turns the timestamps of a measured run into times per operation and cuts.
func (rec *Recording) readTimes(c *commands) error {
	stamps := make([]uint64, len(rec.ops)+len(c.first))
	if r := C.vkd_queries_get(rec.dev.vk, c.queries, C.uint32_t(len(stamps)), u64(stamps)); r != 0 {
		return rec.dev.lossError(vkError("vkGetQueryPoolResults", r), r)
	}
	rec.times = make([]int64, len(rec.ops))
	k := 0
	for i := range rec.ops {
		for k+1 < len(c.first) && c.first[k+1] <= i {
			k++
		}
		ticks := float64(stamps[i+1+k] - stamps[i+k])
		rec.times[i] = int64(ticks * rec.dev.Info.TimestampNanos)
	}
	if rec.cuts == nil && !rec.dev.Info.IsCPU {
		rec.cuts = cutByTime(rec.times, maxSubmission)
		rec.drop(&rec.final)
	}
	rec.drop(&rec.measured)
	return nil
}

// lostError lists the kernels that were in flight when the device was lost. Other errors pass.
func (rec *Recording) lostError(err error) error {
	if !rec.dev.lost.Load() || rec.busy == nil {
		return err
	}
	c := rec.busy
	done := 0
	for k, f := range c.fences {
		if C.vkd_fence_status(rec.dev.vk, f) == 0 && k+1 < len(c.first) {
			done = c.first[k+1]
		}
	}
	return fmt.Errorf("%w; in flight: %s", err, kernelList(rec.ops[done:]))
}

// kernelList counts the operations by name: "matmul x3, Fill".
func kernelList(ops []op) string {
	count := map[string]int{}
	var names []string
	for _, o := range ops {
		n := o.name()
		if count[n] == 0 {
			names = append(names, n)
		}
		count[n]++
	}
	const most = 20
	text := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		if count[n] > 1 {
			n = fmt.Sprintf("%s x%d", n, count[n])
		}
		text = append(text, n)
	}
	if len(names) > most {
		text = append(text, fmt.Sprintf("and %d more kernels", len(names)-most))
	}
	return strings.Join(text, ", ")
}

func (o op) name() string {
	switch o.kind {
	case opFill:
		return "Fill"
	case opCopy:
		return "Copy"
	}
	return o.pipe.prog.kernel.Name
}

// KernelTime sums the operations of one name in a profiled run.
type KernelTime struct {
	Name  string
	Count int
	Time  time.Duration
	Bytes int64 // bound for reading and writing; what the kernel touched may be less or more
}

// Profile runs the recording once with a barrier and a timestamp round every operation and returns the times by kernel, longest
// first. Kernels that normally overlap are slower this way.
func (rec *Recording) Profile() ([]KernelTime, error) {
	if !rec.dev.canMeasure() {
		return nil, fmt.Errorf("the device %s has no timestamps", rec.dev.Info.Name)
	}
	err := rec.Wait()
	if err == nil {
		err = rec.ready()
	}
	if err == nil {
		err = rec.submit(&rec.measured, every(len(rec.ops), unmeasuredBatch), true)
	}
	if err == nil {
		err = rec.Wait()
	}
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var list []KernelTime
	for i, o := range rec.ops {
		k, ok := at[o.name()]
		if !ok {
			k = len(list)
			at[o.name()], list = k, append(list, KernelTime{Name: o.name()})
		}
		list[k].Count++
		list[k].Time += time.Duration(rec.times[i])
		for _, u := range rec.uses(o) {
			if u.reads || u.writes {
				list[k].Bytes += u.to - u.from
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Time > list[j].Time })
	return list, nil
}

// Close waits for a run and frees the recording and, unless it is shared, its memory.
func (rec *Recording) Close() error {
	if rec.closed || rec.dev.vk == nil {
		return nil
	}
	err := rec.Wait()
	rec.dev.queueMu.Lock()
	delete(rec.dev.inflight, rec)
	rec.dev.queueMu.Unlock()
	rec.closed, rec.busy = true, nil
	rec.drop(&rec.final)
	rec.drop(&rec.measured)
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
