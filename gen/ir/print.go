package ir

import (
	"fmt"
	"strings"
)

// String prints the module in the text form of the package.
func (m *Module) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n", m.Name)
	for _, f := range m.Funcs {
		b.WriteString("\n" + f.String())
		if f.Grad != nil {
			b.WriteString("\n" + f.Grad.String())
		}
	}
	return b.String()
}

// String prints a function: its signature with shapes, its tensors and its nodes.
func (f *Func) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "func %s(%s) -> (%s) {\n", f.Name, values(f.In, true), values(f.Out, true))
	for _, p := range f.Params {
		fmt.Fprintf(&b, "\tparam %s %s%s\n", p.Names[0], p.Shape, p.flags())
	}
	for _, n := range f.Body {
		b.WriteString("\t" + n.String() + "\n")
	}
	b.WriteString("}\n")
	if len(f.Saved) > 0 {
		fmt.Fprintf(&b, "saved %s\n", values(f.Saved, false))
	}
	return b.String()
}

func (p *Param) flags() string {
	s := ""
	if p.Trans {
		s += " transposed"
	}
	if p.Stack {
		s += " stack"
	}
	if p.Optional {
		s += " optional"
	}
	if p.Cond != nil {
		s += " if " + p.Cond.Src
	}
	if p.Tied != "" {
		s += " tied " + p.Tied + " if " + p.TiedIf.Src
	}
	return s
}

// String prints one node on one line.
func (n *Node) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = %s(%s)", values(n.Out, true), n.name(), values(n.In, false))
	for _, a := range n.Attrs {
		if a.Expr != nil {
			fmt.Fprintf(&b, " %s={%s}", a.Key, a.Expr.Src)
		} else {
			fmt.Fprintf(&b, " %s={%s}", a.Key, a.Word)
		}
	}
	for _, f := range n.Formulas {
		fmt.Fprintf(&b, " [%s: %s]", f.Out.Name, f.Expr.Src)
	}
	if n.Guard != nil {
		fmt.Fprintf(&b, " if {%s} else (%s)", n.Guard.Src, values(n.Else, false))
	}
	return b.String()
}

func (n *Node) name() string {
	if n.Call == nil {
		return n.Op
	}
	c := n.Call
	var b strings.Builder
	b.WriteString("call ")
	for i, k := range c.Cases {
		if i > 0 {
			b.WriteString("|")
		}
		if k.Label != "" {
			b.WriteString(k.Label + ":")
		}
		b.WriteString(k.Fn.Name)
	}
	if c.Grad {
		b.WriteString(" grad")
	}
	if c.On != nil {
		fmt.Fprintf(&b, " on {%s}", c.On.Src)
	}
	if c.Repeat != nil {
		fmt.Fprintf(&b, " repeat {%s}", c.Repeat.Src)
	}
	if c.Stream != "" {
		b.WriteString(" stream " + c.Stream)
	}
	if c.Cases[0].Prefix != "" {
		fmt.Fprintf(&b, " prefix %q", c.Cases[0].Prefix)
	}
	return b.String()
}

func values(vs []*Value, shapes bool) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		switch {
		case v == nil:
			parts[i] = "-"
		case v.Param != nil:
			parts[i] = "%" + v.Name
		case shapes:
			parts[i] = fmt.Sprintf("%s %s %s", v.Name, v.Shape, v.Type)
		default:
			parts[i] = v.Name
		}
	}
	return strings.Join(parts, ", ")
}
