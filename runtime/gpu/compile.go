package gpu

/*
#include "vkshim.h"
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"
)

// compile makes the pipelines that do not exist yet, on all cores: drivers take up to half a second for
// one.
func (d *Device) compile(list []*pipeline) error {
	for _, p := range list {
		if _, err := d.layout(p.binds); err != nil {
			return err
		}
	}
	errs := make([]error, len(list))
	next := make(chan int, len(list))
	for i := range list {
		next <- i
	}
	close(next)
	var group sync.WaitGroup
	for range min(len(list), runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range next {
				p := list[i]
				p.once.Do(func() { p.err = d.compileOne(p) })
				errs[i] = p.err
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (d *Device) compileOne(p *pipeline) error {
	k := p.prog.kernel
	module, err := d.moduleOf(p.prog)
	if err != nil {
		return err
	}
	lay, err := d.layout(p.binds)
	if err != nil {
		return err
	}
	entry := C.CString(p.prog.meta.entry)
	defer C.free(unsafe.Pointer(entry))
	var ids, values *C.uint32_t
	if len(p.ids) > 0 {
		ids, values = (*C.uint32_t)(unsafe.Pointer(&p.ids[0])), (*C.uint32_t)(unsafe.Pointer(&p.values[0]))
	}
	var out C.uint64_t
	r := C.vkd_pipeline(d.vk, d.cache, lay.pipe, module, entry, ids, values, C.uint32_t(len(p.ids)),
		C.uint32_t(k.SubgroupSize), boolInt(k.FullSubgroups), &out)
	if r != 0 || out == 0 {
		return d.lossError(vkError(fmt.Sprintf("compiling kernel %s with constants %v = %v on %s", k.Name, p.ids,
			p.values, d.Info.Name), r), r)
	}
	p.handle = uint64(out)
	d.progMu.Lock()
	d.cacheNew = true
	d.progMu.Unlock()
	return nil
}

// moduleOf makes the shader module of a program once.
func (d *Device) moduleOf(p *program) (C.uint64_t, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.module != 0 {
		return C.uint64_t(p.module), nil
	}
	code := make([]uint32, len(p.key.code)/4) // aligned, which an embedded string need not be
	copy(rawBytes(code), p.key.code)
	var out C.uint64_t
	if r := C.vkd_module(d.vk, unsafe.Pointer(&code[0]), C.size_t(len(p.key.code)), &out); r != 0 {
		return 0, d.lossError(vkError("loading the module of kernel "+p.kernel.Name, r), r)
	}
	p.module = uint64(out)
	return out, nil
}

// layout returns the layout of kernels with n bindings: n storage buffers and 128 bytes of push constants.
func (d *Device) layout(n int) (layout, error) {
	d.progMu.Lock()
	defer d.progMu.Unlock()
	l := &d.layouts[n]
	if l.pipe != 0 {
		return *l, nil
	}
	if r := C.vkd_layout(d.vk, C.uint32_t(n), maxPush, &l.set, &l.pipe); r != 0 {
		return layout{}, vkError(fmt.Sprintf("making the layout of %d bindings", n), r)
	}
	return *l, nil
}

func (d *Device) closePrograms() {
	for _, p := range d.byCode {
		for _, pl := range p.pipelines {
			if pl.handle != 0 {
				C.vkd_pipeline_destroy(d.vk, C.uint64_t(pl.handle))
			}
		}
		if p.module != 0 {
			C.vkd_module_destroy(d.vk, C.uint64_t(p.module))
		}
	}
	for _, l := range d.layouts {
		C.vkd_layout_destroy(d.vk, l.set, l.pipe)
	}
	if d.cache != 0 {
		C.vkd_cache_destroy(d.vk, d.cache)
	}
}

// lossError marks the device lost when r says so.
func (d *Device) lossError(err error, r C.int) error {
	if vk.Result(r) != vk.ErrorDeviceLost {
		return err
	}
	d.lost.Store(true)
	return fmt.Errorf("%w (%v)", ErrDeviceLost, err)
}
