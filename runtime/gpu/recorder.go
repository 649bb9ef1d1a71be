package gpu

import (
	"fmt"
	"slices"
)

// Recorder collects operations and plans the memory of temporary tensors. No device memory exists before
// Finish. Errors are sticky: the first one is kept (Err), and everything after it does nothing.
type Recorder struct {
	dev      *Device
	err      error
	plan     plan
	arena    *Arena
	storages []*storage
	events   int // Allocs and last Frees so far
	ops      []op
	bufs     []use
	words    []uint32
	finished bool
	done     *Recording
}

// op is one recorded operation; its slices are ranges of the recorder's buffers, to keep recording cheap.
type op struct {
	kind     opKind
	groups   [3]uint32
	pipe     *pipeline
	firstBuf int
	bufs     int
	firstArg int // push constants, or the word of a fill
	args     int
	flops    int64
}

type opKind uint8

const (
	opDispatch opKind = iota
	opFill
	opCopy // bufs: source, destination
)

// use is a byte range that an operation reads or writes.
type use struct {
	st            *storage
	from, to      int64 // bytes in the storage
	reads, writes bool
}

// NewRecorder starts an empty recording.
func (d *Device) NewRecorder() *Recorder {
	return &Recorder{dev: d, plan: plan{limit: min(maxBlock, d.Info.MaxAllocation&^(allocAlign-1))}}
}

// Device returns the device that r records for.
func (r *Recorder) Device() *Device { return r.dev }

// UseArena lets Finish place the temporary tensors in a, which recordings that never run at the same time
// may share.
func (r *Recorder) UseArena(a *Arena) {
	if a != nil && a.dev != r.dev {
		r.fail("UseArena: the arena belongs to another device")
		return
	}
	r.arena = a
}

// Err returns the first error.
func (r *Recorder) Err() error { return r.err }

// Fail makes err the recorder's error unless it has one: for layers above that find bad arguments while
// recording.
func (r *Recorder) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *Recorder) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// Peak returns the bytes that Finish would allocate for temporary tensors.
func (r *Recorder) Peak() int64 { return r.plan.bytes() }

// Largest describes the n largest temporary tensors that are alive when the planned bytes are highest, with
// their bytes.
func (r *Recorder) Largest(n int) []string { return largest(r.peakStorages(), n) }

// Flops says that the last recorded operation does n floating-point operations, for profiles.
func (r *Recorder) Flops(n int64) {
	if r.err == nil && len(r.ops) > 0 {
		r.ops[len(r.ops)-1].flops = n
	}
}

// Ops returns the number of operations recorded so far.
func (r *Recorder) Ops() int { return len(r.ops) }

// Alloc plans a tensor with one reference. Its contents are undefined.
func (r *Recorder) Alloc(t DType, dims ...int) Tensor {
	shape := append([]int(nil), dims...)
	size, err := shapeBytes(t, dims)
	if err == nil && r.finished {
		err = errFinished
	}
	if err != nil {
		r.fail("Alloc: %w", err)
	}
	if r.err != nil {
		return Tensor{Type: t, Shape: shape}
	}
	st := &storage{kind: planned, dev: r.dev, typ: t, shape: shape, bytes: size, rec: r, refs: 1,
		born: r.events, died: -1}
	r.events++
	st.slot, st.at = r.plan.take(size)
	r.storages = append(r.storages, st)
	return Tensor{Type: t, Shape: shape, st: st}
}

var errFinished = fmt.Errorf("the recorder is finished; start another")

// Retain adds a reference to a planned tensor, for an alias or a view that is freed on its own, and returns
// t.
func (r *Recorder) Retain(t Tensor) Tensor {
	if r.err == nil && t.st != nil && t.st.kind == planned && r.mine("Retain", t) {
		t.st.refs++
	}
	return t
}

// Free drops one reference of each tensor; at zero references later Allocs may reuse the bytes. Persistent
// tensors and the zero Tensor are ignored. One Free too many is an error.
func (r *Recorder) Free(ts ...Tensor) {
	for _, t := range ts {
		if r.err != nil || t.st == nil || t.st.kind != planned || !r.mine("Free", t) {
			continue
		}
		t.st.refs--
		if t.st.refs == 0 {
			t.st.died = r.events
			r.events++
			r.plan.give(t.st.slot, t.st.at, t.st.bytes)
		}
	}
}

// mine checks that a planned tensor belongs to r and still has references.
func (r *Recorder) mine(what string, t Tensor) bool {
	switch {
	case r.finished:
		r.fail("%s of %v: %w", what, t, errFinished)
	case t.st.rec != r:
		r.fail("%s of %v: the tensor belongs to another recorder", what, t.st)
	case t.st.refs <= 0:
		r.fail("%s of %v: it was freed before; every Alloc and Retain allows one Free", what, t.st)
	}
	return r.err == nil
}

// check reports whether t may be used by an operation called what.
func (r *Recorder) check(what string, t Tensor) error {
	st := t.st
	switch {
	case t.err != nil:
		return fmt.Errorf("%s: %w", what, t.err)
	case st == nil:
		return nil
	case st.dev != r.dev:
		return fmt.Errorf("%s: %v belongs to another device", what, t)
	case st.kind != planned && st.dead:
		return fmt.Errorf("%s: %v was released", what, t)
	case st.kind != planned:
		return nil
	case st.rec != r:
		return fmt.Errorf("%s: %v belongs to another recorder; tensors shared by recordings must be persistent",
			what, st)
	case st.refs <= 0:
		return fmt.Errorf("%s: %v was freed before this use", what, st)
	}
	return nil
}

// Fill sets all of t to a 32-bit word. A view must begin and end at multiples of 4 bytes.
func (r *Recorder) Fill(t Tensor, word uint32) {
	if r.err != nil || r.closed("Fill") {
		return
	}
	if err := r.check("Fill", t); err != nil {
		r.err = err
		return
	}
	if t.st == nil || t.Bytes() == 0 {
		return
	}
	from, to := t.off, t.off+t.Bytes()
	if to == int64(product(t.st.shape))*int64(t.st.typ.Size()) {
		to = (to + 3) &^ 3 // the end of the tensor: its padding may be filled too
	}
	if from%4 != 0 || to%4 != 0 {
		r.fail("Fill of %v: bytes %d to %d of its storage are not multiples of 4", t, from, to)
		return
	}
	r.touch(t.st, "Fill")
	r.ops = append(r.ops, op{kind: opFill, firstBuf: len(r.bufs), bufs: 1, firstArg: len(r.words), args: 1})
	r.bufs = append(r.bufs, use{t.st, from, to, false, true})
	r.words = append(r.words, word)
}

// Copy copies the bytes of src to dst; both have the same number of bytes and must not overlap.
func (r *Recorder) Copy(dst, src Tensor) {
	if r.err != nil || r.closed("Copy") {
		return
	}
	if err := firstError(r.check("Copy", dst), r.check("Copy", src)); err != nil {
		r.err = err
		return
	}
	n := src.Bytes()
	if dst.st == nil || src.st == nil || dst.Bytes() != n {
		r.fail("Copy of %v to %v: %d bytes to %d bytes", src, dst, n, dst.Bytes())
		return
	}
	if n == 0 {
		return
	}
	if dst.st == src.st && src.off < dst.off+n && dst.off < src.off+n {
		r.fail("Copy of %v to %v: source and destination overlap", src, dst)
		return
	}
	r.touch(dst.st, "Copy")
	r.ops = append(r.ops, op{kind: opCopy, firstBuf: len(r.bufs), bufs: 2})
	r.bufs = append(r.bufs, use{src.st, src.off, src.off + n, true, false},
		use{dst.st, dst.off, dst.off + n, false, true})
}

func (r *Recorder) closed(what string) bool {
	if r.finished {
		r.fail("%s: %w", what, errFinished)
	}
	return r.finished
}

func (r *Recorder) touch(st *storage, by string) {
	if st.kind == planned {
		st.lastWork = by
	}
}

// peakStorages returns the storages that are alive when the planned bytes are highest.
func (r *Recorder) peakStorages() []*storage {
	change := make([]int64, r.events)
	for _, st := range r.storages {
		change[st.born] += st.bytes
		if st.died >= 0 {
			change[st.died] -= st.bytes
		}
	}
	var sum, most int64
	at := 0
	for i, c := range change {
		if sum += c; sum > most {
			most, at = sum, i
		}
	}
	return slices.DeleteFunc(slices.Clone(r.storages), func(st *storage) bool {
		return st.born > at || st.died >= 0 && st.died <= at
	})
}
