package gpu

/*
#cgo LDFLAGS: -ldl
#include "vkshim.h"
#include <stdlib.h>
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"
)

// vulkanGo guards the entry points that vulkan-go keeps in C globals: they are set while an instance is
// opened and used for device queries only.
var vulkanGo sync.Mutex

// keeper opens one instance that is never closed. The loader unloads drivers with the last instance, and
// NVIDIA's driver loses thread-local storage each time it is loaded: after some thirty Opens in one process
// there would be "no driver".
var keeper sync.Once

const validationLayer = "VK_LAYER_KHRONOS_validation"

// instance is a Vulkan instance, with a message sink when validation is on.
type instance struct {
	gipa      unsafe.Pointer
	inst      unsafe.Pointer
	version   uint32
	sink      *C.vk_sink
	messenger C.uint64_t
}

const (
	noLoader = "no Vulkan loader (%s): install the Debian packages libvulkan1 and, for a driver, " +
		"mesa-vulkan-drivers (or the GPU vendor's driver)"
	noDriver = "no Vulkan driver: install the Debian package mesa-vulkan-drivers or the GPU vendor's driver"
	noDevice = "no Vulkan device: install the Debian package mesa-vulkan-drivers (it has a CPU driver, " +
		"lavapipe) or the GPU vendor's driver"
)

// openInstance loads libvulkan.so.1 and creates an instance.
func openInstance(validation bool) (*instance, error) {
	vulkanGo.Lock()
	defer vulkanGo.Unlock()
	gipa := C.vkl_load()
	if gipa == nil {
		return nil, fmt.Errorf(noLoader, C.GoString(C.vkl_error()))
	}
	keeper.Do(func() { keepDrivers(gipa) })
	in := &instance{gipa: gipa, version: uint32(C.vki_version(gipa))}
	if in.version < vk.MakeVersion(1, 2, 0) {
		return nil, fmt.Errorf("the Vulkan loader is version %s; 1.2 or later is needed", versionText(in.version))
	}
	exts, layers, err := in.wanted(validation)
	if err != nil {
		return nil, err
	}
	if validation {
		in.sink = C.vks_new()
	}
	names := cNames(append(append([]string(nil), exts...), layers...))
	api := C.uint32_t(min(in.version, vk.MakeVersion(1, 3, 0)))
	if r := C.vki_create(gipa, api, (*C.char)(unsafe.Pointer(&names[0])), C.uint32_t(len(exts)),
		C.uint32_t(len(layers)), in.sink, &in.inst); r != 0 {
		in.inst = nil
		in.close()
		if vk.Result(r) == vk.ErrorIncompatibleDriver {
			return nil, errors.New(noDriver)
		}
		return nil, vkError("vkCreateInstance", r)
	}
	if err := in.attach(); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// attach connects the message sink and vulkan-go to the new instance.
func (in *instance) attach() error {
	if in.sink != nil {
		if r := C.vki_messenger(in.gipa, in.inst, in.sink, &in.messenger); r != 0 {
			return vkError("vkCreateDebugUtilsMessengerEXT", r)
		}
	}
	vk.SetGetInstanceProcAddr(in.gipa)
	if err := vk.Init(); err != nil {
		return err
	}
	return vk.InitInstance(vkHandle[vk.Instance](in.inst))
}

// keepDrivers creates the keeper's instance and makes it load the drivers. Errors come again for the real
// instance.
func keepDrivers(gipa unsafe.Pointer) {
	var inst unsafe.Pointer
	none := cNames(nil)
	if C.vki_create(gipa, C.uint32_t(vk.MakeVersion(1, 1, 0)), (*C.char)(unsafe.Pointer(&none[0])), 0, 0, nil,
		&inst) == 0 {
		var n C.uint32_t
		C.vki_devices(gipa, inst, &n, nil)
	}
}

// wanted lists the instance extensions and layers.
func (in *instance) wanted(validation bool) (exts, layers []string, err error) {
	if !validation {
		return nil, nil, nil
	}
	have, err := nameList(func(buf *C.char, n C.size_t) C.int { return C.vki_names(in.gipa, 0, nil, buf, n) })
	if err != nil {
		return nil, nil, err
	}
	if !have[validationLayer] {
		return nil, nil, fmt.Errorf("validation wanted, but the layer %s is missing: install the Debian package "+
			"vulkan-validationlayers", validationLayer)
	}
	return []string{"VK_EXT_debug_utils", "VK_EXT_validation_features"}, []string{validationLayer}, nil
}

func (in *instance) close() {
	if in.inst != nil {
		C.vki_destroy(in.gipa, in.inst, in.messenger)
		in.inst = nil
	}
	if in.sink != nil {
		C.vks_free(in.sink)
		in.sink = nil
	}
}

// devices lists the physical devices in the loader's order.
func (in *instance) devices() ([]unsafe.Pointer, error) {
	var n C.uint32_t
	if r := C.vki_devices(in.gipa, in.inst, &n, nil); r != 0 {
		return nil, vkError("vkEnumeratePhysicalDevices", r)
	}
	if n == 0 {
		return nil, errors.New(noDevice)
	}
	list := make([]unsafe.Pointer, n)
	if r := C.vki_devices(in.gipa, in.inst, &n, &list[0]); r < 0 {
		return nil, vkError("vkEnumeratePhysicalDevices", r)
	}
	return list[:n], nil
}

// messages takes the collected validation messages: errors and warnings.
func (in *instance) messages() (errs, warnings []string) {
	if in.sink == nil {
		return nil, nil
	}
	buf := make([]byte, 1<<20)
	n := C.vks_take(in.sink, (*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
	for _, m := range bytes.Split(buf[:n], []byte{0}) {
		switch {
		case len(m) < 2 || bytes.Contains(m, []byte("unknown VkStructureType")): // a layer older than the driver
		case m[0] == 'E':
			errs = append(errs, string(m[1:]))
		default:
			warnings = append(warnings, string(m[1:]))
		}
	}
	return errs, warnings
}

// nameList runs a shim query that joins names by newlines.
func nameList(query func(*C.char, C.size_t) C.int) (map[string]bool, error) {
	buf := make([]byte, 1<<18)
	if r := query((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf))); r < 0 {
		return nil, vkError("listing layers or extensions", r)
	}
	have := map[string]bool{}
	for _, n := range strings.Split(string(buf[:bytes.IndexByte(buf, 0)]), "\n") {
		have[n] = n != ""
	}
	return have, nil
}

// cNames joins names with NUL bytes; the result is never empty.
func cNames(names []string) []byte { return []byte(strings.Join(names, "\x00") + "\x00") }

func versionText(v uint32) string { return fmt.Sprintf("%d.%d.%d", v>>22, v>>12&0x3ff, v&0xfff) }

// vkError describes a failed call. Out of memory and device loss get better messages where they are
// expected.
func vkError[R ~int32](what string, r R) error {
	if err := vk.Error(vk.Result(r)); err != nil {
		return fmt.Errorf("%s: %w (%d)", what, err, int(r))
	}
	return fmt.Errorf("%s: result %d", what, int(r))
}

// vkHandle turns a pointer into vulkan-go's handle type.
func vkHandle[T any](p unsafe.Pointer) T { return *(*T)(unsafe.Pointer(&p)) }
