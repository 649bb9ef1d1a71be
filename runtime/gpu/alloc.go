package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
)

// Alloc makes a persistent tensor in device memory. Its contents are undefined. Errors: a bad shape;
// *MemoryError.
func (d *Device) Alloc(t DType, dims ...int) (Tensor, error) { return d.alloc(false, t, dims) }

// AllocHost makes a persistent tensor in memory that the host has mapped (see HostBytes): inputs of a step,
// small results.
func (d *Device) AllocHost(t DType, dims ...int) (Tensor, error) { return d.alloc(true, t, dims) }

func (d *Device) alloc(host bool, t DType, dims []int) (Tensor, error) {
	size, err := shapeBytes(t, dims)
	if err != nil {
		return Tensor{}, err
	}
	if err := d.usable(); err != nil {
		return Tensor{}, err
	}
	d.memMu.Lock()
	defer d.memMu.Unlock()
	shape := append([]int(nil), dims...)
	st := &storage{dev: d, typ: t, shape: shape, bytes: size}
	set := &d.device
	if host {
		st.kind, set = hostMapped, &d.host
		set.host = true
	}
	if st.block, st.at, err = d.place(set, size); err != nil {
		return Tensor{}, fmt.Errorf("tensor %v: %w", st, err)
	}
	d.live[st] = true
	return Tensor{Type: t, Shape: shape, st: st}, d.validation("allocating memory")
}

// place finds or makes room for size bytes.
func (d *Device) place(set *arenaSet, size int64) (*block, int64, error) {
	var best *block
	var at int
	var waste int64
	for _, b := range set.blocks {
		if i, w, _ := b.space.find(size); i >= 0 && (best == nil || w < waste) {
			best, at, waste = b, i, w
		}
	}
	if best != nil {
		return best, best.space.take(at, size), nil
	}
	want := size
	if size < ownBlock { // grow in steps of a quarter: little is wasted at the end, and there are few blocks
		want = max(size, min(max(minBlock, set.bytes/4), maxBlock))
		if set.host {
			want = max(size, minBlock/16)
		}
	}
	b, err := d.newBlock(want, set.host)
	if err != nil && want > size {
		b, err = d.newBlock(size, set.host)
	}
	if err != nil {
		return nil, 0, err
	}
	b.space = newSpace(b.size)
	set.blocks = append(set.blocks, b)
	set.bytes += b.size
	return b, b.space.take(0, size), nil
}

// Release frees persistent tensors. Recordings that use them must not run any more; running one is an
// error. The zero Tensor is ignored. A tensor released twice or one of a recorder is an error.
func (d *Device) Release(ts ...Tensor) error {
	if d.vk == nil {
		return errClosed
	}
	d.settle()
	d.memMu.Lock()
	defer d.memMu.Unlock()
	for _, t := range ts {
		st := t.st
		switch {
		case st == nil:
			continue
		case st.kind == planned:
			return fmt.Errorf("Release of %v: it belongs to a recorder; use Recorder.Free", t)
		case st.dev != d:
			return fmt.Errorf("Release of %v: it belongs to another device", t)
		case st.dead:
			return fmt.Errorf("Release of %v: it was released before", t)
		}
		st.dead = true
		delete(d.live, st)
		d.released.Add(1)
		st.block.space.give(st.at, st.bytes)
		if st.block.space.used == 0 {
			d.dropBlock(st.block)
		}
	}
	return nil
}

// dropBlock frees an empty block of persistent tensors.
func (d *Device) dropBlock(b *block) {
	set := &d.device
	if b.host {
		set = &d.host
	}
	for i, x := range set.blocks {
		if x == b {
			set.blocks = append(set.blocks[:i], set.blocks[i+1:]...)
			set.bytes -= b.size
			d.freeBlock(b)
			return
		}
	}
}

func (d *Device) closeMemory() {
	for _, set := range []*arenaSet{&d.device, &d.host} {
		for _, b := range set.blocks {
			d.freeBlock(b)
		}
		set.blocks = nil
	}
}

// MemoryUse returns the bytes of device memory that the Device holds, host-visible tensors and staging
// included.
func (d *Device) MemoryUse() int64 {
	d.memMu.Lock()
	defer d.memMu.Unlock()
	return d.total
}

// Address returns the 64-bit device address of a persistent tensor for kernels with buffer references, or 0
// on a device without them (Info.HasBDA).
func (d *Device) Address(t Tensor) uint64 {
	if t.st == nil || t.st.block == nil || !d.Info.HasBDA {
		return 0
	}
	return uint64(C.vkd_address(d.vk, t.st.block.buf)) + uint64(t.st.at+t.off)
}
