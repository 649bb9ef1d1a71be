package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"
)

// List describes all Vulkan devices, in the order that Options.Device counts.
func List() ([]Info, error) {
	in, err := openInstance(false)
	if err != nil {
		return nil, err
	}
	defer in.close()
	pds, err := in.devices()
	if err != nil {
		return nil, err
	}
	list := make([]Info, len(pds))
	for k, pd := range pds {
		var api uint32
		list[k], api = describe(in, pd, k)
		queueFamily(pd, &list[k])
		(&Device{pd: pd}).memoryTypes(&list[k])
		if c, err := newChooser(in, pd); err == nil {
			c.choose(&list[k], api)
			c.free()
		}
	}
	return list, nil
}

// pick chooses a device by index, part of the name, or score.
func pick(infos []Info, want string) (int, error) {
	if n, err := strconv.Atoi(want); err == nil {
		if n < 0 || n >= len(infos) {
			return 0, fmt.Errorf("no Vulkan device %d; there are: %s", n, deviceList(infos))
		}
		return n, nil
	}
	score := map[string]int{"discrete": 5, "integrated": 4, "virtual": 3, "other": 2, "cpu": 1}
	best := -1
	for k := range infos {
		match := strings.Contains(strings.ToLower(infos[k].Name), strings.ToLower(want))
		if match && (best < 0 || score[infos[k].Type] > score[infos[best].Type]) {
			best = k
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("no Vulkan device has %q in its name; there are: %s", want, deviceList(infos))
	}
	return best, nil
}

func deviceList(infos []Info) string {
	var s []string
	for _, i := range infos {
		s = append(s, fmt.Sprintf("%d: %s (%s)", i.Index, i.Name, i.Type))
	}
	return strings.Join(s, ", ")
}

// queueFamily prefers a family that computes without graphics: its submissions have less overhead and no
// display work. It sets HasTimestamps and returns -1 when no family computes.
func queueFamily(device unsafe.Pointer, i *Info) int {
	vulkanGo.Lock()
	defer vulkanGo.Unlock()
	pd := vkHandle[vk.PhysicalDevice](device)
	var n uint32
	vk.GetPhysicalDeviceQueueFamilyProperties(pd, &n, nil)
	list := make([]vk.QueueFamilyProperties, n)
	vk.GetPhysicalDeviceQueueFamilyProperties(pd, &n, list)
	best, pure := -1, false
	for k := range list {
		list[k].Deref()
		flags := vk.QueueFlagBits(list[k].QueueFlags)
		alone := flags&vk.QueueGraphicsBit == 0
		if flags&vk.QueueComputeBit == 0 || best >= 0 && (pure || !alone) {
			continue
		}
		best, pure = k, alone
		i.HasTimestamps = list[k].TimestampValidBits >= 36 && i.TimestampNanos > 0
	}
	return best
}

func newChooser(in *instance, pd unsafe.Pointer) (*chooser, error) {
	have, err := nameList(func(buf *C.char, n C.size_t) C.int {
		return C.vkp_extensions(in.gipa, in.inst, pd, buf, n)
	})
	return &chooser{in: in, pd: pd, have: have}, err
}
