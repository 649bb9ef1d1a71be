package refrun

import (
	"fmt"
	"math"
)

// attentionArgs are the inputs of attention, in the order of runtime/nn: q [B T H E], k [B S K E], v [B S K
// V], then bias [1|B H T S], sinks [H] and slopes [H], each nil when absent.
type attentionArgs struct {
	batch, keys                   *Batch
	q, k, v, bias, sinks, slopes  *Array
	scale, softcap                float64
	causal                        bool
	window, ahead                 int
	chunk, block, shift           int
	chosen                        *Array // [B T S], 0 where a query does not see a key
	drop                          dropout
	B, T, S, H, K, E, V, G, biasB int
}

func newAttentionArgs(c *Call) (*attentionArgs, error) {
	in := append(append([]*Array(nil), c.In...), nil, nil, nil)
	if len(c.In) < 3 || in[0] == nil || in[1] == nil || in[2] == nil {
		return nil, fmt.Errorf("attention: q, k and v are required")
	}
	a := &attentionArgs{
		batch:  c.Batch,
		keys:   c.Keys,
		q:      in[0],
		k:      in[1],
		v:      in[2],
		bias:   in[3],
		sinks:  in[4],
		slopes: in[5],
	}
	if a.keys == nil {
		a.keys = c.Batch
	}
	a.scale, _ = c.Attr["scale"].(float64)
	a.softcap, _ = c.Attr["softcap"].(float64)
	a.causal, _ = c.Attr["causal"].(bool)
	a.window, _ = c.Attr["window"].(int)
	if a.ahead, _ = c.Attr["ahead"].(int); a.ahead == 0 {
		a.ahead = a.window
	}
	a.chunk = intAttr(c, "chunk", 0)
	a.chosen, _ = c.Attr["chosen"].(*Array)
	a.drop = newDropout(c)
	a.B, a.T, a.H, a.E = a.q.Shape[0], a.q.Shape[1], a.q.Shape[2], a.q.Shape[3]
	a.S, a.K, a.V = a.k.Shape[1], a.k.Shape[2], a.v.Shape[3]
	if a.K == 0 || a.H%a.K != 0 {
		return nil, fmt.Errorf("attention: %d key heads do not divide %d query heads", a.K, a.H)
	}
	a.G = a.H / a.K
	if a.bias != nil {
		a.biasB = a.bias.Shape[0]
	}
	return a, nil
}

// seen is the mask rule of nn.Batch.
func (a *attentionArgs) seen(b, t, s int) bool {
	seg, keySeg := 1, 1
	if a.batch.Seg != nil {
		seg = a.batch.Seg[b*a.T+t]
	}
	if a.keys.KeySeg != nil {
		keySeg = a.keys.KeySeg[b*a.S+s]
	}
	place := a.batch.Base + t
	yes := keySeg != 0 && (seg == 0 || seg == keySeg)
	if a.causal {
		yes = yes && s <= place
	}
	if a.window > 0 {
		yes = yes && place-s < a.window && s-place < a.ahead
	}
	if a.chunk > 0 {
		yes = yes && place/a.chunk == s/a.chunk
	}
	if a.block > 0 {
		yes = yes && (place+a.shift)/a.block == (s+a.shift)/a.block
	}
	if a.chosen != nil {
		yes = yes && a.chosen.Data[(b*a.T+t)*a.S+s] != 0
	}
	return yes
}

// kept is the factor of a weight: 1, or with dropout 0 or 1/(1-p).
func (a *attentionArgs) kept(b, h, t, s int) float64 {
	return a.drop.factor(uint32(s/8), uint32(t), uint32(b*a.H+h), s%8)
}

func (a *attentionArgs) qAt(b, t, h int) []float64 { return row(a.q, (b*a.T+t)*a.H+h) }
func (a *attentionArgs) kAt(b, s, h int) []float64 { return row(a.k, (b*a.S+s)*a.K+h/a.G) }
func (a *attentionArgs) vAt(b, s, h int) []float64 { return row(a.v, (b*a.S+s)*a.K+h/a.G) }
func (a *attentionArgs) biasAt(b, h, t, s int) int { return ((b%a.biasB*a.H+h)*a.T+t)*a.S + s }

// weights returns the softmax weights of one query, the derivative of each logit by its scaled product, the
// weight of the sink, and the logarithm of the denominator (-inf when no key is seen).
func (a *attentionArgs) weights(b, h, t int) (p, slope []float64, sink, lse float64) {
	p, slope = make([]float64, a.S), make([]float64, a.S)
	top := math.Inf(-1)
	if a.sinks != nil {
		top = a.sinks.Data[h]
	}
	for s := range p {
		p[s], slope[s] = math.Inf(-1), 1
		if !a.seen(b, t, s) {
			continue
		}
		x := a.scale * dot(a.qAt(b, t, h), a.kAt(b, s, h))
		if a.softcap > 0 {
			y := math.Tanh(x / a.softcap)
			x, slope[s] = a.softcap*y, 1-y*y
		}
		if a.bias != nil {
			x += a.bias.Data[a.biasAt(b, h, t, s)]
		}
		if a.slopes != nil {
			x -= a.slopes.Data[h] * math.Abs(float64(a.batch.Base+t-s))
		}
		p[s] = x
		top = max(top, x)
	}
	if math.IsInf(top, -1) {
		return make([]float64, a.S), slope, 0, top
	}
	sum := 0.0
	for s := range p {
		p[s] = math.Exp(p[s] - top)
		sum += p[s]
	}
	if a.sinks != nil {
		sink = math.Exp(a.sinks.Data[h] - top)
		sum += sink
	}
	for s := range p {
		p[s] /= sum
	}
	return p, slope, sink / sum, top + math.Log(sum)
}

// attention returns y [B T H V] and lse [B H T].
func attention(c *Call) ([]*Array, error) {
	a, err := newAttentionArgs(c)
	if err != nil {
		return nil, err
	}
	y, lse := zeros(a.B, a.T, a.H, a.V), zeros(a.B, a.H, a.T)
	a.each(func(b, h, t int) {
		p, _, _, l := a.weights(b, h, t)
		lse.Data[(b*a.H+h)*a.T+t] = l
		out := row(y, (b*a.T+t)*a.H+h)
		for s, w := range p {
			axpy(out, w*a.kept(b, h, t, s), a.vAt(b, s, h))
		}
	})
	return []*Array{y, lse}, nil
}

// attentionGrad takes the inputs of attention and dy [B T H V] last (In[6]) and returns dq, dk, dv, dbias,
// dsinks; the last two are nil where the input is.
func attentionGrad(c *Call) ([]*Array, error) {
	a, err := newAttentionArgs(c)
	if err != nil {
		return nil, err
	}
	if len(c.In) < 7 {
		return nil, fmt.Errorf("attention_grad: want 7 inputs, the last one dy; got %d", len(c.In))
	}
	dy := c.In[6]
	dq, dk, dv := zeros(a.q.Shape...), zeros(a.k.Shape...), zeros(a.v.Shape...)
	var dbias, dsinks *Array
	if a.bias != nil {
		dbias = zeros(a.bias.Shape...)
	}
	if a.sinks != nil {
		dsinks = zeros(a.H)
	}
	a.each(func(b, h, t int) {
		p, slope, sink, _ := a.weights(b, h, t)
		g := row(dy, (b*a.T+t)*a.H+h)
		dp, mean := make([]float64, a.S), 0.0
		for s, w := range p {
			dp[s] = dot(g, a.vAt(b, s, h)) * a.kept(b, h, t, s)
			mean += w * dp[s]
		}
		for s, w := range p {
			key := (b*a.S+s)*a.K + h/a.G
			axpy(row(dv, key), w*a.kept(b, h, t, s), g)
			d := w * (dp[s] - mean)
			if dbias != nil {
				dbias.Data[a.biasAt(b, h, t, s)] += d
			}
			d *= slope[s] * a.scale
			axpy(row(dq, (b*a.T+t)*a.H+h), d, a.kAt(b, s, h))
			axpy(row(dk, key), d, a.qAt(b, t, h))
		}
		if dsinks != nil {
			dsinks.Data[h] -= sink * mean
		}
	})
	return []*Array{dq, dk, dv, dbias, dsinks}, nil
}

func (a *attentionArgs) each(f func(b, h, t int)) {
	for b := range a.B {
		for h := range a.H {
			for t := range a.T {
				f(b, h, t)
			}
		}
	}
}
