package refrun

import (
	"math"
	"math/rand/v2"
	"testing"
)

func random(r *rand.Rand, shape ...int) *Array {
	a := zeros(shape...)
	for i := range a.Data {
		a.Data[i] = r.NormFloat64()
	}
	return a
}

// TestAttentionGradients compares every gradient with central differences of sum(y * dy).
func TestAttentionGradients(t *testing.T) {
	const B, T, S, H, K, E, V = 2, 4, 5, 4, 2, 3, 5
	for _, c := range []struct {
		name         string
		attr         map[string]any
		bias         int // batches of the bias, 0: none
		sinks, slope bool
	}{
		{"plain", map[string]any{"scale": 0.7}, 0, false, false},
		{"causal window sinks", map[string]any{"scale": 0.7, "causal": true, "window": 2}, 0, true, false},
		{"softcap bias slopes", map[string]any{"scale": 1.3, "softcap": 2.0}, 1, false, true},
		{"dropout", map[string]any{"scale": 0.7, "dropout": 0.4, "seed0": 1, "key": 3}, 0, true, false},
		{"batch bias sinks", map[string]any{"scale": 1.3, "causal": true}, B, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			in := []*Array{
				random(r, B, T, H, E),
				random(r, B, S, K, E),
				random(r, B, S, K, V),
				nil,
				nil,
				nil,
				random(r, B, T, H, V),
			}
			if c.bias > 0 {
				in[3] = random(r, c.bias, H, T, S)
			}
			if c.sinks {
				in[4] = random(r, H)
			}
			if c.slope {
				in[5] = random(r, H)
			}
			batch := &Batch{
				B:      B,
				T:      T,
				S:      S,
				Base:   1,
				Seg:    []int{1, 1, 2, 0, 1, 1, 1, 1},
				KeySeg: []int{1, 1, 2, 2, 0, 1, 1, 1, 1, 1},
			}
			call := &Call{In: in, Attr: c.attr, Batch: batch}
			grads, err := attentionGrad(call)
			if err != nil {
				t.Fatal(err)
			}
			for i, g := range grads {
				if (in[i] == nil) != (g == nil) {
					t.Fatalf("gradient %d: given %v, input %v", i, g, in[i])
				}
				if g != nil {
					compare(t, call, i, g)
				}
			}
		})
	}
}

func compare(t *testing.T, call *Call, i int, g *Array) {
	t.Helper()
	const h = 1e-5
	loss := func() float64 {
		out, err := attention(call)
		if err != nil {
			t.Fatal(err)
		}
		return dot(out[0].Data, call.In[6].Data)
	}
	for n := range g.Data {
		x := &call.In[i].Data[n]
		keep := *x
		*x = keep + h
		up := loss()
		*x = keep - h
		want := (up - loss()) / (2 * h)
		*x = keep
		if math.Abs(g.Data[n]-want) > 1e-8 {
			t.Errorf("input %d element %d: gradient %g, central difference %g", i, n, g.Data[n], want)
		}
	}
}

// TestPhilox has known answers of the generator's authors.
func TestPhilox(t *testing.T) {
	const all = 0xffffffff
	for _, c := range []struct {
		name    string
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{"zeros", [4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{"ones", [4]uint32{all, all, all, all}, [2]uint32{all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := philox(c.counter, c.key); got != c.want {
				t.Errorf("%08x, want %08x", got, c.want)
			}
		})
	}
}
