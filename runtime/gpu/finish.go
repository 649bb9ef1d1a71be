package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"time"
)

// Finish allocates the planned memory, compiles missing pipelines in parallel and binds everything. The
// recorder accepts nothing afterwards. Errors: the recorder's first error; compile errors; *MemoryError
// naming the largest temporary tensors.
func (r *Recorder) Finish() (*Recording, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.finished {
		return nil, errFinished
	}
	if err := r.dev.usable(); err != nil {
		return nil, err
	}
	r.finished = true
	rec := &Recording{dev: r.dev, ops: r.ops, bufs: r.bufs, words: r.words, sizes: r.plan.sizes(),
		arena: r.arena}
	if rec.arena == nil {
		rec.arena, rec.ownArena = r.dev.NewArena(), true
	}
	rec.arena.users++
	r.dev.queueMu.Lock()
	r.dev.recordings[rec] = true
	r.dev.queueMu.Unlock()
	if err := rec.finish(r); err != nil {
		r.err = errors.Join(err, rec.Close())
		return nil, err
	}
	r.done = rec
	return rec, nil
}

func (rec *Recording) finish(r *Recorder) error {
	d := rec.dev
	began := time.Now()
	if err := d.compile(pipelinesOf(rec.ops)); err != nil {
		return err
	}
	if time.Since(began) > 2*time.Second {
		d.saveCache() // a program that is killed later should not have to compile again
	}
	if err := rec.arena.grow(rec.sizes); err != nil {
		var m *MemoryError
		if errors.As(err, &m) {
			m.Largest = append(m.Largest, r.Largest(8)...)
			return fmt.Errorf("temporary tensors of %d operations, %s in all: %w", len(rec.ops), sizeText(r.Peak()),
				err)
		}
		return fmt.Errorf("temporary tensors: %w", err)
	}
	seen := map[*storage]bool{}
	for _, u := range rec.bufs {
		if u.st.kind != planned && !seen[u.st] {
			seen[u.st] = true
			rec.persistent = append(rec.persistent, u.st)
		}
	}
	if err := rec.makeSets(); err != nil {
		return err
	}
	if err := rec.bind(); err != nil {
		return err
	}
	if !rec.measures() {
		if err := rec.build(&rec.final, rec.finalCuts(), noStamps); err != nil {
			return err
		}
	}
	return d.validation("finishing a recording")
}

// setsPerPool bounds the descriptor pools: some drivers reserve a pool's memory at once.
const setsPerPool = 1024

// makeSets allocates one descriptor set per dispatch that binds something.
func (rec *Recording) makeSets() error {
	d := rec.dev
	rec.sets = make([]uint64, len(rec.ops))
	var layouts []uint64
	var at []int
	descriptors := 0
	flush := func() error {
		if len(at) == 0 {
			return nil
		}
		var pool C.uint64_t
		if r := C.vkd_sets_pool(d.vk, C.uint32_t(len(at)), C.uint32_t(descriptors), &pool); r != 0 {
			return vkError("vkCreateDescriptorPool", r)
		}
		rec.pools = append(rec.pools, uint64(pool))
		out := make([]uint64, len(at))
		if r := C.vkd_sets(d.vk, pool, C.uint32_t(len(at)), u64(layouts), u64(out)); r != 0 {
			return vkError("vkAllocateDescriptorSets", r)
		}
		for i, op := range at {
			rec.sets[op] = out[i]
		}
		layouts, at, descriptors = layouts[:0], at[:0], 0
		return nil
	}
	for i, o := range rec.ops {
		if o.kind != opDispatch || o.pipe.binds == 0 {
			continue
		}
		lay, err := d.layout(o.bufs)
		if err != nil {
			return err
		}
		layouts, at, descriptors = append(layouts, uint64(lay.set)), append(at, i), descriptors+o.bufs
		if len(at) == setsPerPool {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// bind writes the descriptor sets for the arena's present blocks and drops command buffers that refer to
// older ones.
func (rec *Recording) bind() error {
	blocks, err := rec.arena.current()
	if err != nil {
		return err
	}
	var sets, buf, off, size []uint64
	var counts []uint32
	for i, o := range rec.ops {
		if rec.sets[i] == 0 {
			continue
		}
		sets, counts = append(sets, rec.sets[i]), append(counts, uint32(o.bufs))
		for _, u := range rec.uses(o) {
			b, at := rec.place(blocks, u)
			buf, off, size = append(buf, uint64(b.buf)), append(off, uint64(at)), append(size, uint64(u.to-u.from))
		}
	}
	if len(sets) > 0 {
		C.vkd_sets_write(rec.dev.vk, C.uint32_t(len(sets)), u64(sets), (*C.uint32_t)(&counts[0]), u64(buf),
			u64(off), u64(size))
	}
	rec.gen = rec.arena.gen
	rec.drop(&rec.final)
	rec.drop(&rec.measured)
	rec.drop(&rec.timed)
	return nil
}

func (rec *Recording) uses(o op) []use { return rec.bufs[o.firstBuf : o.firstBuf+o.bufs] }

// place returns the block and the byte offset of a use.
func (rec *Recording) place(blocks []*block, u use) (*block, int64) {
	if u.st.kind == planned {
		return blocks[u.st.slot], u.st.at + u.from
	}
	return u.st.block, u.st.at + u.from
}

// Vulkan stage and access bits of barriers.
const (
	stageCompute, stageTransfer, stageHost = 0x800, 0x1000, 0x4000
	shaderRead, shaderWrite                = 0x20, 0x40
	transferRead, transferWrite            = 0x800, 0x1000
	hostRead                               = 0x2000
)

// stream is the code that the C side turns into a command buffer.
type stream []uint64

func (s *stream) add(code ...uint64) { *s = append(*s, code...) }

// barrier orders all memory accesses before it with all after it, on shaders alone or on transfers too.
func (s *stream) barrier(transfers bool) {
	stage, src, dst := uint64(stageCompute), uint64(shaderWrite), uint64(shaderRead|shaderWrite)
	if transfers {
		stage, src, dst = stage|stageTransfer, src|transferWrite, dst|transferRead|transferWrite
	}
	s.add(C.VKOP_BARRIER, stage|stage<<32, src|dst<<32)
}

// hostBarrier makes results visible to the host once the fence is signalled.
func (s *stream) hostBarrier() {
	src := uint64(shaderWrite | transferWrite)
	s.add(C.VKOP_BARRIER, stageCompute|stageTransfer|stageHost<<32, src|hostRead<<32)
}

// emit appends one operation; bound is the pipeline bound before it.
func (rec *Recording) emit(s *stream, blocks []*block, i int, bound *pipeline) (*pipeline, error) {
	o := rec.ops[i]
	switch o.kind {
	case opFill:
		u := rec.uses(o)[0]
		b, at := rec.place(blocks, u)
		s.add(C.VKOP_FILL, uint64(b.buf), uint64(at), uint64(u.to-u.from), uint64(rec.words[o.firstArg]))
		return bound, nil
	case opCopy:
		uses := rec.uses(o)
		src, from := rec.place(blocks, uses[0])
		dst, to := rec.place(blocks, uses[1])
		s.add(C.VKOP_COPY, uint64(src.buf), uint64(dst.buf), uint64(from), uint64(to),
			uint64(uses[0].to-uses[0].from))
		return bound, nil
	}
	if o.pipe != bound {
		s.add(C.VKOP_PIPELINE, o.pipe.handle)
	}
	return o.pipe, rec.emitDispatch(s, blocks, o, rec.sets[i])
}

func (rec *Recording) emitDispatch(s *stream, blocks []*block, o op, set uint64) error {
	lay, err := rec.dev.layout(o.pipe.binds)
	if err != nil {
		return err
	}
	bytes := 4 * o.args
	if o.pipe.prog.kernel.Addresses {
		bytes += 8 * o.bufs
	}
	s.add(C.VKOP_DISPATCH, uint64(lay.pipe), set, uint64(bytes), uint64(o.groups[0]), uint64(o.groups[1]),
		uint64(o.groups[2]))
	if o.pipe.prog.kernel.Addresses {
		for _, u := range rec.uses(o) {
			address := uint64(0)
			if u.st != rec.dev.dummy {
				b, at := rec.place(blocks, u)
				address = uint64(C.vkd_address(rec.dev.vk, b.buf)) + uint64(at)
			}
			s.add(address)
		}
	}
	push := rec.words[o.firstArg : o.firstArg+o.args]
	for k := 0; k < len(push); k += 2 {
		w := uint64(push[k])
		if k+1 < len(push) {
			w |= uint64(push[k+1]) << 32
		}
		s.add(w)
	}
	return nil
}

func u64(s []uint64) *C.uint64_t {
	if len(s) == 0 {
		return nil
	}
	return (*C.uint64_t)(&s[0])
}
