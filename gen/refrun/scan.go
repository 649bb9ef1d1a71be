package refrun

import "math"

// causalConv is y[t] = bias + sum over j of weight[j] x[t - (K-1) + j], for every column: x [B T D], weight [D 1 K],
// bias [D] or nil. Inputs of another packed sequence count as zero.
func causalConv(c *Call) ([]*Array, error) {
	x, w := c.In[0], c.In[1]
	y := zeros(x.Shape...)
	taps(c, func(to, from, weight int) { y.Data[to] += w.Data[weight] * x.Data[from] })
	if c.In[2] != nil {
		for i := range y.Data {
			y.Data[i] += c.In[2].Data[i%x.Shape[2]]
		}
	}
	return []*Array{y}, nil
}

// taps visits every product of a convolution: places in y, x and the weight.
func taps(c *Call, see func(to, from, weight int)) {
	B, T, D, K := c.In[0].Shape[0], c.In[0].Shape[1], c.In[0].Shape[2], c.In[1].Shape[2]
	for i := range B * T * D {
		d, t, b := i%D, i/D%T, i/D/T
		for j := range K {
			from := t + j - (K - 1)
			if from < 0 || c.Batch != nil && c.Batch.apart(b*T+t, b*T+from) {
				continue
			}
			see(i, (b*T+from)*D+d, d*K+j)
		}
	}
}

// apart: the tokens belong to different packed sequences.
func (b *Batch) apart(i, j int) bool {
	return b.Seg != nil && b.Seg[i] != 0 && b.Seg[j] != 0 && b.Seg[i] != b.Seg[j]
}

// causalConvGrad returns the gradients of x, weight and bias; the fourth input is dy.
func causalConvGrad(c *Call) ([]*Array, error) {
	x, w, dy := c.In[0], c.In[1], c.In[3]
	dx, dw := zeros(x.Shape...), zeros(w.Shape...)
	taps(c, func(to, from, weight int) {
		dx.Data[from] += w.Data[weight] * dy.Data[to]
		dw.Data[weight] += x.Data[from] * dy.Data[to]
	})
	if c.In[2] == nil {
		return []*Array{dx, dw, nil}, nil
	}
	db := zeros(c.In[2].Shape...)
	for i, v := range dy.Data {
		db.Data[i%x.Shape[2]] += v
	}
	return []*Array{dx, dw, db}, nil
}

// selectiveScan is h = exp(dt a) h + dt x b, y = c . h: x, dt [B T G C], a [G C N], b, c [B T G N].
func selectiveScan(c *Call) ([]*Array, error) {
	y := zeros(c.In[0].Shape...)
	channels(c, func(s scanChannel) {
		s.run(c, func(t int, decay, before, after []float64) {
			y.Data[s.at(t)] = dot(after, c.In[4].Data[s.keys(t):][:s.N])
		})
	})
	return []*Array{y}, nil
}

// A scanChannel is one channel of one row.
type scanChannel struct{ T, G, C, N, b, g, ch int }

func (s scanChannel) at(t int) int   { return ((s.b*s.T+t)*s.G+s.g)*s.C + s.ch }
func (s scanChannel) keys(t int) int { return ((s.b*s.T+t)*s.G + s.g) * s.N }

func channels(c *Call, see func(s scanChannel)) {
	x, n := c.In[0].Shape, c.In[2].Shape[2]
	for b := range x[0] {
		for g := range x[2] {
			for ch := range x[3] {
				see(scanChannel{x[1], x[2], x[3], n, b, g, ch})
			}
		}
	}
}

// run shows, for every token, the decays, the decayed states before it and the states after it.
func (s scanChannel) run(c *Call, see func(t int, decay, before, after []float64)) {
	h := make([]float64, s.N)
	for t := range s.T {
		dt, x := c.In[1].Data[s.at(t)], c.In[0].Data[s.at(t)]
		decay, before, after := make([]float64, s.N), make([]float64, s.N), make([]float64, s.N)
		for n := range s.N {
			if !c.Batch.starts(s.b, t) {
				decay[n] = math.Exp(dt * c.In[2].Data[(s.g*s.C+s.ch)*s.N+n])
			}
			before[n] = decay[n] * h[n]
			after[n] = before[n] + dt*x*c.In[3].Data[s.keys(t)+n]
		}
		see(t, decay, before, after)
		h = after
	}
}

// selectiveScanGrad returns the gradients of the five inputs; the sixth input is dy.
func selectiveScanGrad(c *Call) ([]*Array, error) {
	out := make([]*Array, 5)
	for i := range out {
		out[i] = zeros(c.In[i].Shape...)
	}
	channels(c, func(s scanChannel) {
		type step struct{ decay, before, after []float64 }
		steps := make([]step, s.T)
		s.run(c, func(t int, decay, before, after []float64) { steps[t] = step{decay, before, after} })
		d, rates := make([]float64, s.N), (s.g*s.C+s.ch)*s.N
		for t := s.T - 1; t >= 0; t-- {
			at, keys, st := s.at(t), s.keys(t), steps[t]
			x, dt, dy := c.In[0].Data[at], c.In[1].Data[at], c.In[5].Data[at]
			for n := range s.N {
				a, b := c.In[2].Data[rates+n], c.In[3].Data[keys+n]
				d[n] += c.In[4].Data[keys+n] * dy
				out[4].Data[keys+n] += st.after[n] * dy
				out[3].Data[keys+n] += d[n] * dt * x
				out[0].Data[at] += d[n] * dt * b
				out[1].Data[at] += d[n] * (x*b + a*st.before[n])
				out[2].Data[rates+n] += d[n] * dt * st.before[n]
				d[n] *= st.decay[n]
			}
		}
	})
	return out, nil
}
