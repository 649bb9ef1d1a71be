package gpu

/*
#include "vkshim.h"
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"
)

type memoryType struct {
	flags vk.MemoryPropertyFlagBits
	heap  int
}

// block is one buffer with its own memory.
type block struct {
	buf, mem C.uint64_t
	size     int64
	mapped   []byte // nil when the host cannot read and write it at full speed
	space    *space // what is handed out; nil for arenas of recordings
	host     bool
}

// arenaSet holds the blocks of one kind of persistent tensors.
type arenaSet struct {
	host   bool
	blocks []*block
	bytes  int64
}

const (
	minBlock = int64(16) << 20
	ownBlock = int64(64) << 20 // tensors from this size on get an exact block of their own

	usageBuffer  = 0x1 | 0x2 | 0x20 // transfer source, transfer destination, storage
	usageAddress = 0x20000
)

// MemoryError is an out-of-memory error.
type MemoryError struct {
	Wanted  int64    // bytes of the allocation that failed
	Held    int64    // bytes that this process's Device holds
	Budget  int64    // bytes that the driver or Options.MaxMemory allows
	Reason  string   // which limit or call failed
	Largest []string // the largest tensors, with their bytes
	Advice  string
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("out of device memory: %s wanted, %s of %s held (%s)", sizeText(e.Wanted), sizeText(e.Held),
		sizeText(e.Budget), e.Reason)
	if len(e.Largest) > 0 {
		s += "; the largest tensors: " + strings.Join(e.Largest, ", ")
	}
	return s + ". " + e.Advice
}

func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}

// memoryTypes reads the heaps and types once.
func (d *Device) memoryTypes(i *Info) {
	vulkanGo.Lock()
	defer vulkanGo.Unlock()
	var mp vk.PhysicalDeviceMemoryProperties
	vk.GetPhysicalDeviceMemoryProperties(vkHandle[vk.PhysicalDevice](d.pd), &mp)
	mp.Deref()
	for k := range mp.MemoryHeapCount {
		mp.MemoryHeaps[k].Deref()
		d.heaps = append(d.heaps, int64(mp.MemoryHeaps[k].Size))
	}
	for k := range mp.MemoryTypeCount {
		mp.MemoryTypes[k].Deref()
		d.types = append(d.types, memoryType{vk.MemoryPropertyFlagBits(mp.MemoryTypes[k].PropertyFlags),
			int(mp.MemoryTypes[k].HeapIndex)})
	}
	if t := d.memoryType(false, 0xffffffff); t >= 0 {
		i.MemoryBytes = d.heaps[d.types[t].heap]
		if total := memInfo("MemTotal:"); i.IsCPU && total > 0 {
			i.MemoryBytes = total
		}
	}
}

// memoryType picks the best allowed type, -1 for none. Tensors: device local, the largest heap, and not host visible,
// because a mapped window over the bus is slower or small. Host: coherent, cached where possible, system memory first.
func (d *Device) memoryType(host bool, allowed uint32) int {
	best, bestScore := -1, int64(-1)
	for i, t := range d.types {
		has := func(f vk.MemoryPropertyFlagBits) int64 {
			if t.flags&f != 0 {
				return 1
			}
			return 0
		}
		if allowed>>i&1 == 0 {
			continue
		}
		local, visible := has(vk.MemoryPropertyDeviceLocalBit), has(vk.MemoryPropertyHostVisibleBit)
		cached := has(vk.MemoryPropertyHostCachedBit)
		score := local<<50 + d.heaps[t.heap]>>20<<2 + (1-visible)<<1 + cached
		if host {
			if visible == 0 || has(vk.MemoryPropertyHostCoherentBit) == 0 {
				continue
			}
			score = cached<<50 + (1-local)<<49 + d.heaps[t.heap]>>20
		} else if local == 0 {
			continue // no silent move to host memory
		}
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

// budget returns the free bytes and the limit of a heap. A CPU driver's heap size says nothing (lavapipe claims 2 GiB
// whatever the machine has), so there the system's available memory counts.
func (d *Device) budget(heap int) (free, limit int64) {
	limit = d.heaps[heap]
	free = limit
	if available := availableMemory(); d.Info.IsCPU && available > 0 {
		free, limit = available, available+d.total
	} else if d.Info.hasBudget {
		c := &chooser{in: d.in, pd: d.pd}
		defer c.free()
		s := c.make(sBudget, nil) // heapBudget[16], heapUsage[16]
		c.get("vkGetPhysicalDeviceMemoryProperties2", sMemoryProps2, s)
		v := unsafe.Slice((*uint64)(unsafe.Pointer(&s.v[0])), 32)
		limit = clampInt64(v[heap])
		free = limit - clampInt64(v[16+heap])
	} else {
		free = limit - d.total
	}
	if d.opt.MaxMemory > 0 {
		limit = min(limit, d.opt.MaxMemory)
		free = min(free, d.opt.MaxMemory-d.total)
	}
	return free, limit
}

// availableMemory returns the bytes that Linux can give without swapping, 0 when it does not say.
func availableMemory() int64 { return memInfo("MemAvailable:") }

func memInfo(key string) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			kib, err := strconv.ParseInt(f[1], 10, 52)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// newBlock allocates a buffer with its own memory, mapped when the host may use it directly. memMu is held.
func (d *Device) newBlock(size int64, host bool) (*block, error) {
	if size > d.Info.MaxAllocation {
		return nil, d.noMemory(size, 0, d.Info.MaxAllocation, "the device's largest allocation is "+
			sizeText(d.Info.MaxAllocation))
	}
	usage := C.uint32_t(usageBuffer)
	if d.Info.HasBDA {
		usage |= usageAddress
	}
	b := &block{size: size, host: host}
	var need, align C.uint64_t
	var allowed C.uint32_t
	if r := C.vkd_buffer(d.vk, C.uint64_t(size), usage, &b.buf, &need, &align, &allowed); r != 0 {
		return nil, d.callError("vkCreateBuffer", r, size)
	}
	t := d.memoryType(host, uint32(allowed))
	if t < 0 {
		d.freeBlock(b)
		return nil, fmt.Errorf("the device %s has no memory type for host=%v buffers", d.Info.Name, host)
	}
	if free, limit := d.budget(d.types[t].heap); int64(need) > free {
		d.freeBlock(b)
		return nil, d.noMemory(size, max(0, limit-free), limit, "memory budget")
	}
	if r := C.vkd_memory(d.vk, need, C.uint32_t(t), boolInt(d.Info.HasBDA), &b.mem); r != 0 {
		b.mem = 0
		d.freeBlock(b)
		return nil, d.callError("vkAllocateMemory", r, size)
	}
	if r := C.vkd_bind(d.vk, b.buf, b.mem); r != 0 {
		d.freeBlock(b)
		return nil, d.callError("vkBindBufferMemory", r, size)
	}
	direct := vk.MemoryPropertyHostVisibleBit | vk.MemoryPropertyHostCoherentBit | vk.MemoryPropertyHostCachedBit
	if host || d.types[t].flags&direct == direct && !d.opt.forceStaging {
		var p unsafe.Pointer
		if r := C.vkd_map(d.vk, b.mem, C.uint64_t(size), &p); r != 0 {
			d.freeBlock(b)
			return nil, d.callError("vkMapMemory", r, size)
		}
		b.mapped = unsafe.Slice((*byte)(p), size)
	}
	d.total += size
	return b, nil
}

func boolInt(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// freeBlock destroys a block. memMu is held and the device does not use it.
func (d *Device) freeBlock(b *block) {
	if b.mem != 0 {
		d.total -= b.size
	}
	C.vkd_free(d.vk, b.buf, b.mem)
	b.buf, b.mem, b.mapped = 0, 0, nil
}

// callError turns a failed memory call into a MemoryError where it is one.
func (d *Device) callError(call string, r C.int, size int64) error {
	switch vk.Result(r) {
	case vk.ErrorOutOfDeviceMemory, vk.ErrorOutOfHostMemory, vk.ErrorTooManyObjects:
		return d.noMemory(size, d.total, d.Info.MemoryBytes, call+" failed")
	case vk.ErrorDeviceLost:
		d.lost.Store(true)
		return ErrDeviceLost
	}
	return vkError(call, r)
}

func (d *Device) noMemory(wanted, held, budget int64, reason string) error {
	list := make([]*storage, 0, len(d.live))
	for s := range d.live {
		list = append(list, s)
	}
	return &MemoryError{Wanted: wanted, Held: max(held, d.total), Budget: budget, Reason: reason, Largest: largest(list, 5),
		Advice: "Lower the batch size or the sequence length, keep weights or activations in 16 bits, or choose another device"}
}

// largest describes the n largest storages.
func largest(list []*storage, n int) []string {
	sort.Slice(list, func(i, j int) bool {
		if list[i].bytes != list[j].bytes {
			return list[i].bytes > list[j].bytes
		}
		return list[i].String() < list[j].String()
	})
	var s []string
	for _, st := range list[:min(n, len(list))] {
		s = append(s, fmt.Sprintf("%v (%s)", st, sizeText(st.bytes)))
	}
	return s
}

// Alloc makes a persistent tensor in device memory. Its contents are undefined. Errors: a bad shape; *MemoryError.
func (d *Device) Alloc(t DType, dims ...int) (Tensor, error) { return d.alloc(false, t, dims) }

// AllocHost makes a persistent tensor in memory that the host has mapped (see HostBytes): inputs of a step, small results.
func (d *Device) AllocHost(t DType, dims ...int) (Tensor, error) { return d.alloc(true, t, dims) }

func (d *Device) alloc(host bool, t DType, dims []int) (Tensor, error) {
	size, err := shapeBytes(t, dims)
	if err != nil {
		return Tensor{}, err
	}
	if d.lost.Load() {
		return Tensor{}, errLostBefore
	}
	d.memMu.Lock()
	defer d.memMu.Unlock()
	shape := append([]int(nil), dims...)
	st := &storage{typ: t, shape: shape, bytes: size}
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

// Release frees persistent tensors. Recordings that use them must not run any more; running one is an error. The zero
// Tensor is ignored. A tensor released twice or one of a recorder is an error.
func (d *Device) Release(ts ...Tensor) error {
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
		case st.dead || !d.live[st]:
			return fmt.Errorf("Release of %v: it was released before or belongs to another device", t)
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

// MemoryUse returns the bytes of device memory that the Device holds, host-visible tensors and staging included.
func (d *Device) MemoryUse() int64 {
	d.memMu.Lock()
	defer d.memMu.Unlock()
	return d.total
}

// Address returns the 64-bit device address of a persistent tensor for kernels with buffer references, or 0 on a device
// without them (Info.HasBDA).
func (d *Device) Address(t Tensor) uint64 {
	if t.st == nil || t.st.block == nil || !d.Info.HasBDA {
		return 0
	}
	return uint64(C.vkd_address(d.vk, t.st.block.buf)) + uint64(t.st.at+t.off)
}
