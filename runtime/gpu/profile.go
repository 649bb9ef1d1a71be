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

// readTimes turns the timestamps of a measured run into times per operation and cuts.
func (rec *Recording) readTimes(c *commands) error {
	stamps := make([]uint64, len(rec.ops)+len(c.first))
	if r := C.vkd_queries_get(rec.dev.vk, c.queries, C.uint32_t(len(stamps)), u64(stamps)); r != 0 {
		return rec.dev.lossError(vkError("vkGetQueryPoolResults", r), r)
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
	}
	rec.drop(&rec.measured)
	return nil
}

// KernelTime sums the operations of one name in a profiled run.
type KernelTime struct {
	Name  string
	Count int
	Time  time.Duration
	Bytes int64 // bound for reading and writing; what the kernel touched may be less or more
}

// Profile runs the recording once with a barrier and a timestamp round every operation and returns the times
// by kernel, longest first. Kernels that normally overlap are slower this way.
func (rec *Recording) Profile() ([]KernelTime, error) {
	if !rec.dev.canMeasure() {
		return nil, fmt.Errorf("the device %s has no timestamps", rec.dev.Info.Name)
	}
	err := rec.Wait()
	if err == nil {
		err = rec.ready()
	}
	if err == nil {
		err = rec.submit(&rec.measured, every(len(rec.ops), unmeasuredBatch), true)
	}
	if err == nil {
		err = rec.Wait()
	}
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var list []KernelTime
	for i, o := range rec.ops {
		k, ok := at[o.name()]
		if !ok {
			k = len(list)
			at[o.name()], list = k, append(list, KernelTime{Name: o.name()})
		}
		list[k].Count++
		list[k].Time += time.Duration(rec.times[i])
		for _, u := range rec.uses(o) {
			if u.reads || u.writes {
				list[k].Bytes += u.to - u.from
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Time > list[j].Time })
	return list, nil
}
