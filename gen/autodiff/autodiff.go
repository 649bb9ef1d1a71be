// Package autodiff gives every function of a module its backward function.
//
// The walk is the usual reverse one: from the gradients of a function's outputs, each node in reverse order adds its
// contributions to the gradients of its inputs, by the derivatives that its row of the op table declares. Calls become
// calls of the callee's backward function. Forward values that a derivative mentions are listed in Func.Saved.
package autodiff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
)

// Module adds backward functions to all functions through which gradients flow.
func Module(m *ir.Module, table ops.Table) error {
	markActive(m, table)
	pruneUnwanted(m, table, []string{"encoder", "model", "head"})
	for _, f := range m.Funcs {
		if err := backward(f, table); err != nil {
			return err
		}
	}
	return nil
}

// markActive finds, for every function, through which inputs and outputs gradients flow: those that depend on tensors of
// the checkpoint. It repeats until nothing changes, since a function's inputs depend on its callers.
func markActive(m *ir.Module, table ops.Table) {
	for _, f := range m.Funcs {
		f.ActiveIn, f.ActiveOut = make([]bool, len(f.In)), make([]bool, len(f.Out))
	}
	for changed := true; changed; {
		changed = false
		for _, f := range slices.Backward(m.Funcs) {
			if markFunc(m, f, table) {
				changed = true
			}
		}
		if rootsActive(m) {
			changed = true
		}
	}
}

// rootsActive carries activity from one entry function to the next: the head's input is the model's output.
func rootsActive(m *ir.Module) bool {
	pass := func(from, to string, in int) bool {
		f, t := m.Func(from), m.Func(to)
		if f == nil || t == nil || !f.ActiveOut[0] || t.ActiveIn[in] {
			return false
		}
		t.ActiveIn[in] = true
		return true
	}
	a := pass("model", "head", 0)
	b := m.Func("encoder") != nil && pass("encoder", "model", 1)
	return a || b
}

func markFunc(m *ir.Module, f *ir.Func, table ops.Table) bool {
	changed := false
	set := func(p *bool) {
		if !*p {
			*p, changed = true, true
		}
	}
	active := Active(f, table)
	for _, n := range f.Body {
		if n.Call == nil {
			continue
		}
		for _, c := range n.Call.Cases {
			for i, v := range n.In {
				if active[v] {
					set(&c.Fn.ActiveIn[i])
				}
			}
			if n.Call.Repeat != nil { // outputs feed the first inputs
				for i := range c.Fn.Out {
					if c.Fn.ActiveOut[i] {
						set(&c.Fn.ActiveIn[i])
					}
				}
			}
			for _, d := range n.Call.Cases { // all cases share one signature
				for i := range c.Fn.ActiveIn {
					if d.Fn.ActiveIn[i] {
						set(&c.Fn.ActiveIn[i])
					}
				}
				for i := range c.Fn.ActiveOut {
					if d.Fn.ActiveOut[i] {
						set(&c.Fn.ActiveOut[i])
					}
				}
			}
		}
	}
	for i, v := range f.Out {
		if active[v] {
			set(&f.ActiveOut[i])
		}
	}
	return changed
}

// Active returns the values of a function that depend on tensors of the checkpoint.
func Active(f *ir.Func, table ops.Table) map[*ir.Value]bool {
	active := map[*ir.Value]bool{}
	for i, v := range f.In {
		active[v] = f.ActiveIn[i] && v.Type != ir.I32
	}
	for _, n := range f.Body {
		for i, v := range n.Out {
			if n.Call != nil {
				active[v] = n.Call.Cases[0].Fn.ActiveOut[i] || n.Guard != nil && active[n.Else[i]]
				continue
			}
			o := table[n.Op]
			if v.Type == ir.I32 || o.NoGrad || i >= len(o.Out) && !o.VariadicOut {
				continue
			}
			for j, in := range n.In {
				passed := i < len(n.Else) && n.Else[i] == in // when the guard is false
				if in != nil && (active[in] || in.Param != nil) && (passed || !undifferentiable(o, j)) {
					active[v] = true
				}
			}
		}
	}
	return active
}

func undifferentiable(o *ops.Op, input int) bool {
	input = min(input, len(o.In)-1) // a variadic input stands for the rest
	for _, d := range o.D {
		if d.None && slices.Contains(d.Inputs, o.In[input].Name) {
			return true
		}
	}
	return false
}

// walker builds one backward function.
type walker struct {
	f      *ir.Func
	g      *ir.Func
	table  ops.Table
	active map[*ir.Value]bool
	grad   map[*ir.Value]*ir.Value // gradient so far of each forward value
	owned  map[*ir.Value]bool      // gradients in fresh storage, free to be added to
	names  map[string]int
	err    error
}

func backward(f *ir.Func, table ops.Table) error {
	if !slices.Contains(f.ActiveOut, true) {
		return nil
	}
	w := &walker{f: f, table: table, active: Active(f, table), grad: map[*ir.Value]*ir.Value{},
		owned: map[*ir.Value]bool{}, names: map[string]int{}}
	w.g = &ir.Func{Name: f.Name + "_grad", Pos: f.Pos, Of: f, Layer: f.Layer}
	for _, v := range f.In {
		w.names[v.Name]++
	}
	for _, n := range f.Body {
		for _, v := range n.Out {
			w.names[v.Name]++
		}
	}
	for i, v := range f.Out {
		if f.ActiveOut[i] {
			d := w.value("d"+v.Name, v)
			w.g.In = append(w.g.In, d)
			w.contribute(v, d, nil)
		}
	}
	for _, n := range slices.Backward(f.Body) {
		w.node(n)
		if w.err != nil {
			return w.err
		}
	}
	for i, v := range f.In {
		if f.ActiveIn[i] {
			w.g.Out = append(w.g.Out, w.gradOrZeros(v, nil))
		}
	}
	f.Grad = w.g
	return nil
}

// value makes a gradient of a forward value under a name that is free.
func (w *walker) value(name string, of *ir.Value) *ir.Value {
	base := name
	for w.names[name] > 0 {
		w.names[base]++
		name = fmt.Sprintf("%s%d", base, w.names[base])
	}
	w.names[name]++
	return &ir.Value{Name: name, Shape: of.Shape, Type: of.Type, Of: of}
}

func (w *walker) emit(n *ir.Node) { w.g.Body = append(w.g.Body, n) }

// use returns a forward value for use in the backward function and records it as saved.
func (w *walker) use(v *ir.Value) *ir.Value {
	if v != nil && v.Param == nil && v.Of == nil && !slices.Contains(w.f.Saved, v) {
		w.f.Saved = append(w.f.Saved, v)
	}
	return v
}

// gradOrZeros returns the gradient of v, zeros when nothing reached it.
func (w *walker) gradOrZeros(v *ir.Value, of *ir.Node) *ir.Value {
	if g := w.grad[v]; g != nil {
		return g
	}
	z := w.value("d"+v.Name, v)
	w.emit(&ir.Node{Op: "zeros", Out: []*ir.Value{z}, Of: of, Attrs: []ir.Attr{{Key: "like", Type: "dims", Word: dims(v.Shape)}}})
	w.grad[v] = z
	return z
}

// contribute adds d to the gradient of v.
func (w *walker) contribute(v, d *ir.Value, by *ir.Node) {
	prev := w.grad[v]
	if prev == nil {
		w.grad[v] = d
		w.owned[d] = by != nil
		return
	}
	if by != nil && by.Op == "linear_grad" && by.Guard == nil && w.owned[prev] {
		by.In[len(by.In)-1] = prev // the product adds to what is there
		w.grad[v] = d
		w.owned[d] = true
		return
	}
	sum := w.value("d"+v.Name, v)
	w.emit(&ir.Node{Op: "add", In: []*ir.Value{prev, d}, Out: []*ir.Value{sum}, Of: by,
		Env:      []ir.Binding{{Name: "x", Value: prev}, {Name: "u", Value: d}},
		Formulas: []ir.Formula{{Name: "y", Expr: expr.MustParse("x + u"), Out: sum}}})
	w.grad[v] = sum
	w.owned[sum] = true
}

func dims(s ir.Shape) string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return strings.Join(parts, ",")
}
