package refrun

// Differences returns the gradients of sum(dy * f(c)[0]) with respect to the named inputs by central differences, in that
// order: the judge of derivatives that nobody has to derive. It runs f twice for each element, so inputs should be small.
func Differences(f Func, c *Call, dy *Array, inputs ...int) ([]*Array, error) {
	const h = 1e-4
	grads := make([]*Array, len(inputs))
	for n, i := range inputs {
		x := c.In[i]
		grads[n] = zeros(x.Shape...)
		for k, keep := range x.Data {
			var side [2]float64
			for s, step := range []float64{h, -h} {
				x.Data[k] = keep + step
				out, err := f(c)
				if err != nil {
					return nil, err
				}
				side[s] = dot(out[0].Data, dy.Data)
			}
			x.Data[k] = keep
			grads[n].Data[k] = (side[0] - side[1]) / (2 * h)
		}
	}
	return grads, nil
}
