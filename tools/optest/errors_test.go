package optest

import (
	"strings"
	"testing"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// TestErrors: wrong arguments become the recorder's error, which says what was found and what was wanted.
func TestErrors(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		name string
		run  func(r *nn.Recorder)
		want string
	}{
		{"inner dimensions", func(r *nn.Recorder) {
			r.Matmul(r.Alloc(gpu.F32, 2, 3), r.Alloc(gpu.F32, 4, 5), nn.MatmulOpts{})
		}, "inner dimensions 3 and 4 differ"},
		{"vector", func(r *nn.Recorder) {
			r.Matmul(r.Alloc(gpu.F32, 3), r.Alloc(gpu.F32, 3, 5), nn.MatmulOpts{})
		}, "both need two dimensions or more"},
		{"leading dimensions", func(r *nn.Recorder) {
			r.Matmul(r.Alloc(gpu.F32, 2, 2, 3), r.Alloc(gpu.F32, 4, 3, 5), nn.MatmulOpts{})
		}, "leading dimensions [2] and [4] neither agree nor are 1"},
		{"add", func(r *nn.Recorder) {
			r.Matmul(r.Alloc(gpu.F32, 2, 3), r.Alloc(gpu.F32, 3, 5), nn.MatmulOpts{Add: r.Alloc(gpu.F32, 2, 4)})
		}, "add is F32[2 4], want [2 5]"},
		{"linear input", func(r *nn.Recorder) {
			r.Linear(&nn.Linear{Weight: &nn.Param{Name: "w", Shape: []int{4, 8}}}, r.Alloc(gpu.F32, 2, 7))
		}, "linear w: x is F32[2 7], want 8 in its last dimension"},
		{"odd 16-bit rows", func(r *nn.Recorder) {
			r.Act = gpu.BF16
			r.Matmul(r.Alloc(gpu.F32, 2, 3), r.Alloc(gpu.F32, 3, 5), nn.MatmulOpts{})
		}, "use f32"},
		{"labels", func(r *nn.Recorder) {
			r.CrossEntropy(&nn.Batch{}, r.Alloc(gpu.F32, 4, 9), r.Alloc(gpu.I32, 3))
		}, "labels are I32[3], want i32 with 4 elements"},
		{"gradient without memory", func(r *nn.Recorder) {
			r.GradInto(&nn.Param{Name: "w"})
		}, "w: no memory for its gradient"},
		{"moments", func(r *nn.Recorder) {
			p := &nn.Param{Name: "w", Value: r.Alloc(gpu.BF16, 4), Grad: r.Alloc(gpu.F32, 4)}
			r.AdamW([]*nn.Param{p}, []nn.Moments{{M: r.Alloc(gpu.F32, 4), V: r.Alloc(gpu.F32, 4)}}, r.Alloc(gpu.F32, 16), gpu.Tensor{})
		}, "must be f32 of its length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recorder(d, gpu.F32)
			c.run(r)
			err := r.Err()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			r.Linear(&nn.Linear{Weight: &nn.Param{Shape: []int{1, 1}}}, gpu.Tensor{}) // no panic after an error
			if r.Err() != err {
				t.Errorf("the first error was replaced by %v", r.Err())
			}
		})
	}
}
