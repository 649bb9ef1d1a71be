package refrun

import (
	"math"
	"math/rand/v2"
	"testing"
)

// packed is a batch whose first row holds two sequences and whose second row begins with padding.
func packed(T int) *Batch {
	b := &Batch{B: 2, T: T, S: T, Seg: make([]int, 2*T)}
	for t := range T {
		b.Seg[t], b.Seg[T+t] = 1+t/3, min(t, 1)
	}
	return b
}

func TestRecurrenceGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for _, c := range []struct {
		name  string
		M     int
		delta bool
	}{{"decay a head", 1, false}, {"decay a row", 3, false}, {"delta", 1, true}, {"delta, decay a row", 3, true}} {
		t.Run(c.name, func(t *testing.T) {
			in := []*Array{random(r, 2, 5, 1, 3), random(r, 2, 5, 1, 3), random(r, 2, 5, 2, 4), random(r, 2, 5, 2, c.M)}
			if c.delta {
				in = append(in, random(r, 2, 5, 2))
			}
			dy := random(r, 2, 5, 2, 4)
			grads, err := linearRecurrenceGrad(&Call{In: append(in[:len(in):len(in)], dy), Batch: packed(5)})
			if err != nil {
				t.Fatal(err)
			}
			for i, g := range grads {
				central(t, linearRecurrence, &Call{In: in, Batch: packed(5)}, i, dy.Data, g)
			}
		})
	}
}

func TestScanGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	in := []*Array{random(r, 2, 5, 2, 3), random(r, 2, 5, 2, 3), random(r, 2, 3, 4), random(r, 2, 5, 2, 4), random(r, 2, 5, 2, 4)}
	for i := range in[2].Data {
		in[2].Data[i] = -math.Abs(in[2].Data[i])
	}
	for i := range in[1].Data {
		in[1].Data[i] = math.Abs(in[1].Data[i])
	}
	dy := random(r, 2, 5, 2, 3)
	grads, err := selectiveScanGrad(&Call{In: append(in[:5:5], dy), Batch: packed(5)})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range grads {
		central(t, selectiveScan, &Call{In: in, Batch: packed(5)}, i, dy.Data, g)
	}
}

func TestConvGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	in := []*Array{random(r, 2, 5, 3), random(r, 3, 1, 4), random(r, 3)}
	dy := random(r, 2, 5, 3)
	grads, err := causalConvGrad(&Call{In: append(in[:3:3], dy), Batch: packed(5)})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range grads {
		central(t, causalConv, &Call{In: in, Batch: packed(5)}, i, dy.Data, g)
	}
}
