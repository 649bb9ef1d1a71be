package emitgo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/fuse"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
)

func fuseGrad(g *ir.Func) []*ir.Node { return fuse.Body(g.Body, g.Out) }

// op prints the statement of a primitive or a fused kernel; assign is := or =.
func (p *printer) op(n *ir.Node, assign string) {
	switch {
	case n.Group != nil:
		p.kernelCall(n, assign)
		return
	case n.Op == "accumulate":
		p.s.line("r.AddGrad(%s, %s)", p.paramRef(n.In[1].Param), p.ref(n.In[0]))
		return
	case n.Op == "zeros":
		p.s.line("%s %s r.Zeros(%s)", p.loc.of(n.Out[0]), assign, p.sc.shape(n.Out[0].Shape))
		return
	}
	o := p.table[n.Op]
	var args []string
	if o.Batch || o.State != "" && p.form == stepping {
		args = append(args, "b")
	}
	if o.Keys {
		keys := "b"
		if n.Attr("keys") != nil {
			keys = "b.Enc"
		}
		args = append(args, keys)
	}
	if o.Const != "" {
		table := "m." + p.n.consts[p.forward(n)]
		if p.layeredConst(p.forward(n)) {
			table += "[i]"
		}
		args = append(args, table)
	}
	method := o.Kernel
	if o.State != "" && p.form == stepping {
		method += "Step"
		args = append(args, "&st."+p.n.states[n])
	}
	args = append(args, p.inputs(n, o)...)
	args = append(args, p.attrs(n, o)...)
	if h := n.Attr("heads"); o.Object == "Linear" && h != nil && h.Expr.Src != "0" {
		method = "LinearHeads"
		args = append(args, p.sc.expr(h.Expr, expr.Int))
	}
	call := fmt.Sprintf("r.%s(%s)", method, strings.Join(args, ", "))
	if o.VariadicOut {
		p.assignParts(n.Out, assign, call)
		return
	}
	p.assign(n.Out, assign, call)
}

// assignParts spreads a returned list over its names.
func (p *printer) assignParts(outs []*ir.Value, assign, call string) {
	parts := p.loc.of(outs[0]) + "Parts"
	p.s.line("%s := %s", parts, call)
	names, elems := make([]string, len(outs)), make([]string, len(outs))
	for i, v := range outs {
		names[i], elems[i] = p.loc.of(v), fmt.Sprintf("%s[%d]", parts, i)
	}
	p.s.line("%s %s %s", strings.Join(names, ", "), assign, strings.Join(elems, ", "))
}

// inputs prints the tensors of a primitive; parameters that the kernel owns travel as objects.
func (p *printer) inputs(n *ir.Node, o *ops.Op) []string {
	var front, args, list []string // parameters as objects come first
	variadic := false
	for i, v := range n.In {
		decl := o.In[min(i, len(o.In)-1)]
		switch {
		case decl.Variadic:
			variadic = true
			list = append(list, p.ref(v))
		case decl.Param && o.Object == "Linear":
			if decl.Name == "weight" {
				front = append(front, "w."+p.n.params[v.Param.Node].field)
			}
		case decl.Param && v == nil:
			front = append(front, "nil")
		case decl.Param:
			front = append(front, p.paramRef(v.Param))
		case v != nil && v.Param != nil && (v.Param.Cond != nil || v.Param.Optional):
			args = append(args, p.paramRef(v.Param)+".ValueOrNone()")
		default:
			args = append(args, p.ref(v))
		}
	}
	if variadic {
		args = append(args, "[]gpu.Tensor{"+strings.Join(list, ", ")+"}")
	}
	return append(front, args...)
}

// attrs prints the attributes that differ from their defaults as a struct of the runtime.
func (p *printer) attrs(n *ir.Node, o *ops.Op) []string {
	if o.Object == "Linear" || len(o.Attrs) == 0 || n.Op == "embed" || n.Op == "embed_grad" || o.Const != "" {
		return nil
	}
	return []string{p.attrStruct(n, o)}
}

// attrStruct prints the attributes of a node as a struct literal.
func (p *printer) attrStruct(n *ir.Node, o *ops.Op) string {
	name := o.Struct
	if name == "" {
		name = o.Kernel + "Attrs"
	}
	var set []string
	for _, d := range o.Attrs {
		a := n.Attr(d.Name)
		if a == nil || d.HasDefault && (a.Expr != nil && d.Default != nil && a.Expr.Src == d.Default.Src ||
			a.Expr == nil && d.Default != nil && a.Word == d.Default.Src || d.Type == "word" && a.Word == d.Word) && !required(d) {
			continue
		}
		set = append(set, camel(d.Name)+": "+p.sc.attr(a))
	}
	if a := n.Attr("dropout"); a != nil && o.Attr("key") == nil && slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, "Dropout:") }) {
		pos := n.Pos
		if n.Of != nil {
			pos = n.Of.Pos
		}
		set = append(set, fmt.Sprintf("Key: %d", pos.Line)) // tells the places that drop apart
	}
	return "nn." + name + "{" + strings.Join(set, ", ") + "}"
}

// required: the default is not Go's zero value, so it must be printed.
func required(d ops.AttrDecl) bool {
	if d.Default == nil {
		return d.Word != ""
	}
	switch d.Default.Src {
	case "0", "false", "0.0":
		return false
	}
	return true
}

// assign prints targets and expression; results nobody wants are dropped.
func (p *printer) assign(outs []*ir.Value, assign, call string) {
	if len(outs) == 0 {
		p.s.line("%s", call)
		return
	}
	names := make([]string, len(outs))
	for i, v := range outs {
		names[i] = "_"
		if v != nil {
			names[i] = p.loc.of(v)
		}
	}
	if !slices.ContainsFunc(names, func(n string) bool { return n != "_" }) {
		p.s.line("%s", call)
		return
	}
	p.s.line("%s %s %s", strings.Join(names, ", "), assign, call)
}

// kernelCall prints the call of a generated kernel's launcher.
func (p *printer) kernelCall(n *ir.Node, assign string) {
	k := p.kernel(n)
	args := []string{"r"}
	for _, v := range n.Group.In {
		args = append(args, p.ref(v))
	}
	for _, a := range k.Attrs {
		args = append(args, p.sc.attr(n.Group.Members[a.Member].Attr(a.Key)))
	}
	if k.Act != nil {
		args = append(args, p.sc.expr(k.Act.Expr, expr.String))
	}
	p.assign(n.Out, assign, fmt.Sprintf("kernels.%s(%s)", camel(k.Name), strings.Join(args, ", ")))
}
