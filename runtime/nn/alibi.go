package nn

import (
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// AlibiAttrs describe ALiBi slopes: a geometric series that reaches 2^-Max at the last head.
type AlibiAttrs struct {
	Heads       int
	On          bool    // false: no slopes
	Max         float64 // exponent of the last slope
	Scale       float64 // multiplies the slopes
	BF16        bool    // slopes are rounded to bf16 before the scale
	Interleaved bool    // of the next power of two take the odd places first
}

// AlibiSlopes is the table of slopes; nil when they are off.
type AlibiSlopes struct{ t gpu.Tensor }

// NewAlibiSlopes makes the table. Source: Press et al. 2021, and the references' ways with head counts that are no power of two.
func NewAlibiSlopes(dev *gpu.Device, a AlibiAttrs) (*AlibiSlopes, error) {
	if !a.On {
		return &AlibiSlopes{}, nil
	}
	if a.Heads < 1 {
		return nil, fmt.Errorf("alibi: %d heads, want at least 1", a.Heads)
	}
	t, err := dev.Alloc(gpu.F32, a.Heads)
	if err != nil {
		return nil, err
	}
	words := make([]float32, a.Heads)
	for i, v := range a.slopes() {
		if a.BF16 {
			v = float64(math.Float32frombits(uint32(roundBF16(float32(v))) << 16))
		}
		words[i] = float32(v * a.Scale)
	}
	return &AlibiSlopes{t}, dev.Write(t, words)
}

func (a AlibiAttrs) slopes() []float64 {
	power := 1
	for 2*power <= a.Heads {
		power *= 2
	}
	series := func(n int) []float64 {
		return Each(n, func(i int) float64 { return math.Exp2(-float64(i+1) * a.Max / float64(n)) })
	}
	out := series(power)
	if power == a.Heads {
		return out
	}
	more := series(2 * power)
	if a.Interleaved {
		out = out[:0]
		for i := 1; i < len(more); i += 2 {
			out = append(out, more[i])
		}
	}
	for i := 0; len(out) < a.Heads; i += 2 {
		out = append(out, more[i])
	}
	return out[:a.Heads]
}

// roundBF16 rounds to the nearest bf16, ties to even.
func roundBF16(v float32) uint16 {
	u := math.Float32bits(v)
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// Alibi returns the slopes F32 [H], the zero Tensor when they are off.
func (r *Recorder) Alibi(t *AlibiSlopes) gpu.Tensor { return t.t }
