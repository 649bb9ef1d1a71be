package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
	"sort"
	"strings"

	vk "github.com/vulkan-go/vulkan"
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
	return &MemoryError{Wanted: wanted, Held: max(held, d.total), Budget: budget, Reason: reason,
		Largest: largest(list, 5),
		Advice: "Lower the batch size or the sequence length, keep weights or activations in 16 bits, " +
			"or choose another device"}
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
