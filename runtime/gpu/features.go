package gpu

/*
#include "vkshim.h"
#include <stdlib.h>
*/
import "C"

import (
	"strings"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"
)

// Structure types that are newer than the headers of vulkan-go. Source: Khronos vk.xml.
const (
	sFeatures2, sProperties2            = 1000059000, 1000059001
	sFeatures11, sFeatures12            = 49, 51
	sFeatures13                         = 53
	sProperties11, sSubgroupProps       = 50, 1000094000
	sDriverProps, sIDProps              = 1000196000, 1000071004
	sMaintenance3, sMaintenance4        = 1000168000, 1000413001
	sSubgroupControl, sSubgroupControl0 = 1000225000, 1000225002
	sCoopMat, sCoopMatProps             = 1000506000, 1000506001
	sCoopMat2, sFlexDims, sCoopMat2Max  = 1000593000, 1000593001, 1000593002
	sBF16                               = 1000141000
	sMemoryProps2, sBudget              = 1000059006, 1000237000
	sSMBuiltins                         = 1000154001
)

// chooser collects the feature structs and extensions of a device.
type chooser struct {
	in    *instance
	pd    unsafe.Pointer
	have  map[string]bool
	exts  []string
	chain *C.vk_chain
	all   []*C.vk_chain
}

func (c *chooser) make(sType uint32, next *C.vk_chain) *C.vk_chain {
	s := C.vkc_new(C.uint32_t(sType), unsafe.Pointer(next))
	c.all = append(c.all, s)
	return s
}

// free releases the structs; the device must exist by then.
func (c *chooser) free() {
	for _, s := range c.all {
		C.free(unsafe.Pointer(s))
	}
	c.all = nil
}

// get runs a vkGetPhysicalDevice...2 query on a struct of type head, chained with s.
func (c *chooser) get(name string, head uint32, s *C.vk_chain) *C.vk_chain {
	h := c.make(head, s)
	cn := C.CString(name)
	defer C.free(unsafe.Pointer(cn))
	C.vkp_get(c.in.gipa, c.in.inst, c.pd, cn, unsafe.Pointer(h))
	return h
}

// features asks for a struct of n booleans, switches off all that are not in want and chains it for device
// creation. It returns which of want the device has.
func (c *chooser) features(sType uint32, n int, want ...int) map[int]bool {
	s := c.make(sType, nil)
	c.get("vkGetPhysicalDeviceFeatures2", sFeatures2, s)
	on := map[int]bool{}
	for _, w := range want {
		on[w] = s.v[w] != 0
	}
	for i := range n {
		if !on[i] {
			s.v[i] = 0
		}
	}
	s.pNext = unsafe.Pointer(c.chain)
	c.chain = s
	return on
}

// extension enables an extension with all of the wanted features, or not at all.
func (c *chooser) extension(name string, sType uint32, n int, want ...int) bool {
	if !c.have[name] {
		return false
	}
	before := c.chain
	for _, has := range c.features(sType, n, want...) {
		if !has {
			c.chain = before
			return false
		}
	}
	c.exts = append(c.exts, name)
	return true
}

// choose fills in the features of a device and collects what to switch on. robustBufferAccess stays off: it
// costs bounds checks in every load.
func (c *chooser) choose(i *Info, api uint32) {
	if c.extension("VK_KHR_cooperative_matrix", sCoopMat, 2, 0) {
		i.CoopMat = c.shapes("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", sCoopMatProps, false)
	}
	if len(i.CoopMat) > 0 && c.extension("VK_NV_cooperative_matrix2", sCoopMat2, 7, 0, 1, 2, 3, 4, 5, 6) {
		i.CoopMat2 = true
		i.CoopMat2Shapes = c.shapes("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
			sFlexDims, true)
		limits := c.make(sCoopMat2Max, nil)
		c.get("vkGetPhysicalDeviceProperties2", sProperties2, limits)
		i.CoopMat2MaxDim, i.CoopMat2Reserve = int(limits.v[1]), int(limits.v[2])
	}
	i.BF16Coop = len(i.CoopMat) > 0 && c.extension("VK_KHR_shader_bfloat16", sBF16, 3, 0, 2)
	i.BF16 = i.BF16Coop || c.extension("VK_KHR_shader_bfloat16", sBF16, 3, 0)
	f11 := c.features(sFeatures11, 12, 0, 1)
	i.HasF16Storage = f11[0]
	f12 := c.features(sFeatures12, 47, 2, 7, 8, 31, 38, 41, 42)
	i.Storage8, i.Float16, i.Int8, i.HasBDA = f12[2], f12[7], f12[8], f12[38]
	i.MemoryModel = f12[41] && f12[42]
	switch {
	case api >= vk.MakeVersion(1, 3, 0):
		f13 := c.features(sFeatures13, 15, 7, 8, 13, 14)
		i.SubgroupControl, i.FullSubgroups, i.IntDot = f13[7], f13[8], f13[13]
	case c.extension("VK_EXT_subgroup_size_control", sSubgroupControl0, 2, 0, 1):
		i.SubgroupControl, i.FullSubgroups = true, true
	}
	if c.have["VK_NV_shader_sm_builtins"] { // its properties need no feature
		sm := c.make(sSMBuiltins, nil)
		c.get("vkGetPhysicalDeviceProperties2", sProperties2, sm)
		i.Units = int(sm.v[0])
	}
	if c.have["VK_EXT_memory_budget"] {
		c.exts = append(c.exts, "VK_EXT_memory_budget")
		i.hasBudget = true
	}
	all := c.get("vkGetPhysicalDeviceFeatures2", sFeatures2, nil)
	core := c.make(sFeatures2, c.chain)
	for _, f := range []int{39, 40, 41} { // shaderFloat64, shaderInt64, shaderInt16
		core.v[f] = all.v[f]
	}
	i.Float64, i.Int64, i.Int16 = all.v[39] != 0, all.v[40] != 0, all.v[41] != 0
	c.chain = core
}

// shapes lists cooperative matrix shapes; the entries of both lists are 56 bytes long.
func (c *chooser) shapes(name string, sType uint32, flex bool) []Shape {
	cn := C.CString(name)
	defer C.free(unsafe.Pointer(cn))
	var n C.uint32_t
	var out *C.uint8_t
	r := C.vkp_list(c.in.gipa, c.in.inst, c.pd, cn, C.uint32_t(sType), 56, &n, &out)
	defer C.free(unsafe.Pointer(out))
	if r != 0 {
		return nil
	}
	list := make([]Shape, 0, n)
	for k := range int(n) {
		v := unsafe.Slice((*uint32)(unsafe.Add(unsafe.Pointer(out), k*56+16)), 10)
		s := Shape{M: int(v[0]), N: int(v[1]), K: int(v[2]), A: componentName(v[3]), B: componentName(v[4]),
			C: componentName(v[5]), R: componentName(v[6]), Saturating: v[7] != 0, WorkgroupScope: v[8] == 2}
		if flex {
			s.Invocations = int(v[9])
		}
		list = append(list, s)
	}
	return list
}

// describe reads the properties of a physical device.
func describe(in *instance, pd unsafe.Pointer, index int) (Info, uint32) {
	vulkanGo.Lock()
	defer vulkanGo.Unlock()
	var pr vk.PhysicalDeviceProperties
	vk.GetPhysicalDeviceProperties(vkHandle[vk.PhysicalDevice](pd), &pr)
	pr.Deref()
	pr.Limits.Deref()
	l := pr.Limits
	i := Info{Index: index, Name: vk.ToString(pr.DeviceName[:]), API: versionText(pr.ApiVersion),
		VendorID: pr.VendorID,
		DeviceID: pr.DeviceID, Type: "other", IsCPU: pr.DeviceType == vk.PhysicalDeviceTypeCpu,
		MaxStorageBufferRange: int64(l.MaxStorageBufferRange),
		MinOffsetAlign:        int64(l.MinStorageBufferOffsetAlignment),
		MaxInvocations:        int(l.MaxComputeWorkGroupInvocations),
		SharedBytes:           int(l.MaxComputeSharedMemorySize),
		MaxBindings:           min(maxBindings, int(l.MaxPerStageDescriptorStorageBuffers)),
		TimestampNanos:        float64(l.TimestampPeriod)}
	if t := int(pr.DeviceType); t >= 0 && t < len(deviceTypes) {
		i.Type = deviceTypes[t]
	}
	for k := range 3 {
		i.MaxGroups[k] = int(min(l.MaxComputeWorkGroupCount[k], 1<<31-1))
		i.MaxGroupSize[k] = int(l.MaxComputeWorkGroupSize[k])
	}
	describe2(in, pd, &i, pr.ApiVersion)
	return i, pr.ApiVersion
}

var deviceTypes = []string{"other", "integrated", "discrete", "virtual", "cpu"}

// describe2 reads the chained property structs.
func describe2(in *instance, pd unsafe.Pointer, i *Info, api uint32) {
	c := &chooser{in: in, pd: pd}
	defer c.free()
	props := func(sType uint32) *C.vk_chain {
		s := c.make(sType, nil)
		c.get("vkGetPhysicalDeviceProperties2", sProperties2, s)
		return s
	}
	text := func(s *C.vk_chain, byteOff int) string {
		return C.GoString((*C.char)(unsafe.Add(unsafe.Pointer(&s.v[0]), byteOff)))
	}
	driver := props(sDriverProps) // driverID, name[256], info[256]
	i.Driver = strings.TrimSpace(text(driver, 4) + " " + text(driver, 260))
	id := props(sIDProps)
	copy(i.DeviceUUID[:], C.GoBytes(unsafe.Pointer(&id.v[0]), 16))
	copy(i.DriverUUID[:], C.GoBytes(unsafe.Pointer(&id.v[4]), 16))
	sub := props(sSubgroupProps) // size, stages, operations
	i.SubgroupSize, i.SubgroupOps = uint32(sub.v[0]), uint32(sub.v[2])
	i.MinSubgroup, i.MaxSubgroup = i.SubgroupSize, i.SubgroupSize
	if ctl := props(sSubgroupControl); ctl.v[0] != 0 {
		i.MinSubgroup, i.MaxSubgroup = uint32(ctl.v[0]), uint32(ctl.v[1])
	}
	m3 := props(sMaintenance3) // maxPerSetDescriptors, pad, maxMemoryAllocationSize
	i.MaxAllocation = clampInt64(*(*uint64)(unsafe.Pointer(&m3.v[2])))
	if api >= vk.MakeVersion(1, 3, 0) {
		m4 := props(sMaintenance4)
		if size := clampInt64(*(*uint64)(unsafe.Pointer(&m4.v[0]))); size > 0 {
			i.MaxAllocation = size // the hard limit; maxMemoryAllocationSize only says what surely works
		}
	}
}

func clampInt64(v uint64) int64 { return int64(min(v, 1<<62)) }
