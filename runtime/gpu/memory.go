package gpu

/*
#include "vkshim.h"
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
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

// memoryType picks the best allowed type, -1 for none. Tensors: device local, the largest heap, and not
// host visible, because a mapped window over the bus is slower or small. Host: coherent, cached where
// possible, system memory first.
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

// budget returns the free bytes and the limit of a heap. A CPU driver's heap size says nothing (lavapipe
// claims 2 GiB whatever the machine has), so there the system's available memory counts.
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
	d.total += size
	if err := d.attach(b, d.types[t].flags); err != nil {
		d.freeBlock(b)
		return nil, err
	}
	return b, nil
}

// attach binds buffer and memory and maps what the host may use directly.
func (d *Device) attach(b *block, flags vk.MemoryPropertyFlagBits) error {
	if r := C.vkd_bind(d.vk, b.buf, b.mem); r != 0 {
		return d.callError("vkBindBufferMemory", r, b.size)
	}
	direct := vk.MemoryPropertyHostVisibleBit | vk.MemoryPropertyHostCoherentBit | vk.MemoryPropertyHostCachedBit
	if !b.host && (flags&direct != direct || d.opt.forceStaging) {
		return nil
	}
	var p unsafe.Pointer
	if r := C.vkd_map(d.vk, b.mem, C.uint64_t(b.size), &p); r != 0 {
		return d.callError("vkMapMemory", r, b.size)
	}
	b.mapped = unsafe.Slice((*byte)(p), b.size)
	return nil
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
