package nn

import (
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// RelativeBiasAttrs: distances fall into Buckets buckets, logarithmically from half of a direction's buckets up to Distance.
type RelativeBiasAttrs struct {
	Heads, Buckets, Distance int
	Causal                   bool
}

// RelativeBuckets is the table of buckets by distance, made on the host as the reference makes it: the logarithm in float32.
type RelativeBuckets struct {
	a     RelativeBiasAttrs
	dev   *gpu.Device
	table gpu.Tensor // I32 [2*reach+1]: bucket of the distance index-reach
	reach int
}

// NewRelativeBuckets makes the table.
func NewRelativeBuckets(dev *gpu.Device, a RelativeBiasAttrs) (*RelativeBuckets, error) {
	if a.Buckets < 2 || a.Distance < 1 || a.Heads < 1 {
		return nil, fmt.Errorf("relative positions: %d buckets, distance %d, %d heads: want at least 2, 1 and 1", a.Buckets, a.Distance, a.Heads)
	}
	t := &RelativeBuckets{a: a, dev: dev, reach: a.Distance} // farther distances fall into the last bucket
	words := make([]int32, 2*t.reach+1)
	for i := range words {
		words[i] = int32(a.bucket(i - t.reach))
	}
	var err error
	if t.table, err = dev.Alloc(gpu.I32, len(words)); err != nil {
		return nil, err
	}
	return t, dev.Write(t.table, words)
}

// bucket of key minus query position. Source: transformers, T5Attention._relative_position_bucket.
func (a RelativeBiasAttrs) bucket(distance int) int {
	n, base := a.Buckets, 0
	if a.Causal {
		distance = max(-distance, 0)
	} else {
		n /= 2
		if distance > 0 {
			base = n
		}
		distance = max(distance, -distance)
	}
	exact := n / 2
	if distance < exact {
		return base + distance
	}
	far := float32(math.Log(float64(float32(distance)/float32(exact)))) / float32(math.Log(float64(a.Distance)/float64(exact)))
	return base + min(n-1, exact+int(far*float32(n-exact)))
}

// RelativeBias returns the bias F32 [1, H, T, S] of attention scores by relative position.
func (r *Recorder) RelativeBias(b *Batch, t *RelativeBuckets, weight *Param) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, 1, t.a.Heads, b.T, b.S)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.RelativeBias, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(y.Len()), uint32(b.T), uint32(b.S), uint32(t.a.Heads), uint32(t.reach), flag(b.Base.Valid())},
		weight.Value, t.table, b.Base, y)
	return y
}

// RelativeBiasGrad adds dy [1, H, T, S] to the gradient of the table, pair by pair in a fixed order.
func (r *Recorder) RelativeBiasGrad(b *Batch, t *RelativeBuckets, weight *Param, dy gpu.Tensor) {
	if r.Err() != nil || weight.Frozen || !dy.Valid() {
		return
	}
	// First the sums along diagonals, which share a distance, then those of distances that share a bucket.
	diag := r.Alloc(gpu.F32, 2*t.reach+1, t.a.Heads)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.RelativeDiagonals, ceilDiv(diag.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(diag.Len()), uint32(b.T), uint32(b.S), uint32(t.a.Heads), uint32(t.reach)}, dy, diag)
	grad, accumulate := r.GradInto(weight)
	r.DispatchLinear(&r.K.RelativeBiasGrad, ceilDiv(grad.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(grad.Len()), uint32(t.a.Heads), uint32(t.reach), flag(accumulate)}, diag, t.table, grad)
	r.Free(diag)
}
