package nn

import (
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// RelativeGatherAttrs: 2 Span columns for the distances -Span .. Span-1; farther ones use the ends. With Buckets,
// distances beyond half of them are counted logarithmically up to Distance. ByKey takes the rows of keys.
type RelativeGatherAttrs struct {
	Span, Buckets, Distance int
	ByKey                   bool
}

// RelativeColumns is the table of columns by distance, and of distances by column.
type RelativeColumns struct {
	a     RelativeGatherAttrs
	table gpu.Tensor
	reach int
}

// NewRelativeColumns makes the table.
func NewRelativeColumns(dev *gpu.Device, a RelativeGatherAttrs) (*RelativeColumns, error) {
	if a.Span < 1 || a.Buckets > 0 && (a.Buckets < 4 || a.Distance <= a.Buckets/2+1) {
		return nil, fmt.Errorf("relative distances: span %d, %d buckets up to %d: want a span, and at least 4 buckets and a distance beyond half of them",
			a.Span, a.Buckets, a.Distance)
	}
	reach, last := 1, 2*a.Span-1
	for a.column(reach) < last || a.column(-reach) > 0 {
		if reach *= 2; reach > 1<<22 {
			return nil, fmt.Errorf("relative distances: %d buckets up to %d never reach the last of %d columns", a.Buckets, a.Distance, last+1)
		}
	}
	words := make([]int32, 2*reach+1+2*(last+1))
	pairs := words[2*reach+1:]
	for c := range last + 1 {
		pairs[2*c], pairs[2*c+1] = math.MaxInt32/2, math.MinInt32/2 // no distance
	}
	for d := -reach; d <= reach; d++ {
		c := a.column(d)
		words[d+reach] = int32(c)
		pairs[2*c], pairs[2*c+1] = min(pairs[2*c], int32(d)), max(pairs[2*c+1], int32(d))
	}
	pairs[0], pairs[2*last+1] = math.MinInt32/2, math.MaxInt32/2
	t := &RelativeColumns{a: a, reach: reach}
	var err error
	if t.table, err = dev.Alloc(gpu.I32, len(words)); err != nil {
		return nil, err
	}
	return t, dev.Write(t.table, words)
}

// column of query minus key position. Source: transformers, make_log_bucket_position, in float32.
func (a RelativeGatherAttrs) column(d int) int {
	if mid := a.Buckets / 2; a.Buckets > 0 && (d > mid || d < -mid) {
		far := float32(math.Log(float64(float32(max(d, -d))/float32(mid)))) / float32(math.Log(float64(float32(a.Distance-1)/float32(mid))))
		n := int(math.Ceil(float64(far*float32(mid-1)))) + mid
		if d < 0 {
			n = -n
		}
		d = n
	}
	return min(max(d+a.Span, 0), 2*a.Span-1)
}

// RelativeGather returns y F32 [B, H, T, T] with y[t, s] = x[row, column of t-s] for x [B, H, T, 2 Span]; the row is t, or
// s with ByKey.
func (r *Recorder) RelativeGather(t *RelativeColumns, x gpu.Tensor) gpu.Tensor {
	if r.Err() != nil || !r.f32Only("relative_gather", x) {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[2])
	r.relativeGather(t, x, y, 0)
	return y
}

// RelativeGatherGrad returns the gradient of x: for every row and column the sum of dy over its pairs, in order.
func (r *Recorder) RelativeGatherGrad(t *RelativeColumns, dy gpu.Tensor) gpu.Tensor {
	if r.Err() != nil || !r.f32Only("relative_gather", dy) {
		return gpu.Tensor{}
	}
	dx := r.Alloc(gpu.F32, dy.Shape[0], dy.Shape[1], dy.Shape[2], 2*t.a.Span)
	r.relativeGather(t, dy, dx, 1)
	return dx
}

func (r *Recorder) relativeGather(t *RelativeColumns, x, y gpu.Tensor, back uint32) {
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.RelativeGather, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes), flag(t.a.ByKey), back},
		[]uint32{uint32(y.Len()), uint32(x.Shape[2]), uint32(2 * t.a.Span), uint32(t.reach)}, x, t.table, y)
}
