package emitgo

import (
	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
)

// layeredConst reports whether an op's constant table differs by layer: the model keeps one for each.
func (e *emitter) layeredConst(op *ir.Node) bool {
	sc := newScope(e.arch, "m")
	for _, a := range op.Attrs {
		if a.Expr != nil && sc.layered(a.Expr) {
			return true
		}
	}
	return false
}

// constTable prints the making of the constant table of an op of f.
func (e *emitter) constTable(s *source, sc *scope, f *ir.Func, op *ir.Node, name string) {
	o := e.table[op.Op]
	p := &printer{emitter: e, sc: sc}
	value := p.attrStruct(op, o)
	if !e.layeredConst(op) {
		s.line("if m.%s, err = nn.%s(dev, %s); err != nil {", name, o.Const, value)
		s.line("return err")
		s.line("}")
		return
	}
	layers := "0"
	if c := e.layersOf(f); c != nil {
		layers = sc.expr(c.Repeat, expr.Int)
		if c.From != nil {
			layers = sc.expr(c.From, expr.Int) + " + " + layers
		}
	}
	s.line("m.%s = make([]*nn.%s, %s)", name, o.ConstType, layers)
	s.line("for i := range m.%s {", name)
	s.line("if m.%s[i], err = nn.%s(dev, %s); err != nil {", name, o.Const, value)
	s.line("return err")
	s.line("}")
	s.line("}")
}

// layersOf is the repeated call that counts the layers of f, nil when nothing counts them.
func (e *emitter) layersOf(f *ir.Func) *ir.Call {
	for _, g := range e.mod.Funcs {
		for _, op := range g.Body {
			if op.Call == nil || op.Call.Repeat == nil || op.Call.Index != "i" {
				continue
			}
			for _, c := range op.Call.Cases {
				if e.has(c.Fn, func(h *ir.Func, _ *node) bool { return h == f }) {
					return op.Call
				}
			}
		}
	}
	return nil
}
