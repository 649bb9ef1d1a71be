package ops

import (
	"fmt"

	"github.com/vulcast/vulcast/gen/ir"
)

// Shaper is a coded shape rule, for ops whose shapes a pattern cannot say. in holds nil for parameters and absent
// inputs; dims gives a list attribute's sizes, attr a single one.
type Shaper struct {
	In   []ir.Shape
	Attr func(string) (ir.Dim, bool)
	Dims func(string) []ir.Dim
	Ints func(string) []int
	Op   *Op
}

// Shapes applies the op's shape rule and returns the shapes of all inputs and outputs.
func (s *Shaper) Shapes() (ins, outs []ir.Shape, err error) {
	if s.Op.Rule != nil {
		return s.Op.Rule.Apply(s.In, s.Attr)
	}
	if s.Op.Code == "" {
		out, err := broadcastAll(s.In)
		outs = make([]ir.Shape, len(s.Op.Out))
		for i := range outs {
			outs[i] = out
		}
		return s.In, outs, err
	}
	f := coded[s.Op.Code]
	if f == nil {
		return nil, nil, fmt.Errorf("unknown shape rule %q", s.Op.Code)
	}
	return f(s)
}

func broadcastAll(in []ir.Shape) (ir.Shape, error) {
	var out ir.Shape
	for _, s := range in {
		if s == nil {
			continue
		}
		if out == nil {
			out = s
			continue
		}
		var err error
		if out, err = ir.Broadcast(out, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type shapes = []ir.Shape

var coded = map[string]func(*Shaper) (shapes, shapes, error){
	"linear": func(s *Shaper) (shapes, shapes, error) {
		x := s.In[0]
		if len(x) == 0 {
			return nil, nil, fmt.Errorf("linear of a scalar")
		}
		out, _ := s.Attr("out")
		lead, rows := x[:len(x)-1], out
		y := append(append(ir.Shape{}, lead...), out)
		if h, ok := s.Attr("heads"); ok && !h.IsConst(0) {
			rows = out.Mul(h)
			y = append(append(ir.Shape{}, lead...), h, out)
		}
		return shapes{x, {rows, x[len(x)-1]}, {rows}}, shapes{y}, nil
	},
	"like_x": func(s *Shaper) (shapes, shapes, error) { return s.In, shapes{s.In[0]}, nil },
	"like_inputs": func(s *Shaper) (shapes, shapes, error) {
		outs := make(shapes, len(s.Op.Out))
		copy(outs, s.In)
		return s.In, outs, nil
	},
	"nothing": func(s *Shaper) (shapes, shapes, error) { return s.In, nil, nil },
	"tokens": func(s *Shaper) (shapes, shapes, error) {
		return nil, shapes{{ir.Atom("B"), ir.Atom("T")}}, nil
	},
	"shape_attr": func(s *Shaper) (shapes, shapes, error) {
		return nil, shapes{append(ir.Shape{}, s.Dims("shape")...)}, nil
	},
	"alibi": func(s *Shaper) (shapes, shapes, error) {
		h, _ := s.Attr("heads")
		return nil, shapes{{h}}, nil
	},
	"token_numbers": func(s *Shaper) (shapes, shapes, error) {
		return nil, shapes{{ir.Atom("B"), ir.Atom("T"), ir.Const(1)}}, nil
	},
	"rope_table": func(s *Shaper) (shapes, shapes, error) {
		d, _ := s.Attr("dim")
		return nil, shapes{{ir.Atom("B"), ir.Atom("T"), d}}, nil
	},
	"cache": func(s *Shaper) (shapes, shapes, error) {
		if len(s.In[0]) < 2 {
			return nil, nil, fmt.Errorf("cache of %s, want [B,T,...]", s.In[0])
		}
		return s.In, shapes{s.In[0]}, nil // S = T while training
	},
	"like_attr": func(s *Shaper) (shapes, shapes, error) {
		return s.In, shapes{append(ir.Shape{}, s.Dims("like")...)}, nil
	},
	"permute_back": func(s *Shaper) (shapes, shapes, error) {
		out := make(ir.Shape, len(s.In[0]))
		for i, o := range s.Ints("order") {
			out[o] = s.In[0][i]
		}
		return s.In, shapes{out}, nil
	},
	"square_tables": func(s *Shaper) (shapes, shapes, error) {
		n, _ := s.Attr("size")
		return nil, shapes{{ir.Const(1), n, n}, {ir.Const(1), n, n}}, nil
	},
	"token_column": func(s *Shaper) (shapes, shapes, error) {
		return nil, shapes{{ir.Atom("B"), ir.Atom("T"), ir.Const(1)}}, nil
	},
	"tensor": func(s *Shaper) (shapes, shapes, error) {
		shape := append(ir.Shape{}, s.Dims("shape")...)
		return shapes{shape}, shapes{shape}, nil
	},
	"assume": func(s *Shaper) (shapes, shapes, error) {
		return s.In, shapes{append(ir.Shape{}, s.Dims("shape")...)}, nil
	},
	"matmul": matmulShape, "reshape": reshapeShape, "permute": permuteShape, "split": splitShape,
	"slice": sliceShape, "concat": concatShape, "expand": expandShape, "pad": padShape, "reduce": reduceShape,
}

func matmulShape(s *Shaper) (shapes, shapes, error) {
	a, b := s.In[0], s.In[1]
	if len(a) < 2 || len(a) != len(b) {
		return nil, nil, fmt.Errorf("matmul of %s and %s", a, b)
	}
	n := len(a)
	m, k, k2, c := a[n-2], a[n-1], b[n-2], b[n-1]
	if t, _ := s.Attr("ta"); t.IsConst(1) {
		m, k = k, m
	}
	if t, _ := s.Attr("tb"); t.IsConst(1) {
		k2, c = c, k2
	}
	if !k.Equal(k2) {
		return nil, nil, fmt.Errorf("matmul sums over %s on the left and %s on the right", k, k2)
	}
	lead, err := ir.Broadcast(a[:n-2], b[:n-2])
	if err != nil {
		return nil, nil, err
	}
	return s.In, shapes{append(append(ir.Shape{}, lead...), m, c)}, nil
}

func reshapeShape(s *Shaper) (shapes, shapes, error) {
	out := append(ir.Shape{}, s.Dims("shape")...)
	if !out.Size().Equal(s.In[0].Size()) {
		return nil, nil, fmt.Errorf("%s has %s elements, %s has %s", s.In[0], s.In[0].Size(), out, out.Size())
	}
	return s.In, shapes{out}, nil
}

func permuteShape(s *Shaper) (shapes, shapes, error) {
	order := s.Ints("order")
	if len(order) != len(s.In[0]) {
		return nil, nil, fmt.Errorf("order of %d for %s", len(order), s.In[0])
	}
	out := make(ir.Shape, len(order))
	seen := map[int]bool{}
	for i, o := range order {
		if o < 0 || o >= len(order) || seen[o] {
			return nil, nil, fmt.Errorf("order %v is no permutation", order)
		}
		seen[o] = true
		out[i] = s.In[0][o]
	}
	return s.In, shapes{out}, nil
}

// axisOf resolves a possibly negative axis attribute.
func axisOf(s *Shaper, rank int) (int, error) {
	a := -1
	if v := s.Ints("axis"); len(v) == 1 {
		a = v[0]
	}
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		return 0, fmt.Errorf("axis of a tensor with %d dimensions", rank)
	}
	return a, nil
}

func withDim(s ir.Shape, axis int, d ir.Dim) ir.Shape {
	out := append(ir.Shape{}, s...)
	out[axis] = d
	return out
}

func splitShape(s *Shaper) (shapes, shapes, error) {
	axis, err := axisOf(s, len(s.In[0]))
	if err != nil {
		return nil, nil, err
	}
	var outs shapes
	total := ir.Const(0)
	for _, d := range s.Dims("sizes") {
		outs = append(outs, withDim(s.In[0], axis, d))
		total = total.Add(d)
	}
	if !total.Equal(s.In[0][axis]) {
		return nil, nil, fmt.Errorf("sizes sum to %s, dimension %d is %s", total, axis, s.In[0][axis])
	}
	return s.In, outs, nil
}

func sliceShape(s *Shaper) (shapes, shapes, error) {
	axis, err := axisOf(s, len(s.In[0]))
	if err != nil {
		return nil, nil, err
	}
	n, _ := s.Attr("size")
	return s.In, shapes{withDim(s.In[0], axis, n)}, nil
}

func concatShape(s *Shaper) (shapes, shapes, error) {
	axis, err := axisOf(s, len(s.In[0]))
	if err != nil {
		return nil, nil, err
	}
	total := ir.Const(0)
	for _, in := range s.In {
		if in == nil {
			continue
		}
		total = total.Add(in[axis])
		if len(in) != len(s.In[0]) || !withDim(in, axis, ir.Const(0)).Equal(withDim(s.In[0], axis, ir.Const(0))) {
			return nil, nil, fmt.Errorf("concat of %s and %s along dimension %d", s.In[0], in, axis)
		}
	}
	return s.In, shapes{withDim(s.In[0], axis, total)}, nil
}

func expandShape(s *Shaper) (shapes, shapes, error) {
	out := append(ir.Shape{}, s.Dims("shape")...)
	got, err := ir.Broadcast(out, s.In[0])
	if err != nil {
		return nil, nil, err
	}
	if !got.Equal(out) {
		return nil, nil, fmt.Errorf("%s does not expand to %s", s.In[0], out)
	}
	return s.In, shapes{out}, nil
}

func padShape(s *Shaper) (shapes, shapes, error) {
	axis, err := axisOf(s, len(s.In[0]))
	if err != nil {
		return nil, nil, err
	}
	before, _ := s.Attr("before")
	after, _ := s.Attr("after")
	return s.In, shapes{withDim(s.In[0], axis, s.In[0][axis].Add(before).Add(after))}, nil
}

func reduceShape(s *Shaper) (shapes, shapes, error) {
	axis, err := axisOf(s, len(s.In[0]))
	if err != nil {
		return nil, nil, err
	}
	return s.In, shapes{withDim(s.In[0], axis, ir.Const(1))}, nil
}
