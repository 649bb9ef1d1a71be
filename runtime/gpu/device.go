package gpu

/*
#include "vkshim.h"
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"
)

// Options choose and configure a device. The zero value takes the best device.
type Options struct {
	// Device is an index in List or a part of the name; "" takes the best: discrete, then integrated, then
	// CPU.
	Device     string
	Validation bool // run under the Khronos validation layer; its messages become errors

	CacheDir string // pipeline cache folder; "" = vulcast/pipelines in the user's cache folder
	NoCache  bool   // neither read nor write a pipeline cache file

	// MaxMemory bounds device memory in bytes; 0 = what the driver says is free. Exceeding it is an
	// out-of-memory error.
	MaxMemory int64

	forceStaging bool // tests: copy through staging buffers even where device memory is mapped
	forceCuts    int  // tests: operations per submission, as on a device without timestamps
	noBarriers   bool // tests: leave out barriers, to see that validation notices
}

// Device is an open Vulkan device with one compute queue.
type Device struct {
	Info Info

	opt    Options
	in     *instance
	pd     unsafe.Pointer
	vk     *C.vk_dev
	family int
	types  []memoryType
	heaps  []int64

	queueMu    sync.Mutex // guards the queue, the command pool and the maps below
	pool       C.uint64_t
	inflight   map[*Recording]bool // submitted, not waited for
	recordings map[*Recording]bool // not closed
	arenas     map[*Arena]bool     // not closed
	lost       atomic.Bool

	memMu    sync.Mutex // guards memory and staging
	device   arenaSet   // blocks of persistent tensors
	host     arenaSet   // blocks of mapped tensors
	live     map[*storage]bool
	total    int64 // bytes of device memory held
	released atomic.Int64
	staging  *stager

	progMu   sync.Mutex // guards programs, layouts and pipelines
	programs map[*Kernel]*program
	byCode   map[programKey]*program
	layouts  [maxBindings + 1]layout
	cache    C.uint64_t
	cacheNew bool // pipelines were compiled since the cache file was written
	dummy    *storage

	warnMu   sync.Mutex
	warnings []string
}

// layout is the descriptor set layout and pipeline layout of all kernels with n bindings.
type layout struct{ set, pipe C.uint64_t }

// Open opens the device that o asks for. Without a loader, driver or matching device the error says what to
// install or which devices there are.
func Open(o Options) (*Device, error) {
	in, err := openInstance(o.Validation)
	if err != nil {
		return nil, err
	}
	d := &Device{opt: o, in: in, inflight: map[*Recording]bool{}, live: map[*storage]bool{},
		recordings: map[*Recording]bool{}, arenas: map[*Arena]bool{},
		programs: map[*Kernel]*program{}, byCode: map[programKey]*program{}}
	if err := d.open(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Device) open() error {
	pds, err := d.in.devices()
	if err != nil {
		return err
	}
	infos, apis, families := make([]Info, len(pds)), make([]uint32, len(pds)), make([]int, len(pds))
	for k, pd := range pds {
		infos[k], apis[k] = describe(d.in, pd, k)
		families[k] = queueFamily(pd, &infos[k])
	}
	k, err := pick(infos, d.opt.Device)
	if err != nil {
		return err
	}
	d.Info, d.pd = infos[k], pds[k]
	if apis[k] < vk.MakeVersion(1, 2, 0) {
		return fmt.Errorf("the device %s has Vulkan %s; 1.2 or later is needed", d.Info.Name, d.Info.API)
	}
	if d.family = families[k]; d.family < 0 {
		return fmt.Errorf("the device %s has no queue for compute", d.Info.Name)
	}
	if err := d.create(min(apis[k], d.in.version)); err != nil {
		return err
	}
	d.memoryTypes(&d.Info)
	if r := C.vkd_pool(d.vk, C.uint32_t(d.family), &d.pool); r != 0 {
		return vkError("vkCreateCommandPool", r)
	}
	d.loadCache()
	dummy, err := d.Alloc(U32, 64)
	if err != nil {
		return err
	}
	d.dummy = dummy.Named("dummy").st
	if err := d.Write(dummy, make([]uint32, 64)); err != nil {
		return err
	}
	return d.validation("opening the device")
}

// create makes the logical device with every optional feature that the runtime knows and the device has.
func (d *Device) create(api uint32) error {
	c, err := newChooser(d.in, d.pd)
	if err != nil {
		return err
	}
	defer c.free()
	c.choose(&d.Info, api)
	names := cNames(c.exts)
	var missing *C.char
	r := C.vkd_open(d.in.gipa, d.in.inst, d.pd, unsafe.Pointer(c.chain), C.uint32_t(d.family),
		(*C.char)(unsafe.Pointer(&names[0])), C.uint32_t(len(c.exts)), &d.vk, &missing)
	if r != 0 {
		d.vk = nil
		if missing != nil {
			return fmt.Errorf("the driver of %s lacks the function %s", d.Info.Name, C.GoString(missing))
		}
		return vkError("vkCreateDevice for "+d.Info.Name, r)
	}
	return nil
}

// Close waits for the device, writes the pipeline cache file and frees everything, open recordings and
// arenas included. Tensors of the device must not be used afterwards.
func (d *Device) Close() {
	if d.vk != nil {
		C.vkd_idle(d.vk)
		d.saveCache()
		d.closeRecordings()
		d.closeStaging()
		d.closePrograms()
		d.closeMemory()
		if d.pool != 0 {
			C.vkd_pool_destroy(d.vk, d.pool)
		}
		C.vkd_close(d.vk)
		d.vk = nil
		if err := d.validation("closing the device"); err != nil {
			d.warn("%v", err)
		}
	}
	if d.in != nil {
		d.in.close()
		d.in = nil
	}
}

func (d *Device) closeRecordings() {
	for rec := range maps.Clone(d.recordings) {
		rec.busy = nil
		rec.Close()
	}
	for a := range maps.Clone(d.arenas) {
		a.release()
	}
}

// Warnings returns what went wrong without stopping anything: an unusable pipeline cache file, warnings of
// the validation layer.
func (d *Device) Warnings() []string {
	d.warnMu.Lock()
	defer d.warnMu.Unlock()
	return append([]string(nil), d.warnings...)
}

func (d *Device) warn(format string, args ...any) {
	d.warnMu.Lock()
	defer d.warnMu.Unlock()
	if len(d.warnings) < 100 {
		d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
	}
}

// validation turns collected validation messages into an error.
func (d *Device) validation(while string) error {
	errs, warnings := d.in.messages()
	for _, w := range warnings {
		d.warn("validation, %s: %s", while, w)
	}
	if len(errs) == 0 {
		return nil
	}
	more := ""
	if len(errs) > 5 {
		more, errs = fmt.Sprintf("\n(and %d more)", len(errs)-5), errs[:5]
	}
	return fmt.Errorf("validation layer, while %s:\n%s%s", while, strings.Join(errs, "\n"), more)
}

// ErrDeviceLost is in the chain of errors after the driver gave up the device: a hang, a crash or an
// unplugged card. The Device is unusable then; open it again and go on from the last saved state.
var ErrDeviceLost = errors.New("the Vulkan device was lost")

var (
	errLostBefore = fmt.Errorf("%w earlier; open it again", ErrDeviceLost)
	errClosed     = errors.New("the Vulkan device is closed")
)

// usable returns an error when the device is closed or lost.
func (d *Device) usable() error {
	switch {
	case d.vk == nil:
		return errClosed
	case d.lost.Load():
		return errLostBefore
	}
	return nil
}
