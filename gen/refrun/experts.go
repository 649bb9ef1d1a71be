package refrun

import (
	"math"
	"sort"
)

// expertLinear: In x [..., K, I], or [..., I] when the choices of a token share it, index [..., K] (the expert of each slot), weight
// [E, O, I], bias [E, O] or nil. Out y [..., K, O], zero for slots without an expert.
func expertLinear(c *Call) ([]*Array, error) {
	x, index, w := c.In[0], c.In[1], c.In[2]
	experts, out, in := w.Shape[0], w.Shape[1], w.Shape[2]
	share := len(index.Data) * in / len(x.Data)
	y := zeros(append(append([]int(nil), index.Shape...), out)...)
	for slot, v := range index.Data {
		e := int(v)
		if e < 0 || e >= experts {
			continue
		}
		for o := range out {
			row(y, slot)[o] = dot(row(w, e*out+o), row(x, slot/share))
			if len(c.In) > 3 && c.In[3] != nil {
				row(y, slot)[o] += row(c.In[3], e)[o]
			}
		}
	}
	return []*Array{y}, nil
}

// gatherLast: In x [..., E], index [..., K]. Out y[r,k] = x[r, index[r,k]].
func gatherLast(c *Call) ([]*Array, error) {
	x, index := c.In[0], c.In[1]
	y := zeros(index.Shape...)
	for i, v := range index.Data {
		y.Data[i] = row(x, i/index.Shape[len(index.Shape)-1])[int(v)]
	}
	return []*Array{y}, nil
}

// scatterLast: In dy [..., K], index [..., K]; attribute cols. Out dx [..., cols]: what goes to one place is added.
func scatterLast(c *Call) ([]*Array, error) {
	dy, index := c.In[0], c.In[1]
	dx := zeros(withLast(dy.Shape, intAttr(c, "cols", 1))...)
	for i, v := range index.Data {
		row(dx, i/index.Shape[len(index.Shape)-1])[int(v)] += dy.Data[i]
	}
	return []*Array{dx}, nil
}

// topk: In x [..., E]; attribute k. Out places of the largest values [..., k], the lower place on ties.
func topk(c *Call) ([]*Array, error) {
	x, k := c.In[0], intAttr(c, "k", 1)
	y := zeros(withLast(x.Shape, k)...)
	for r := range len(y.Data) / k {
		for i, at := range order(row(x, r))[:k] {
			row(y, r)[i] = float64(at)
		}
	}
	return []*Array{y}, nil
}

// order returns the places of values, the largest first and the lower place on ties.
func order(values []float64) []int {
	places := make([]int, len(values))
	for i := range places {
		places[i] = i
	}
	sort.SliceStable(places, func(i, j int) bool { return values[places[i]] > values[places[j]] })
	return places
}

// route: In index [..., K]; attribute experts. Out [experts+1+n]: where each expert's slots begin, then the n slots that have one, in
// order. What a kernel leaves behind them has no meaning.
func route(c *Call) ([]*Array, error) {
	experts := intAttr(c, "experts", 1)
	y := zeros(experts + 1 + len(c.In[0].Data))
	n := 0
	for e := range experts {
		y.Data[e] = float64(n)
		for slot, v := range c.In[0].Data {
			if int(v) == e {
				y.Data[experts+1+n] = float64(slot)
				n++
			}
		}
	}
	y.Data[experts] = float64(n)
	y.Data = y.Data[:experts+1+n]
	y.Shape[0] = len(y.Data)
	return []*Array{y}, nil
}

// groupLimit: In x [..., E]; attributes groups, keep, best, zero. Out x in the kept groups, -inf (zero: 0) in the others.
func groupLimit(c *Call) ([]*Array, error) {
	x, groups := c.In[0], intAttr(c, "groups", 1)
	y := zeros(x.Shape...)
	width := x.Shape[len(x.Shape)-1] / groups
	for i := range y.Data {
		if !boolAttr(c, "zero") {
			y.Data[i] = math.Inf(-1)
		}
	}
	for r := range len(x.Data) / (groups * width) {
		sums := make([]float64, groups)
		for g := range sums {
			values := row(x, r)[g*width : (g+1)*width]
			for _, at := range order(values)[:intAttr(c, "best", 1)] {
				sums[g] += values[at]
			}
		}
		for _, g := range order(sums)[:intAttr(c, "keep", 1)] {
			copy(row(y, r)[g*width:(g+1)*width], row(x, r)[g*width:(g+1)*width])
		}
	}
	return []*Array{y}, nil
}

// indexScores: In q [B, T, H, D], k [B, S, D], w [B, T, H]; attribute scale. Out y [B, T, S].
func indexScores(c *Call) ([]*Array, error) {
	q, k, w, scale := c.In[0], c.In[1], c.In[2], floatAttr(c, "scale", 1)
	T, H, S := q.Shape[1], q.Shape[2], k.Shape[1]
	y := zeros(q.Shape[0], T, S)
	for i := range y.Data {
		r, s := i/S, i%S
		for h := range H {
			y.Data[i] += row(w, r)[h] * max(0, scale*dot(row(q, r*H+h), row(k, r/T*S+s)))
		}
	}
	return []*Array{y}, nil
}

// chooseKeys: In scores [B, T, S]; attribute k; Batch tells what a query may see. Out [B, T, S], 1 for the k keys of largest score. Scores
// that are equal at the border have no choice of their own here.
func chooseKeys(c *Call) ([]*Array, error) {
	x, k := c.In[0], intAttr(c, "k", 1)
	a := &attentionArgs{batch: c.Batch, keys: c.Batch, causal: true, T: x.Shape[1], S: x.Shape[2]}
	y := zeros(x.Shape...)
	for r := range x.Shape[0] * a.T {
		left := k
		for _, s := range order(row(x, r)) {
			if left > 0 && a.seen(r/a.T, r%a.T, s) {
				row(y, r)[s] = 1
				left--
			}
		}
	}
	return []*Array{y}, nil
}
