package refrun

import "math"

// unfold: In x [B, T, D]; attributes width, before. Out y [B, T, width, D], y[b,t,j] = x[b, t+j-before], zero outside.
func unfold(c *Call) ([]*Array, error) {
	x, width, before := c.In[0], intAttr(c, "width", 1), intAttr(c, "before", 0)
	B, T, D := x.Shape[0], x.Shape[1], x.Shape[2]
	y := zeros(B, T, width, D)
	for r := range B * T {
		for j := range width {
			if s := r%T + j - before; s >= 0 && s < T {
				copy(row(y, r*width+j), row(x, r/T*T+s))
			}
		}
	}
	return []*Array{y}, nil
}

// depthwiseConv: In x [B, T, D], w [C, K] with C dividing D; attribute before. Out y [B, T, D].
func depthwiseConv(c *Call) ([]*Array, error) {
	x, w, before := c.In[0], c.In[1], intAttr(c, "before", 0)
	B, T, D, share := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[2]/w.Shape[0]
	y := zeros(B, T, D)
	for r := range B * T {
		for ch := range D {
			for j, f := range row(w, ch/share) {
				if s := r%T + j - before; s >= 0 && s < T {
					y.Data[r*D+ch] += f * x.Data[(r/T*T+s)*D+ch]
				}
			}
		}
	}
	return []*Array{y}, nil
}

// relativeGather: In x [B, H, T, 2*span]; attributes span, buckets, distance, by_key. Out y [B, H, T, T] with
// y[t,s] = x[t or s, column of t-s]. Source: arXiv:2006.03654, appendix A.5.
func relativeGather(c *Call) ([]*Array, error) {
	x, span := c.In[0], intAttr(c, "span", 1)
	mid, reach := intAttr(c, "buckets", 0)/2, float64(intAttr(c, "distance", 0)-1)
	B, H, T := x.Shape[0], x.Shape[1], x.Shape[2]
	y := zeros(B, H, T, T)
	for p := range B * H {
		for t := range T {
			for s := range T {
				d := t - s
				if far := math.Abs(float64(d)); mid > 0 && far > float64(mid) {
					m := float64(mid)
					place := math.Ceil(math.Log(far/m)/math.Log(reach/m)*(m-1)) + m
					d = int(math.Copysign(place, float64(d)))
				}
				from := t
				if boolAttr(c, "by_key") {
					from = s
				}
				y.Data[(p*T+t)*T+s] = row(x, p*T+from)[min(max(d+span, 0), 2*span-1)]
			}
		}
	}
	return []*Array{y}, nil
}

// relativeBias: In weight [buckets, H]; attributes distance, causal; Batch T. Out y [1, H, T, T]. Source: arXiv:1910.10683.
func relativeBias(c *Call) ([]*Array, error) {
	w, T := c.In[0], c.Batch.T
	buckets, H := w.Shape[0], w.Shape[1]
	y := zeros(1, H, T, T)
	for t := range T {
		for s := range T {
			n, first, far := buckets, 0, t-s
			if !boolAttr(c, "causal") {
				n /= 2
				if s > t {
					first, far = n, s-t
				}
			}
			far = max(far, 0)
			if exact := n / 2; far >= exact {
				e := float64(exact)
				grown := math.Log(float64(far)/e) / math.Log(float64(intAttr(c, "distance", 0))/e)
				far = min(n-1, exact+int(grown*float64(n-exact)))
			}
			for h := range H {
				y.Data[(h*T+t)*T+s] = row(w, first+far)[h]
			}
		}
	}
	return []*Array{y}, nil
}

// groupLinear: In x [..., I], weight [O, I/groups, 1]; attribute groups. Out y [..., O].
func groupLinear(c *Call) ([]*Array, error) {
	x, w, groups := c.In[0], c.In[1], intAttr(c, "groups", 1)
	out, width := w.Shape[0], w.Shape[1]
	y := zeros(withLast(x.Shape, out)...)
	for r := range len(y.Data) / out {
		for o := range out {
			from := o / (out / groups) * width
			row(y, r)[o] = dot(row(x, r)[from:from+width], w.Data[o*width:(o+1)*width])
		}
	}
	return []*Array{y}, nil
}

// dft: attributes size, period (0: size). Out cos and sin of 2 pi j k / period, [1, size, size].
func dft(c *Call) ([]*Array, error) {
	n := intAttr(c, "size", 1)
	period := intAttr(c, "period", 0)
	if period == 0 {
		period = n
	}
	re, im := zeros(1, n, n), zeros(1, n, n)
	for i := range re.Data {
		im.Data[i], re.Data[i] = math.Sincos(2 * math.Pi * float64(i/n*(i%n)%period) / float64(period))
	}
	return []*Array{re, im}, nil
}

// anglePower: In x; attribute power. Out (1 - acos(x)/pi)^power.
func anglePower(c *Call) ([]*Array, error) {
	y := zeros(c.In[0].Shape...)
	for i, v := range c.In[0].Data {
		y.Data[i] = math.Pow(1-math.Acos(min(max(v, -1), 1))/math.Pi, float64(intAttr(c, "power", 1)))
	}
	return []*Array{y}, nil
}

// anglePowerGrad: In y, dy. Out dy * y * power/2: the bound that stands for the derivative, so no central difference judges it.
func anglePowerGrad(c *Call) ([]*Array, error) {
	dx := zeros(c.In[0].Shape...)
	for i, v := range c.In[0].Data {
		dx.Data[i] = c.In[1].Data[i] * v * float64(intAttr(c, "power", 1)) / 2
	}
	return []*Array{dx}, nil
}

// withLast is shape with another last dimension.
func withLast(shape []int, n int) []int {
	return append(append([]int(nil), shape[:len(shape)-1]...), n)
}
