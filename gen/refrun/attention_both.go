package refrun

import "math"

// attentionBoth: one softmax over two sets of keys, by its definition: In q [B, T, H, E], k, v [B, S, K, ...], ek, ev [B, R, K, ...], bias
// [*, H, T, S] of the first set or nil. Batch masks the first set, Keys the second. Attributes: attention's, open (no padding in the
// second set), block and shift (a token sees the first set's keys of its own block only). Out y [B, T, H, U] and lse [B, H, T].
func attentionBoth(c *Call) ([]*Array, error) {
	first, second := *c, *c
	first.In = append(append([]*Array(nil), c.In[:3]...), c.In[5])
	second.In = []*Array{c.In[0], c.In[3], c.In[4]}
	first.Keys = nil
	more := map[string]any{"scale": c.Attr["scale"]}
	second.Attr = more
	if boolAttr(c, "open") {
		second.Batch, second.Keys = &Batch{}, &Batch{}
	}
	a, err := newAttentionArgs(&first)
	if err != nil {
		return nil, err
	}
	b, err := newAttentionArgs(&second)
	if err != nil {
		return nil, err
	}
	a.block, a.shift = intAttr(c, "block", 0), intAttr(c, "shift", 0)
	y, lse := zeros(a.B, a.T, a.H, a.V), zeros(a.B, a.H, a.T)
	a.each(func(n, h, t int) {
		out, total := row(y, (n*a.T+t)*a.H+h), 0.0
		_, _, _, l1 := a.weights(n, h, t)
		_, _, _, l2 := b.weights(n, h, t)
		top := max(l1, l2)
		for _, set := range []*attentionArgs{a, b} {
			p, _, _, l := set.weights(n, h, t)
			if math.IsInf(l, -1) {
				continue
			}
			total += math.Exp(l - top)
			for s, w := range p {
				axpy(out, w*math.Exp(l-top), set.vAt(n, s, h))
			}
		}
		for i := range out {
			out[i] /= total
		}
		lse.Data[(n*a.H+h)*a.T+t] = top + math.Log(total)
	})
	return []*Array{y, lse}, nil
}
