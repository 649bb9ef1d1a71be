package refrun

import "math"

// starts reports whether token t of row b begins a packed sequence after another, so that the state before it is gone.
func (b *Batch) starts(row, t int) bool {
	if b == nil || b.Seg == nil || t == 0 {
		return false
	}
	own, before := b.Seg[row*b.T+t], b.Seg[row*b.T+t-1]
	return own != 0 && before != 0 && own != before
}

// recurrenceShape is the shape of a linear recurrence: q, k [B T G N], v [B T H P], g [B T H M].
type recurrenceShape struct{ B, T, G, H, N, P, M int }

func shapeOf(in []*Array) recurrenceShape {
	q, v, g := in[0].Shape, in[2].Shape, in[3].Shape
	return recurrenceShape{q[0], q[1], q[2], v[2], q[3], v[3], g[3]}
}

func (s recurrenceShape) keys(b, t, h int) int { return ((b*s.T+t)*s.G + h*s.G/s.H) * s.N }
func (s recurrenceShape) head(b, t, h int) int { return (b*s.T+t)*s.H + h }

// decay is exp(g) of row n of the state, 0 where a sequence begins.
func (s recurrenceShape) decay(c *Call, b, t, h, n int) float64 {
	if c.Batch.starts(b, t) {
		return 0
	}
	return math.Exp(c.In[3].Data[s.head(b, t, h)*s.M+n%s.M])
}

// linearRecurrence is S = exp(g) S + k v, y = q . S; with a fifth input beta the delta rule, whose second result is
// v - k . exp(g) S.
func linearRecurrence(c *Call) ([]*Array, error) {
	s := shapeOf(c.In)
	y, rest := zeros(c.In[2].Shape...), zeros(c.In[2].Shape...)
	for b := range s.B {
		for h := range s.H {
			s.states(c, b, h, func(t int, before, after []float64, e []float64) {
				q := c.In[0].Data[s.keys(b, t, h):]
				copy(rest.Data[s.head(b, t, h)*s.P:], e)
				for n := range s.N {
					axpy(y.Data[s.head(b, t, h)*s.P:][:s.P], q[n], after[n*s.P:(n+1)*s.P])
				}
			})
		}
	}
	if len(c.In) < 5 {
		return []*Array{y}, nil
	}
	return []*Array{y, rest}, nil
}

// states runs the recurrence of one head and shows, for every token, the decayed state before it and the state after it.
func (s recurrenceShape) states(c *Call, b, h int, see func(t int, before, after, e []float64)) {
	state := make([]float64, s.N*s.P)
	for t := range s.T {
		k, v := c.In[1].Data[s.keys(b, t, h):], c.In[2].Data[s.head(b, t, h)*s.P:][:s.P]
		before := make([]float64, len(state))
		for n := range s.N {
			axpy(before[n*s.P:(n+1)*s.P], s.decay(c, b, t, h, n), state[n*s.P:(n+1)*s.P])
		}
		e, beta := append([]float64(nil), v...), 1.0
		if len(c.In) > 4 && c.In[4] != nil {
			beta = c.In[4].Data[s.head(b, t, h)]
			for n := range s.N {
				axpy(e, -k[n], before[n*s.P:(n+1)*s.P])
			}
		}
		state = append([]float64(nil), before...)
		for n := range s.N {
			axpy(state[n*s.P:(n+1)*s.P], k[n]*beta, e)
		}
		see(t, before, state, e)
	}
}

// linearRecurrenceGrad returns the gradients of all inputs; the last input is dy.
func linearRecurrenceGrad(c *Call) ([]*Array, error) {
	last := len(c.In) - 1
	f := &Call{In: c.In[:last], Batch: c.Batch}
	s, dy := shapeOf(c.In), c.In[last]
	out := make([]*Array, last)
	for i := range out {
		out[i] = zeros(c.In[i].Shape...)
	}
	type step struct{ before, after, e []float64 }
	for b := range s.B {
		for h := range s.H {
			steps := make([]step, s.T)
			s.states(f, b, h, func(t int, before, after, e []float64) { steps[t] = step{before, after, e} })
			d := make([]float64, s.N*s.P)
			for t := s.T - 1; t >= 0; t-- {
				s.back(f, out, b, t, h, steps[t].before, steps[t].after, steps[t].e, row(dy, s.head(b, t, h)), d)
			}
		}
	}
	return out, nil
}

// back takes d, the gradient of the state after the token, to that of the state before it.
func (s recurrenceShape) back(c *Call, out []*Array, b, t, h int, before, after, e, dy, d []float64) {
	at, head := s.keys(b, t, h), s.head(b, t, h)
	q, k := c.In[0].Data[at:], c.In[1].Data[at:]
	beta, du := 1.0, make([]float64, s.P)
	if len(c.In) > 4 {
		beta = c.In[4].Data[head]
	}
	for n := range s.N {
		line := d[n*s.P : (n+1)*s.P]
		out[0].Data[at+n] += dot(after[n*s.P:(n+1)*s.P], dy)
		axpy(line, q[n], dy)
		axpy(du, k[n], line)
		out[1].Data[at+n] += beta * dot(line, e)
	}
	axpy(out[2].Data[head*s.P:][:s.P], beta, du)
	for n := range s.N {
		line := d[n*s.P : (n+1)*s.P]
		if len(c.In) > 4 {
			out[1].Data[at+n] -= beta * dot(du, before[n*s.P:(n+1)*s.P])
			axpy(line, -k[n]*beta, du)
		}
		out[3].Data[head*s.M+n%s.M] += dot(line, before[n*s.P:(n+1)*s.P])
		a := s.decay(c, b, t, h, n)
		for p := range line {
			line[p] *= a
		}
	}
	if len(c.In) > 4 {
		out[4].Data[head] += dot(du, e)
	}
}
