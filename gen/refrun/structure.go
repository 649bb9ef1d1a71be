package refrun

// strides of a dense array.
func strides(shape []int) []int {
	out, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		out[i], n = n, n*shape[i]
	}
	return out
}

// rearrange fills an array of the given shape from x: at names the element of x for a position, or -1 for zero.
func rearrange(x *Array, shape []int, at func(pos []int) int) []*Array {
	y := zeros(shape...)
	pos := make([]int, len(shape))
	for i := range y.Data {
		for d, s := range strides(shape) {
			pos[d] = i / s % shape[d]
		}
		if k := at(pos); k >= 0 {
			y.Data[i] = x.Data[k]
		}
	}
	return []*Array{y}
}

// permute: In x; attribute order. Out y whose dimension i is x's dimension order[i].
func permute(c *Call) ([]*Array, error) {
	x, order := c.In[0], c.Attr["order"].([]int)
	shape, from := make([]int, len(order)), strides(x.Shape)
	for i, o := range order {
		shape[i] = x.Shape[o]
	}
	return rearrange(x, shape, func(pos []int) (k int) {
		for i, o := range order {
			k += pos[i] * from[o]
		}
		return k
	}), nil
}

// slice: In x; attributes axis, from, size, step. Elements from, from+step, ... of the axis; outside of x they are zero, so that it is
// pad's reference too.
func slice(c *Call) ([]*Array, error) {
	x, axis, from, step := c.In[0], intAttr(c, "axis", 0), intAttr(c, "from", 0), intAttr(c, "step", 1)
	shape := append([]int(nil), x.Shape...)
	shape[axis] = intAttr(c, "size", 1)
	to := strides(x.Shape)
	return rearrange(x, shape, func(pos []int) (k int) {
		for i, p := range pos {
			if i == axis {
				if p = from + p*step; p < 0 || p >= x.Shape[axis] {
					return -1
				}
			}
			k += p * to[i]
		}
		return k
	}), nil
}

// concat: any number of In; attribute axis. Out: joined along the axis.
func concat(c *Call) ([]*Array, error) {
	axis, total := intAttr(c, "axis", 0), 0
	for _, x := range c.In {
		total += x.Shape[axis]
	}
	shape, start := append([]int(nil), c.In[0].Shape...), 0
	shape[axis] = total
	sum := zeros(shape...)
	for _, x := range c.In {
		part, err := slice(&Call{In: []*Array{x}, Attr: map[string]any{"axis": axis, "from": -start, "size": total}})
		if err != nil {
			return nil, err
		}
		axpy(sum.Data, 1, part[0].Data)
		start += x.Shape[axis]
	}
	return []*Array{sum}, nil
}

// expand: In x; attribute shape. Out: dimensions of size one repeated.
func expand(c *Call) ([]*Array, error) {
	x, shape := c.In[0], c.Attr["shape"].([]int)
	from := strides(x.Shape)
	return rearrange(x, shape, func(pos []int) (k int) {
		for i := range x.Shape {
			p := pos[len(shape)-len(x.Shape)+i]
			k += min(p, x.Shape[i]-1) * from[i]
		}
		return k
	}), nil
}

// sum: In x; attribute axis. Out: the sum over the axis, which keeps the size one.
func sum(c *Call) ([]*Array, error) {
	shape := append([]int(nil), c.In[0].Shape...)
	shape[intAttr(c, "axis", 0)] = 1
	return []*Array{SumTo(c.In[0], shape)}, nil
}
