package lower

import (
	"regexp"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/spec"
)

// callKeys are the keys that a call may carry; on a @switch every other key is a case.
var callKeys = map[string]bool{"prefix": true, "repeat": true, "from": true, "index": true, "if": true, "else": true,
	"on": true, "stream": true, "once": true}

// call lowers a line that calls functions of the spec.
func (b *body) call(ln *spec.Line, ins []*ir.Value) {
	c := &ir.Call{}
	n := &ir.Node{Op: ln.Op, Call: c, In: ins}
	names, labels := b.cases(ln, c, n)
	prefix, _ := ln.Attr("prefix")
	if r, ok := ln.Attr("repeat"); ok {
		c.Repeat = b.expr(r, expr.Int, ln.Pos, "repeat")
		c.Index = "i"
		s, shared := ln.Attr("index") // who writes index=i knows that the repetitions share what does not name it
		if shared {
			c.Index = s
		}
		if f, ok := ln.Attr("from"); ok {
			c.From = b.expr(f, expr.Int, ln.Pos, "from")
		}
		if !shared && !b.perLayer(prefix) {
			b.fail(ln.Pos, "@%s: repeat= without {i} in prefix=: the repetitions would share their tensors", ln.Op)
		}
	}
	b.prefixNames(ln, c, prefix)
	if s, ok := ln.Attr("stream"); ok {
		if s != "encoder" {
			b.fail(ln.Pos, "@%s: stream=%s, want encoder", ln.Op, s)
		}
		c.Stream = s
	}
	if o, ok := ln.Attr("once"); ok {
		if c.Once = o == "true"; !c.Once || c.Repeat != nil {
			b.fail(ln.Pos, "@%s: once=%s, want once=true on a call without repeat", ln.Op, o)
		}
	}
	for i, name := range names {
		f := b.fn(name, ins, ln.Pos)
		if f == nil {
			return
		}
		if f.Layer && c.Repeat == nil {
			b.layer = true
		}
		c.Cases = append(c.Cases, ir.Case{Label: labels[i], Fn: f, Prefix: prefix})
	}
	if b.callOutputs(ln, c, n) {
		b.addNode(n, ln)
	}
}

// prefixName finds the loop counters and values of the configuration in a prefix.
var prefixName = regexp.MustCompile(`\{([a-z_]+)\}`)

// perLayer reports whether the prefix differs by layer.
func (b *body) perLayer(prefix string) bool {
	for _, m := range prefixName.FindAllStringSubmatch(prefix, -1) {
		if m[1] == "i" || b.names.layer[m[1]] {
			return true
		}
	}
	return false
}

// prefixNames checks the names in a prefix and marks them as used.
func (b *body) prefixNames(ln *spec.Line, c *ir.Call, prefix string) {
	for _, m := range prefixName.FindAllStringSubmatch(prefix, -1) {
		if len(m[1]) == 1 {
			b.layer = b.layer || m[1] == "i" && (c.Repeat == nil || c.Index != "i")
			continue
		}
		e, _ := expr.Parse(m[1])
		if t, ok := b.names.typeOf(m[1]); !ok || t != expr.Int && t != expr.String {
			b.fail(ln.Pos, "@%s: {%s} in prefix= is no int or string of the configuration", ln.Op, m[1])
			continue
		}
		if b.names.mention(e) && (c.Repeat == nil || c.Index != "i") {
			b.layer = true
		}
	}
}

// cases finds the functions that the line may call and what selects between them.
func (b *body) cases(ln *spec.Line, c *ir.Call, n *ir.Node) (names, labels []string) {
	if ln.Op != "switch" {
		for _, a := range ln.Attrs {
			if !callKeys[a.Key] || a.Key == "on" {
				b.fail(ln.Pos, "@%s: unknown key %s", ln.Op, a.Key)
			}
		}
		g, guarded := ln.Attr("if")
		other, hasElse := ln.Attr("else")
		switch {
		case hasElse && !guarded:
			b.fail(ln.Pos, "@%s: else= without if=", ln.Op)
		case hasElse:
			c.On = b.expr(g, expr.Bool, ln.Pos, "if")
			return []string{ln.Op, strings.TrimPrefix(other, "@")}, []string{"true", "false"}
		case guarded:
			n.Guard = b.expr(g, expr.Bool, ln.Pos, "if")
		}
		return []string{ln.Op}, []string{""}
	}
	on, ok := ln.Attr("on")
	if !ok {
		b.fail(ln.Pos, "@switch: no on=")
		return nil, nil
	}
	c.On = b.expr(on, expr.String, ln.Pos, "on")
	for _, a := range ln.Attrs {
		if callKeys[a.Key] {
			continue
		}
		names = append(names, strings.TrimPrefix(a.Value, "@"))
		labels = append(labels, a.Key)
	}
	if len(names) == 0 {
		b.fail(ln.Pos, "@switch: no cases (label=function)")
	}
	return names, labels
}

// callOutputs checks that all cases agree and defines the line's outputs.
func (b *body) callOutputs(ln *spec.Line, c *ir.Call, n *ir.Node) bool {
	first := c.Cases[0].Fn
	for _, cs := range c.Cases {
		if len(cs.Fn.Out) != len(ln.Out) {
			b.fail(ln.Pos, "@%s: %d outputs, fn.%s has %d", ln.Op, len(ln.Out), cs.Fn.Name, len(cs.Fn.Out))
			return false
		}
		for i, v := range cs.Fn.Out {
			if !sameShape(v.Shape, first.Out[i].Shape) {
				b.fail(ln.Pos, "@%s: output %s is %s from fn.%s and %s from fn.%s", ln.Op, ln.Out[i], v.Shape, cs.Fn.Name,
					first.Out[i].Shape, first.Name)
				return false
			}
		}
	}
	for i, v := range first.Out {
		shape := v.Shape
		if c.Stream != "" {
			shape = shape.Rename("T", "Te")
		}
		if c.Repeat != nil || n.Guard != nil {
			if i >= len(n.In) || !sameShape(n.In[i].Shape, shape) {
				b.fail(ln.Pos, "@%s: output %s %s must have the shape of input %d, which it replaces", ln.Op, ln.Out[i], shape, i+1)
				return false
			}
		}
		out := &ir.Value{Name: ln.Out[i], Shape: shape, Type: v.Type}
		if out.Name == "_" {
			out.Name = b.fresh(ln.Op + "_unused")
		} else {
			b.define(out.Name, out, ln.Pos)
		}
		n.Out = append(n.Out, out)
		if n.Guard != nil {
			n.Else = append(n.Else, n.In[i])
		}
	}
	return true
}
