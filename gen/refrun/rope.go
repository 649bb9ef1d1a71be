package refrun

import "fmt"

// rope rotates features [offset, offset+2*half) of every head: In are x [B T H D] and cs [B T 2*half],
// cosines then sines. Attributes: interleaved and inverse (bool), offset (int).
func rope(c *Call) ([]*Array, error) {
	if len(c.In) != 2 || len(c.In[0].Shape) != 4 || len(c.In[1].Shape) != 3 {
		return nil, fmt.Errorf("rope: want x [B T H D] and cs [B T 2*half]")
	}
	x, cs := c.In[0], c.In[1]
	interleaved, _ := c.Attr["interleaved"].(bool)
	inverse, _ := c.Attr["inverse"].(bool)
	offset, _ := c.Attr["offset"].(int)
	heads, width, half := x.Shape[2], x.Shape[3], cs.Shape[2]/2
	if offset+2*half > width {
		return nil, fmt.Errorf("rope: features %d to %d of %d", offset, offset+2*half, width)
	}
	y := zeros(x.Shape...)
	copy(y.Data, x.Data)
	for n := range len(x.Data) / width {
		in, out, angle := row(x, n), row(y, n), row(cs, n/heads)
		for i := range half {
			first, second := offset+i, offset+i+half
			if interleaved {
				first, second = offset+2*i, offset+2*i+1
			}
			cos, sin := angle[i], angle[half+i]
			if inverse {
				sin = -sin
			}
			out[first] = in[first]*cos - in[second]*sin
			out[second] = in[second]*cos + in[first]*sin
		}
	}
	return []*Array{y}, nil
}
