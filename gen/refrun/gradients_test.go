package refrun

import (
	"math"
	"math/rand/v2"
	"testing"
)

// central compares g with central differences of sum(out[0] * dy) with respect to input i.
func central(t *testing.T, f Func, c *Call, i int, dy []float64, g *Array) {
	t.Helper()
	const h = 1e-5
	value := func() float64 {
		out, err := f(c)
		if err != nil {
			t.Fatal(err)
		}
		return dot(out[0].Data, dy)
	}
	for n := range g.Data {
		x := &c.In[i].Data[n]
		keep := *x
		*x = keep + h
		up := value()
		*x = keep - h
		want := (up - value()) / (2 * h)
		*x = keep
		if math.Abs(g.Data[n]-want) > 1e-8 {
			t.Errorf("input %d element %d: gradient %g, central difference %g", i, n, g.Data[n], want)
		}
	}
}

func TestLinearGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	in := []*Array{random(r, 2, 3, 5), random(r, 4, 5), random(r, 4), random(r, 2, 3, 4)}
	c := &Call{In: in}
	grads, err := linearGrad(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range grads {
		central(t, linear, c, i, in[3].Data, g)
	}
}

func TestEmbedGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	index := &Array{Shape: []int{2, 3}, Data: []float64{4, 1, 4, 0, 1, 4}}
	in := []*Array{random(r, 6, 3), index, random(r, 2, 3, 3)}
	c := &Call{In: in}
	grads, err := embedGrad(c)
	if err != nil {
		t.Fatal(err)
	}
	central(t, embed, c, 0, in[2].Data, grads[0])
}

func TestCrossEntropyGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	in := []*Array{random(r, 5, 7), {Shape: []int{5}, Data: []float64{6, 0, -100, 3, 3}}}
	c := &Call{In: in, Batch: &Batch{LossScale: 0.25}}
	grads, err := crossEntropyGrad(c)
	if err != nil {
		t.Fatal(err)
	}
	central(t, crossEntropy, c, 0, []float64{1, 1, 1, 1, 1}, grads[0])
}

func TestMatmulBroadcast(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := random(r, 2, 1, 3, 4), random(r, 5, 4, 2)
	out, err := matmul(&Call{In: []*Array{a, b}, Attr: map[string]any{"alpha": 2.0}})
	if err != nil {
		t.Fatal(err)
	}
	y := out[0]
	for s := range 10 {
		for i := range 3 {
			for j := range 2 {
				want := 0.0
				for k := range 4 {
					want += 2 * a.Data[(s/5*3+i)*4+k] * b.Data[(s%5*4+k)*2+j]
				}
				if got := y.Data[(s*3+i)*2+j]; math.Abs(got-want) > 1e-12 {
					t.Errorf("product %d [%d %d]: %g, want %g", s, i, j, got, want)
				}
			}
		}
	}
}
