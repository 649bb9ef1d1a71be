package refrun

import "fmt"

// matmul: alpha * a b (+ add) over the last two dimensions, the leading ones broadcast.
//
//	In  a [..., M, K] (trans_a: [..., K, M]), b [..., K, N] (trans_b: [..., N, K]), add [..., M, N] or nil
//	Out [..., M, N]
func matmul(c *Call) ([]*Array, error) {
	a, b := transposed(c.In[0], boolAttr(c, "trans_a")), transposed(c.In[1], boolAttr(c, "trans_b"))
	na, nb := len(a.Shape), len(b.Shape)
	if na < 2 || nb < 2 || a.Shape[na-1] != b.Shape[nb-2] {
		return nil, fmt.Errorf("matmul: %v by %v", a.Shape, b.Shape)
	}
	m, k, n := a.Shape[na-2], a.Shape[na-1], b.Shape[nb-1]
	lead, ia, ib, err := broadcast(a.Shape[:na-2], b.Shape[:nb-2])
	if err != nil {
		return nil, fmt.Errorf("matmul: %w", err)
	}
	alpha := floatAttr(c, "alpha", 1)
	y := zeros(append(lead, m, n)...)
	for s := range ia {
		pa, pb, py := a.Data[ia[s]*m*k:], b.Data[ib[s]*k*n:], y.Data[s*m*n:]
		for i := range m {
			for q := range k {
				axpy(py[i*n:(i+1)*n], alpha*pa[i*k+q], pb[q*n:(q+1)*n])
			}
		}
	}
	if len(c.In) > 2 && c.In[2] != nil {
		axpy(y.Data, 1, c.In[2].Data)
	}
	return []*Array{y}, nil
}

// transposed swaps the last two dimensions if swap.
func transposed(a *Array, swap bool) *Array {
	if !swap {
		return a
	}
	d := len(a.Shape)
	r, c := a.Shape[d-2], a.Shape[d-1]
	t := zeros(append(append([]int(nil), a.Shape[:d-2]...), c, r)...)
	for at := 0; at < len(a.Data); at += r * c {
		for i := range r {
			for j := range c {
				t.Data[at+j*r+i] = a.Data[at+i*c+j]
			}
		}
	}
	return t
}

// broadcast returns the joint shape of la and lb and, for each of its positions, the index into each operand.
func broadcast(la, lb []int) (lead, ia, ib []int, err error) {
	n := max(len(la), len(lb))
	at := func(l []int, i int) int {
		if i < n-len(l) {
			return 1
		}
		return l[i-(n-len(l))]
	}
	ia, ib = []int{0}, []int{0}
	for i := range n {
		da, db := at(la, i), at(lb, i)
		if da != db && da != 1 && db != 1 {
			return nil, nil, nil, fmt.Errorf("leading dimensions %v and %v", la, lb)
		}
		d := max(da, db)
		lead = append(lead, d)
		var na, nb []int
		for s := range ia {
			for e := range d {
				na = append(na, ia[s]*da+min(e, da-1))
				nb = append(nb, ib[s]*db+min(e, db-1))
			}
		}
		ia, ib = na, nb
	}
	return lead, ia, ib, nil
}

// linear: x W^T + bias.
//
//	In  x [..., in], weight [out, in], bias [out] or nil
//	Out [..., out]
func linear(c *Call) ([]*Array, error) {
	x, w := c.In[0], c.In[1]
	rows, in := len(x.Data)/x.Shape[len(x.Shape)-1], x.Shape[len(x.Shape)-1]
	if len(w.Shape) != 2 || w.Shape[1] != in {
		return nil, fmt.Errorf("linear: x %v, weight %v", x.Shape, w.Shape)
	}
	out := w.Shape[0]
	y := zeros(append(append([]int(nil), x.Shape[:len(x.Shape)-1]...), out)...)
	for r := range rows {
		for o := range out {
			y.Data[r*out+o] = dot(x.Data[r*in:(r+1)*in], row(w, o))
		}
		if len(c.In) > 2 && c.In[2] != nil {
			axpy(y.Data[r*out:(r+1)*out], 1, c.In[2].Data)
		}
	}
	return []*Array{y}, nil
}

// linearGrad: the gradients of linear.
//
//	In  x [..., in], weight [out, in], bias [out] or nil, dy [..., out]
//	Out dx [..., in], dweight [out, in], dbias [out] or nil
func linearGrad(c *Call) ([]*Array, error) {
	x, w, dy := c.In[0], c.In[1], c.In[3]
	dx, dw := zeros(x.Shape...), zeros(w.Shape...)
	out, in := w.Shape[0], w.Shape[1]
	if len(dy.Data)/out != len(x.Data)/in {
		return nil, fmt.Errorf("linear_grad: x %v, dy %v, weight %v", x.Shape, dy.Shape, w.Shape)
	}
	for r := range len(x.Data) / in {
		for o := range out {
			g := dy.Data[r*out+o]
			axpy(dx.Data[r*in:(r+1)*in], g, row(w, o))
			axpy(row(dw, o), g, x.Data[r*in:(r+1)*in])
		}
	}
	res := []*Array{dx, dw, nil}
	if c.In[2] != nil {
		res[2] = sumRowsOf(dy)
	}
	return res, nil
}

// sumRows: the sum over all rows.
//
//	In x [..., D]   Out [D]
func sumRows(c *Call) ([]*Array, error) { return []*Array{sumRowsOf(c.In[0])}, nil }

func sumRowsOf(x *Array) *Array {
	d := x.Shape[len(x.Shape)-1]
	s := zeros(d)
	for r := range len(x.Data) / d {
		axpy(s.Data, 1, row(x, r))
	}
	return s
}
