package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
	"strings"
)

// lostError lists the kernels that were in flight when the device was lost. Other errors pass.
func (rec *Recording) lostError(err error) error {
	if !rec.dev.lost.Load() || rec.busy == nil {
		return err
	}
	c := rec.busy
	done := 0
	for k, f := range c.fences {
		if C.vkd_fence_status(rec.dev.vk, f) == 0 && k+1 < len(c.first) {
			done = c.first[k+1]
		}
	}
	return fmt.Errorf("%w; in flight: %s", err, kernelList(rec.ops[done:]))
}

// kernelList counts the operations by name: "matmul x3, Fill".
func kernelList(ops []op) string {
	count := map[string]int{}
	var names []string
	for _, o := range ops {
		n := o.name()
		if count[n] == 0 {
			names = append(names, n)
		}
		count[n]++
	}
	const most = 20
	text := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		if count[n] > 1 {
			n = fmt.Sprintf("%s x%d", n, count[n])
		}
		text = append(text, n)
	}
	if len(names) > most {
		text = append(text, fmt.Sprintf("and %d more kernels", len(names)-most))
	}
	return strings.Join(text, ", ")
}

func (o op) name() string {
	switch o.kind {
	case opFill:
		return "Fill"
	case opCopy:
		return "Copy"
	}
	return o.pipe.prog.kernel.Name
}
