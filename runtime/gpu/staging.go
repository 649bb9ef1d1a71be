package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"
)

// stageBytes is the size of each of the two staging buffers: large enough to hide the submission, small
// enough to bound host memory.
const stageBytes = int64(8) << 20

// stager copies between host slices and device memory through two reused mapped buffers, so that the host
// fills or drains one while the device copies the other.
type stager struct {
	blocks [2]*block
	cbs    [2]unsafe.Pointer
	fences [2]C.uint64_t
	busy   [2]bool
}

// hostSlice returns the bytes behind a slice of a supported type, and its element size (1 = any tensor).
func hostSlice(data any) (bytes []byte, elem int, err error) {
	switch s := data.(type) {
	case []byte:
		return s, 1, nil
	case []float32:
		return rawBytes(s), 4, nil
	case []int32:
		return rawBytes(s), 4, nil
	case []uint32:
		return rawBytes(s), 4, nil
	case []uint16:
		return rawBytes(s), 2, nil
	}
	return nil, 0, fmt.Errorf("%v is no []float32, []int32, []uint32, []uint16 or []byte", reflect.TypeOf(data))
}

func rawBytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// Write copies data ([]float32, []int32, []uint32, []uint16 or []byte of exactly the tensor's bytes) into
// t, after everything submitted so far. For tensors of AllocHost it copies at once; the caller makes sure
// that nothing in flight reads them.
func (d *Device) Write(t Tensor, data any) error { return d.transfer("Write to", t, data, true) }

// Read copies t into dst, a slice as for Write, after everything submitted so far.
func (d *Device) Read(t Tensor, dst any) error { return d.transfer("Read of", t, dst, false) }

func (d *Device) transfer(what string, t Tensor, data any, write bool) error {
	bytes, elem, err := hostSlice(data)
	if err == nil {
		err = d.accessible(t)
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w", what, t, err)
	}
	if int64(len(bytes)) != t.Bytes() || elem != 1 && elem != t.Type.Size() {
		return fmt.Errorf("%s %v: the slice has %d elements of %d bytes, the tensor %d of %d", what, t,
			len(bytes)/elem, elem, t.Len(), t.Type.Size())
	}
	if len(bytes) == 0 {
		return nil
	}
	b, at := t.st.block, t.st.at+t.off
	if b.mapped != nil {
		if err := d.direct(b, at, bytes, write); err != nil {
			return fmt.Errorf("%s %v: %w", what, t, err)
		}
		return nil
	}
	d.memMu.Lock()
	defer d.memMu.Unlock()
	if err := d.stage(b, at, bytes, write); err != nil {
		return fmt.Errorf("%s %v: %w", what, t, err)
	}
	return d.validation(what + " " + t.String())
}

// direct copies to or from a mapped block.
func (d *Device) direct(b *block, at int64, bytes []byte, write bool) error {
	if !b.host || !write {
		if err := d.settle(); err != nil {
			return err
		}
	}
	if write {
		copy(b.mapped[at:], bytes)
	} else {
		copy(bytes, b.mapped[at:])
	}
	return nil
}

// accessible checks that a tensor has memory now.
func (d *Device) accessible(t Tensor) error {
	switch {
	case t.err != nil:
		return t.err
	case d.usable() != nil:
		return d.usable()
	case t.st == nil:
		return fmt.Errorf("no tensor")
	case t.st.dev != d:
		return fmt.Errorf("the tensor belongs to another device")
	case t.st.dead:
		return fmt.Errorf("the tensor was released")
	case t.st.kind == planned && t.st.refs == 0:
		return fmt.Errorf("the recorder freed the tensor, its bytes may be reused")
	case t.st.kind == planned && t.st.rec.done == nil:
		return fmt.Errorf("the tensor has no memory before Recorder.Finish")
	case t.st.kind == planned && t.st.rec.done.closed:
		return fmt.Errorf("the recording is closed, its temporary tensors are gone")
	case t.st.kind == planned:
		blocks, err := t.st.rec.done.arena.current()
		if err != nil {
			return err
		}
		t.st.block = blocks[t.st.slot]
	}
	return nil
}

// HostBytes returns the mapped bytes of a tensor of AllocHost, nil for any other tensor.
func (d *Device) HostBytes(t Tensor) []byte {
	if t.st == nil || t.st.kind != hostMapped || t.st.dead || t.err != nil {
		return nil
	}
	from := t.st.at + t.off
	return t.st.block.mapped[from : from+t.Bytes() : from+t.Bytes()]
}

// stage runs a chunked copy; memMu is held.
func (d *Device) stage(b *block, at int64, bytes []byte, write bool) error {
	if err := d.openStaging(); err != nil {
		return err
	}
	s := d.staging
	pending := [2][]byte{}
	drain := func(k int) error {
		if !s.busy[k] {
			return nil
		}
		s.busy[k] = false
		if err := d.await(s.fences[k]); err != nil {
			return err
		}
		if !write {
			copy(pending[k], s.blocks[k].mapped)
		}
		return nil
	}
	for i := 0; len(bytes) > 0; i++ {
		k := i % 2
		if err := drain(k); err != nil {
			return err
		}
		n := min(int64(len(bytes)), stageBytes)
		pending[k] = bytes[:n]
		if write {
			copy(s.blocks[k].mapped, bytes[:n])
		}
		if err := d.stageChunk(k, b, at, n, write); err != nil {
			return err
		}
		s.busy[k] = true
		bytes, at = bytes[n:], at+n
	}
	return firstError(drain(0), drain(1))
}

// stageChunk records and submits one copy between staging buffer k and a block.
func (d *Device) stageChunk(k int, b *block, at, n int64, write bool) error {
	s := d.staging
	src, dst, from, to := s.blocks[k], b, int64(0), at
	if !write {
		src, dst, from, to = b, s.blocks[k], at, 0
	}
	var c stream
	c.barrier(true)
	c.add(C.VKOP_COPY, uint64(src.buf), uint64(dst.buf), uint64(from), uint64(to), uint64(n))
	c.hostBarrier()
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if err := d.record(s.cbs[k], true, c); err != nil {
		return err
	}
	return d.submit(s.cbs[k], s.fences[k])
}

func (d *Device) openStaging() error {
	if d.staging != nil {
		return nil
	}
	d.staging = &stager{}
	if err := d.fillStager(d.staging); err != nil {
		d.closeStaging()
		return err
	}
	return nil
}

func (d *Device) fillStager(s *stager) error {
	for k := range s.blocks {
		b, err := d.newBlock(stageBytes, true)
		if err != nil {
			return err
		}
		s.blocks[k] = b
		if r := C.vkd_fence(d.vk, &s.fences[k]); r != 0 {
			return vkError("vkCreateFence", r)
		}
	}
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if r := C.vkd_cmds(d.vk, d.pool, 2, &s.cbs[0]); r != 0 {
		return vkError("vkAllocateCommandBuffers", r)
	}
	return nil
}

func (d *Device) closeStaging() {
	if d.staging == nil {
		return
	}
	for k, b := range d.staging.blocks {
		if b != nil {
			d.freeBlock(b)
		}
		if f := d.staging.fences[k]; f != 0 {
			C.vkd_fence_destroy(d.vk, f)
		}
	}
	d.staging = nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
