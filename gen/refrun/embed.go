package refrun

import "fmt"

// embed: rows of a table.
//
//	In  table [V, D], index [...] (whole numbers)
//	Out [..., D]
func embed(c *Call) ([]*Array, error) {
	table, index := c.In[0], c.In[1]
	d := table.Shape[1]
	y := zeros(append(append([]int(nil), index.Shape...), d)...)
	for r, v := range index.Data {
		i := int(v)
		if i < 0 || i >= table.Shape[0] {
			return nil, fmt.Errorf("embed: index %d of row %d, the table has %d rows", i, r, table.Shape[0])
		}
		copy(row(y, r), row(table, i))
	}
	return []*Array{y}, nil
}

// embedGrad: the gradient of embed with respect to the table; row `padding`, if there is one, stays zero.
//
//	In  table [V, D], index [...], dy [..., D]
//	Out [V, D]
func embedGrad(c *Call) ([]*Array, error) {
	table, index, dy := c.In[0], c.In[1], c.In[2]
	padding := intAttr(c, "padding", -1)
	g := zeros(table.Shape...)
	for r, v := range index.Data {
		if i := int(v); i != padding {
			axpy(row(g, i), 1, row(dy, r))
		}
	}
	return []*Array{g}, nil
}
