package emitgo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
)

// call prints a call of another function of the spec, in the same form as the function around it.
func (p *printer) call(n *ir.Node) {
	switch {
	case n.Call.Once && p.form == stepping:
		p.once(n)
	case n.Call.Repeat != nil && p.form == backward:
		p.repeatGrad(n)
	case n.Call.Repeat != nil:
		p.repeat(n)
	case n.Guard != nil || len(n.Call.Cases) > 1:
		p.branches(n)
	default:
		p.assign(n.Out, ":=", p.callExpr(n, 0, p.names(n.In)))
	}
}

// callExpr prints the call of case k with the given arguments.
func (p *printer) callExpr(n *ir.Node, k int, in []string) string {
	c := n.Call.Cases[k]
	field := p.n.calls[p.forward(n)][k]
	batch := "b"
	if n.Call.Stream != "" {
		batch = "b.Enc"
	}
	at, amp := "", "&"
	if n.Call.Repeat != nil {
		at = "[" + n.Call.Index + "]"
	}
	args := []string{"r", batch}
	if p.hasWeights(c.Fn) {
		args = append(args, "w."+field+at)
	}
	switch {
	case p.form != stepping && p.hasSaved(c.Fn):
		args = append(args, amp+"s."+field+at)
	case p.form == stepping && p.hasState(c.Fn):
		args = append(args, amp+"st."+field+at)
	}
	if c.Fn.Layer {
		args = append(args, "i")
	}
	args = append(args, in...)
	return fmt.Sprintf("m.%s(%s)", p.method(c.Fn, p.form), strings.Join(args, ", "))
}

// forward is the forward node of a node.
func (p *printer) forward(n *ir.Node) *ir.Node {
	if p.form == backward {
		return n.Of
	}
	return n
}

// branches prints a guarded call or a choice between functions.
func (p *printer) branches(n *ir.Node) {
	outs := make([]string, len(n.Out))
	for i, v := range n.Out {
		outs[i] = p.loc.of(v)
	}
	if len(outs) > 0 {
		p.s.line("var %s gpu.Tensor", strings.Join(outs, ", "))
	}
	in := p.names(n.In)
	set := func(k int) {
		if len(outs) == 0 {
			p.s.line("%s", p.callExpr(n, k, in))
			return
		}
		p.s.line("%s = %s", strings.Join(outs, ", "), p.callExpr(n, k, in))
	}
	if n.Guard != nil {
		p.s.line("if %s {", p.sc.expr(n.Guard, expr.Bool))
		set(0)
		p.s.line("} else {")
		for i, v := range n.Out {
			if i < len(n.Else) && n.Else[i] != nil {
				p.s.line("%s = r.Retain(%s)", outs[i], p.ref(n.Else[i]))
			} else {
				p.s.line("%s = r.Zeros(%s)", outs[i], p.sc.shape(v.Shape))
			}
		}
		p.s.line("}")
		return
	}
	if n.Call.Cases[0].Label == "true" {
		p.s.line("if %s {", p.sc.expr(n.Call.On, expr.Bool))
		set(0)
		p.s.line("} else {")
		set(1)
		p.s.line("}")
		return
	}
	p.s.line("switch %s {", p.sc.expr(n.Call.On, expr.String))
	for k, c := range n.Call.Cases {
		p.s.line("case %q:", c.Label)
		set(k)
	}
	p.s.line("}")
}

// repeat prints the loop of a repeated call: its results replace its first arguments.
func (p *printer) repeat(n *ir.Node) {
	p.prepareRepeat(n)
	in := p.names(n.In)
	for i, v := range n.Out {
		p.s.line("%s := r.Retain(%s)", p.loc.of(v), in[i])
		in[i] = p.loc.of(v)
	}
	loopHead(p.s, p.sc, n.Call)
	p.s.line("b := b.At(%s)", n.Call.Index)
	next := make([]string, len(n.Out))
	for i, v := range n.Out {
		next[i] = "next" + strings.ToUpper(p.loc.of(v)[:1]) + p.loc.of(v)[1:]
	}
	p.choose(n, next, in)
	p.s.line("r.Free(%s)", strings.Join(in[:len(n.Out)], ", "))
	p.s.line("%s = %s", strings.Join(in[:len(n.Out)], ", "), strings.Join(next, ", "))
	p.s.line("}")
}

// prepareRepeat makes the slices of saved values or checks the state's.
func (p *printer) prepareRepeat(n *ir.Node) {
	if p.form != training {
		return
	}
	for k, c := range n.Call.Cases {
		if p.hasSaved(c.Fn) {
			p.s.line("s.%s = make([]%sSaved, %s)", p.n.calls[n][k], p.tree[c.Fn].typ, p.sc.expr(n.Call.Repeat, expr.Int))
		}
	}
}

// choose assigns the call of the right case to fresh names.
func (p *printer) choose(n *ir.Node, outs, in []string) {
	if len(n.Call.Cases) == 1 {
		p.s.line("%s := %s", strings.Join(outs, ", "), p.callExpr(n, 0, in))
		return
	}
	p.s.line("var %s gpu.Tensor", strings.Join(outs, ", "))
	bool2 := n.Call.Cases[0].Label == "true"
	if bool2 {
		p.s.line("if %s {", p.sc.expr(n.Call.On, expr.Bool))
	} else {
		p.s.line("switch %s {", p.sc.expr(n.Call.On, expr.String))
	}
	for k, c := range n.Call.Cases {
		if bool2 && k == 1 {
			p.s.line("} else {")
		} else if !bool2 {
			p.s.line("case %q:", c.Label)
		}
		p.s.line("%s = %s", strings.Join(outs, ", "), p.callExpr(n, k, in))
	}
	p.s.line("}")
}

// repeatGrad prints the loop backwards: the gradients of carried values are carried, those of the others are summed.
func (p *printer) repeatGrad(n *ir.Node) {
	fwd := n.Of
	carried := len(n.In)
	in := make([]string, carried)
	var sums []int
	for k, v := range n.Out {
		name := p.loc.of(v)
		// Out follows the active inputs; the carried ones come first.
		if i := slices.Index(fwd.In, n.Call.Ins[k]); i >= 0 && k < carried && i < len(fwd.Out) {
			p.s.line("%s := r.Retain(%s)", name, p.ref(n.In[k]))
			in[k] = name
			continue
		}
		p.s.line("var %s gpu.Tensor", name)
		sums = append(sums, k)
	}
	count := p.sc.expr(n.Call.Repeat, expr.Int)
	from := "0"
	if n.Call.From != nil {
		from = p.sc.expr(n.Call.From, expr.Int)
	}
	p.s.line("for %s := %s - 1; %s >= %s; %s-- {", n.Call.Index, count, n.Call.Index, from, n.Call.Index)
	p.s.line("b := b.At(%s)", n.Call.Index)
	outs := make([]string, len(n.Out))
	for k, v := range n.Out {
		outs[k] = "next" + strings.ToUpper(p.loc.of(v)[:1]) + p.loc.of(v)[1:]
	}
	p.choose(n, outs, in)
	p.s.line("r.Free(%s)", strings.Join(in, ", "))
	for k := range n.Out {
		name := p.loc.of(n.Out[k])
		if slices.Contains(sums, k) {
			p.s.line("%s = r.SumInto(%s, %s)", name, name, outs[k])
		} else {
			p.s.line("%s = %s", name, outs[k])
		}
	}
	p.s.line("}")
}

// once prints a call whose results decoding keeps from the first step on.
func (p *printer) once(n *ir.Node) {
	outs := make([]string, len(n.Out))
	fresh := make([]string, len(n.Out))
	for i, v := range n.Out {
		outs[i] = p.loc.of(v)
		fresh[i] = "fresh" + camel(v.Name)
	}
	p.s.line("var %s gpu.Tensor", strings.Join(outs, ", "))
	p.s.line("if st.%s.Fresh(b) {", p.n.kept[n.Out[0]])
	p.choose(n, fresh, p.names(n.In))
	for i, v := range n.Out {
		p.s.line("%s = r.Keep(&st.%s, %s)", outs[i], p.n.kept[v], fresh[i])
	}
	p.s.line("} else {")
	for i, v := range n.Out {
		p.s.line("%s = st.%s.Kept()", outs[i], p.n.kept[v])
	}
	p.s.line("}")
}
