package autodiff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
)

// node adds the contributions of one forward node.
func (w *walker) node(n *ir.Node) {
	any := false
	for _, v := range n.Out {
		any = any || w.grad[v] != nil
	}
	if !any {
		return
	}
	if n.Call != nil {
		w.call(n)
		return
	}
	o := w.table[n.Op]
	var formulas []pending
	for _, d := range o.D {
		switch {
		case d.None:
			for _, name := range d.Inputs {
				w.blocked(n, n.In[o.Input(name)])
			}
		case d.Expr != nil:
			if p, ok := w.formula(n, o, d); ok {
				formulas = append(formulas, p)
			}
		default:
			w.rowCall(n, o, d)
		}
	}
	w.formulaNode(n, o, formulas)
}

// blocked gives an input through which n sends no gradient that of the output when the guard is false: it is the
// output then.
func (w *walker) blocked(n *ir.Node, in *ir.Value) {
	if n.Guard == nil || !w.wants(in) {
		return
	}
	e := w.elseGrad(n, in)
	if e == nil {
		return
	}
	g := &ir.Node{Op: "zeros", Out: []*ir.Value{w.value("d"+in.Name, in)}, Of: n, Guard: n.Guard, Else: []*ir.Value{e},
		Attrs: []ir.Attr{{Key: "like", Type: "dims", Word: dims(in.Shape)}}}
	w.emit(g)
	w.contribute(in, g.Out[0], g)
}

// pending is a derivative formula of one input, waiting to be put into the node's backward formula node.
type pending struct {
	d  ops.Derivative
	in *ir.Value
}

// wants reports whether the gradient of an input is asked for.
func (w *walker) wants(v *ir.Value) bool { return v != nil && (v.Param != nil || w.active[v]) }

// formula handles a derivative that is a formula; a bare dy needs no kernel.
func (w *walker) formula(n *ir.Node, o *ops.Op, d ops.Derivative) (pending, bool) {
	in := n.In[o.Input(d.Inputs[0])]
	if !w.wants(in) {
		return pending{}, false
	}
	if name, ok := d.Expr.Ident(); ok && strings.HasPrefix(name, "d") {
		if out := outputNamed(n, o, name[1:]); out != nil && in.Param == nil && in.Shape.Equal(out.Shape) {
			// Alias; a guard makes no difference, since the input then is the output.
			if n.Guard == nil || n.Else[0] == in {
				w.contribute(in, w.gradOrZeros(out, n), nil)
				return pending{}, false
			}
		}
	}
	return pending{d, in}, true
}

func outputNamed(n *ir.Node, o *ops.Op, name string) *ir.Value {
	if i := slices.Index(o.Out, name); i >= 0 {
		return n.Out[i]
	}
	return nil
}

// formulaNode emits one node with all derivative formulas of n.
func (w *walker) formulaNode(n *ir.Node, o *ops.Op, ps []pending) {
	if len(ps) == 0 {
		return
	}
	g := &ir.Node{Op: n.Op + "_grad", Of: n, Guard: n.Guard, Attrs: n.Attrs}
	shape := n.Out[0].Shape
	outs := make([]*ir.Value, len(ps))
	for i, p := range ps {
		outs[i] = w.value("d"+p.in.Name, p.in)
		if p.in.Param != nil {
			outs[i].Name = w.value("d_"+strings.NewReplacer(".", "_", "{e}", "e", "|", "_").Replace(p.in.Name), p.in).Name
		}
		outs[i].Shape = shape
		if outs[i].Type == ir.F32 && p.in.Param == nil {
			outs[i].Type = ir.Act
		}
		g.Out = append(g.Out, outs[i])
		g.Formulas = append(g.Formulas, ir.Formula{Name: "d" + p.d.Inputs[0], Expr: p.d.Expr, Out: outs[i]})
	}
	w.env(g, n, o, ps)
	w.emit(g)
	for i, p := range ps {
		w.deliver(n, g, p.in, outs[i])
	}
}

// env binds the names that the formulas mention.
func (w *walker) env(g, n *ir.Node, o *ops.Op, ps []pending) {
	seen := map[string]bool{}
	for _, p := range ps {
		for _, name := range p.d.Expr.Names() {
			if seen[name] || o.Attr(name) != nil {
				continue
			}
			seen[name] = true
			v := w.scope(n, o, name)
			g.Env = append(g.Env, ir.Binding{Name: name, Value: v})
			g.In = append(g.In, v)
		}
	}
}

// scope resolves a name of a derivative: an input, an output, a save or the gradient of an output.
func (w *walker) scope(n *ir.Node, o *ops.Op, name string) *ir.Value {
	if i := o.Input(name); i >= 0 {
		return w.use(n.In[i])
	}
	if v := outputNamed(n, o, name); v != nil {
		return w.use(v)
	}
	for i, s := range o.Saves {
		if s.Name == name {
			return w.use(n.Out[len(o.Out)+i])
		}
	}
	if v := outputNamed(n, o, strings.TrimPrefix(name, "d")); v != nil && strings.HasPrefix(name, "d") {
		return w.gradOrZeros(v, n)
	}
	w.err = n.Pos.Errorf("%s: a derivative mentions %s, which is nothing of the op's", o.Name, name)
	return nil
}

// deliver hands the gradient t, still in the shape of the output, to the input it belongs to.
func (w *walker) deliver(n, g *ir.Node, in, t *ir.Value) {
	if in.Param != nil {
		w.emit(&ir.Node{Op: "accumulate", In: []*ir.Value{t, in}, Of: n, Guard: n.Guard})
		return
	}
	if n.Guard != nil {
		g.Else = append(g.Else, w.elseGrad(n, in))
	}
	if !in.Shape.Equal(t.Shape) {
		s := w.value("d"+in.Name, in)
		w.emit(&ir.Node{Op: "sum_back", In: []*ir.Value{t}, Out: []*ir.Value{s}, Of: n,
			Attrs: []ir.Attr{{Key: "like", Type: "dims", Word: dims(in.Shape)}}})
		t = s
	}
	w.contribute(in, t, g)
}

// elseGrad is the gradient of an input when the guard is false: that of the output it stands for, else none.
func (w *walker) elseGrad(n *ir.Node, in *ir.Value) *ir.Value {
	for i, e := range n.Else {
		if e == in && w.grad[n.Out[i]] != nil {
			return w.grad[n.Out[i]]
		}
	}
	return nil
}

// rowCall emits the backward op that a derivative names.
func (w *walker) rowCall(n *ir.Node, o *ops.Op, d ops.Derivative) {
	row := w.table[d.Op]
	wanted := false
	var ins []*ir.Value
	for i, in := range n.In {
		decl := o.In[min(i, len(o.In)-1)]
		if slices.Contains(d.Inputs, decl.Name) {
			ins = append(ins, in)
			wanted = wanted || w.wants(in)
		}
	}
	if !wanted {
		return
	}
	g := &ir.Node{Op: row.Name, Of: n, Guard: n.Guard}
	for _, a := range d.Args {
		g.In = append(g.In, w.argument(n, o, a)...)
	}
	for len(g.In) < len(row.In) && !row.In[len(row.In)-1].Variadic { // optional inputs that autodiff fills, such as into
		g.In = append(g.In, nil)
	}
	w.rowAttrs(g, n, row, ins)
	type delivery struct{ in, out *ir.Value }
	var todo []delivery
	for i, in := range n.In {
		decl := o.In[min(i, len(o.In)-1)]
		if !slices.Contains(d.Inputs, decl.Name) || decl.Param {
			continue
		}
		if in == nil {
			g.Out = append(g.Out, nil)
			continue
		}
		out := w.value("d"+strings.ReplaceAll(in.Name, ".", "_"), in)
		if in.Param != nil {
			out.Name = "d_" + out.Name[1:]
		}
		g.Out = append(g.Out, out)
		todo = append(todo, delivery{in, out})
	}
	w.emit(g)
	for _, t := range todo {
		switch {
		case t.in.Param != nil:
			w.emit(&ir.Node{Op: "accumulate", In: []*ir.Value{t.out, t.in}, Of: n, Guard: n.Guard})
		case w.wants(t.in):
			if n.Guard != nil {
				for len(g.Else) < slices.Index(g.Out, t.out) {
					g.Else = append(g.Else, nil)
				}
				g.Else = append(g.Else, w.elseGrad(n, t.in))
			}
			w.contribute(t.in, t.out, g)
		}
	}
}

// argument resolves an argument of a backward op; name* stands for a whole list.
func (w *walker) argument(n *ir.Node, o *ops.Op, name string) []*ir.Value {
	base := strings.TrimSuffix(name, "*")
	if base == name {
		return []*ir.Value{w.scope(n, o, name)}
	}
	var out []*ir.Value
	if i := o.Input(base); i >= 0 {
		for _, v := range n.In[i:] {
			out = append(out, w.use(v))
		}
		return out
	}
	for _, v := range n.Out {
		out = append(out, w.gradOrZeros(v, n))
	}
	return out
}

// rowAttrs copies the attributes that the backward op shares and fills in shapes of forward inputs.
func (w *walker) rowAttrs(g, n *ir.Node, row *ops.Op, ins []*ir.Value) {
	for _, a := range row.Attrs {
		switch {
		case a.Name == "like":
			g.Attrs = append(g.Attrs, ir.Attr{Key: "like", Type: "dims", Word: dims(ins[0].Shape)})
		case n.Attr(a.Name) != nil:
			g.Attrs = append(g.Attrs, *n.Attr(a.Name))
		case a.Name == "sizes":
			g.Attrs = append(g.Attrs, ir.Attr{Key: "sizes", Type: "dims", Word: sizesAlong(ins, n)})
		case a.HasDefault:
			g.Attrs = append(g.Attrs, ir.Attr{Key: a.Name, Type: a.Type, Expr: a.Default, Word: a.Word})
		default:
			w.err = n.Pos.Errorf("%s: the backward op %s wants %s=, which the op does not have", n.Op, row.Name, a.Name)
		}
	}
	if k := n.Attr("keys"); k != nil {
		g.Attrs = append(g.Attrs, *k)
	}
}

// sizesAlong lists the sizes of the joined tensors along the axis of a concat.
func sizesAlong(ins []*ir.Value, n *ir.Node) string {
	axis := -1
	if a := n.Attr("axis"); a != nil && a.Word != "" {
		fmt.Sscan(a.Word, &axis)
	}
	parts := make([]string, len(ins))
	for i, v := range ins {
		k := axis
		if k < 0 {
			k += len(v.Shape)
		}
		parts[i] = v.Shape[k].String()
	}
	return strings.Join(parts, ",")
}

// call emits the call of the callee's backward function.
func (w *walker) call(n *ir.Node) {
	c := *n.Call
	c.Grad = true
	c.Ins, c.Outs = nil, nil
	fn := c.Cases[0].Fn
	if !slices.Contains(fn.ActiveOut, true) {
		for _, in := range n.In {
			w.blocked(n, in)
		}
		return
	}
	g := &ir.Node{Op: n.Op + "_grad", Call: &c, Of: n, Guard: n.Guard}
	for i, v := range n.Out {
		if fn.ActiveOut[i] {
			g.In = append(g.In, w.gradOrZeros(v, n))
			c.Outs = append(c.Outs, v)
		}
	}
	var done []int
	for i, v := range n.In {
		if !fn.ActiveIn[i] {
			continue
		}
		out := w.value("d"+v.Name, v)
		g.Out = append(g.Out, out)
		c.Ins = append(c.Ins, v)
		if n.Guard != nil {
			g.Else = append(g.Else, w.elseGrad(n, v))
		}
		done = append(done, i)
	}
	w.emit(g)
	for k, i := range done {
		if w.active[n.In[i]] {
			w.contribute(n.In[i], g.Out[k], g)
		}
	}
}
