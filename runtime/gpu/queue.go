package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"unsafe"

	vk "github.com/vulkan-go/vulkan"
)

// record turns a stream into a command buffer; queueMu is held, for the command pool.
func (d *Device) record(cb unsafe.Pointer, once bool, s stream) error {
	if r := C.vkd_record(d.vk, cb, boolInt(once), u64(s), C.size_t(len(s))); r != 0 {
		return d.lossError(vkError("recording a command buffer", r), r)
	}
	return nil
}

// submit queues a command buffer; queueMu is held.
func (d *Device) submit(cb unsafe.Pointer, fence C.uint64_t) error {
	if r := C.vkd_submit(d.vk, cb, fence); r != 0 {
		return d.lossError(vkError("vkQueueSubmit", r), r)
	}
	return nil
}

// spinMicros is how long a wait polls before it sleeps on a GPU; on a CPU driver polling would take the
// core that computes.
const spinMicros = 200

// await waits for a fence and resets it.
func (d *Device) await(f C.uint64_t) error {
	spin := C.uint32_t(spinMicros)
	if d.Info.IsCPU {
		spin = 0
	}
	for {
		switch r := C.vkd_wait(d.vk, f, spin, 1e9); vk.Result(r) {
		case vk.Success:
			if r := C.vkd_fence_reset(d.vk, f); r != 0 {
				return vkError("vkResetFences", r)
			}
			return nil
		case vk.Timeout: // long kernels are fine on CPUs; on GPUs the driver's watchdog decides
			spin = 0
		default:
			return d.lossError(vkError("waiting for the device", r), r)
		}
	}
}

// settle waits until nothing submitted is running. Fences stay for Recording.Wait.
func (d *Device) settle() error {
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	if len(d.inflight) == 0 {
		return nil
	}
	if r := C.vkd_idle(d.vk); r != 0 {
		return d.lossError(vkError("vkDeviceWaitIdle", r), r)
	}
	return nil
}
