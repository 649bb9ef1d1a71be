package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"fmt"
	"sort"
	"time"
)

// readTimes turns the timestamps of a run into times: of the whole, or per operation, and then into cuts.
func (rec *Recording) readTimes(c *commands) error {
	stamps := make([]uint64, c.stamps)
	if r := C.vkd_queries_get(rec.dev.vk, c.queries, C.uint32_t(len(stamps)), u64(stamps)); r != 0 {
		return rec.dev.lossError(vkError("vkGetQueryPoolResults", r), r)
	}
	if c.mode == stampsEnds {
		rec.total = 0
		for k := range c.first {
			rec.total += int64(float64(stamps[2*k+1]-stamps[2*k]) * rec.dev.Info.TimestampNanos)
		}
		return nil
	}
	rec.times = make([]int64, len(rec.ops))
	k := 0
	for i := range rec.ops {
		for k+1 < len(c.first) && c.first[k+1] <= i {
			k++
		}
		ticks := float64(stamps[i+1+k] - stamps[i+k])
		rec.times[i] = int64(ticks * rec.dev.Info.TimestampNanos)
	}
	if rec.cuts == nil && !rec.dev.Info.IsCPU {
		rec.cuts = cutByTime(rec.times, maxSubmission)
		rec.drop(&rec.final)
		rec.drop(&rec.timed)
	}
	rec.drop(&rec.measured)
	return nil
}

// Time runs the recording once, as Run does, and returns the device's own time for it, without the host's
// part. Tuners compare variants of a whole step by it.
func (rec *Recording) Time() (time.Duration, error) {
	if rec.measures() {
		if err := rec.Run(); err != nil {
			return 0, err
		}
	}
	err := rec.runStamped(&rec.timed, stampsEnds)
	return time.Duration(rec.total), err
}

func (rec *Recording) runStamped(c *commands, mode stamping) error {
	if !rec.dev.canMeasure() {
		return fmt.Errorf("the device %s has no timestamps", rec.dev.Info.Name)
	}
	if err := rec.Wait(); err != nil {
		return err
	}
	if err := rec.ready(); err != nil {
		return err
	}
	cuts := rec.finalCuts()
	if mode == stampsEach {
		cuts = every(len(rec.ops), unmeasuredBatch)
	}
	if err := rec.submit(c, cuts, mode); err != nil {
		return err
	}
	return rec.Wait()
}

// KernelTime sums the operations of one name and one number of workgroups in a profiled run.
type KernelTime struct {
	Name   string
	Groups int // workgroups of one operation; 0 for copies and fills
	Count  int
	Time   time.Duration
	Bytes  int64 // bound for reading and writing; what the kernel touched may be less or more
	Flops  int64 // as far as the recorder was told
}

// Profile runs the recording once with a barrier and a timestamp round every operation and returns the
// times by kernel and workgroups, longest first. Kernels that normally overlap are slower this way.
func (rec *Recording) Profile() ([]KernelTime, error) {
	if err := rec.runStamped(&rec.measured, stampsEach); err != nil {
		return nil, err
	}
	type key struct {
		name   string
		groups int
	}
	at := map[key]int{}
	var list []KernelTime
	for i, o := range rec.ops {
		id := key{o.name(), int(o.groups[0]) * int(o.groups[1]) * int(o.groups[2])}
		k, ok := at[id]
		if !ok {
			k = len(list)
			at[id], list = k, append(list, KernelTime{Name: id.name, Groups: id.groups})
		}
		list[k].Count++
		list[k].Time += time.Duration(rec.times[i])
		list[k].Flops += o.flops
		for _, u := range rec.uses(o) {
			if u.reads || u.writes {
				list[k].Bytes += u.to - u.from
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Time > list[j].Time })
	return list, nil
}
