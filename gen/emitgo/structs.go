package emitgo

import (
	"fmt"

	"github.com/vulcast/vulcast/gen/ir"
)

// savedStruct prints the struct of what a function keeps for its backward pass.
func (e *emitter) savedStruct(s *source, f *ir.Func) {
	n := e.tree[f]
	s.comment(fmt.Sprintf("%sSaved is what [fn.%s] keeps for its backward pass.", n.typ, f.Name))
	s.line("type %sSaved struct {", n.typ)
	for _, v := range f.Saved {
		s.line("%s gpu.Tensor // %s %s", n.saved[v], v.Name, v.Shape)
	}
	for _, op := range f.Body {
		if op.Call == nil {
			continue
		}
		for k, c := range op.Call.Cases {
			if !e.hasSaved(c.Fn) {
				continue
			}
			slice := ""
			if op.Call.Repeat != nil {
				slice = "[]"
			}
			s.line("%s %s%sSaved", n.calls[op][k], slice, e.tree[c.Fn].typ)
		}
	}
	s.line("}")
	s.gap()
}

// stateStruct prints the struct of what a function keeps between decoding steps, and its constructor.
func (e *emitter) stateStruct(s *source, f *ir.Func) {
	n := e.tree[f]
	s.comment(fmt.Sprintf("%sState is what [fn.%s] keeps between decoding steps.", n.typ, f.Name))
	s.line("type %sState struct {", n.typ)
	for _, op := range f.Body {
		if name, ok := n.states[op]; ok {
			s.line("%s nn.State // %s %s", name, op.Out[0].Name, op.Out[0].Shape)
		}
		if op.Call == nil {
			continue
		}
		for _, v := range op.Out {
			if name, ok := n.kept[v]; ok {
				s.line("%s nn.State // %s %s, kept from the first step on", name, v.Name, v.Shape)
			}
		}
		for k, c := range op.Call.Cases {
			if !e.hasState(c.Fn) {
				continue
			}
			slice := ""
			if op.Call.Repeat != nil {
				slice = "[]"
			}
			s.line("%s %s%sState", n.calls[op][k], slice, e.tree[c.Fn].typ)
		}
	}
	s.line("}")
	s.gap()
	e.stateBuilder(s, f)
	s.gap()
}

func (e *emitter) stateBuilder(s *source, f *ir.Func) {
	n := e.tree[f]
	sc := newScope(e.arch, "c")
	layer := ""
	if f.Layer {
		layer = ", i int"
	}
	s.line("func (c *Config) %sState(a *nn.StateAlloc%s) %sState {", lowerCamel(f.Name), layer, n.typ)
	s.line("var st %sState", n.typ)
	for _, op := range f.Body {
		if name, ok := n.states[op]; ok {
			e.stateField(s, sc, op, name)
		}
		for _, v := range op.Out {
			if name, ok := n.kept[v]; ok {
				s.line("st.%s = a.Later()", name)
			}
		}
		if op.Call != nil {
			e.stateCall(s, sc, n, op)
		}
	}
	s.line("return st")
	s.line("}")
}

// stateField declares one state: token states are [B, capacity, rest...], others are shaped by the op.
func (e *emitter) stateField(s *source, sc *scope, op *ir.Node, name string) {
	o := e.table[op.Op]
	guard := op.Guard
	if guard != nil {
		s.line("if %s {", sc.expr(guard, 0))
	}
	shape := op.Out[0].Shape
	switch o.State {
	case "tokens":
		kind := "Tokens"
		if op.Out[0].Type == ir.I32 {
			kind = "Indices"
		}
		s.line("st.%s = a.%s(%s)", name, kind, sc.shape(shape[2:]))
	default:
		s.line("st.%s = a.Fixed(%s)", name, sc.shape(e.stateShape(op)))
	}
	if guard != nil {
		s.line("}")
	}
}

// stateShape evaluates the op's state rule: a shape without the batch, over the names of the op's attributes and the last
// dimensions of its inputs.
func (e *emitter) stateShape(op *ir.Node) ir.Shape {
	in := make([]ir.Shape, len(op.In))
	for i, v := range op.In {
		if v != nil {
			in[i] = v.Shape
		}
	}
	out, err := e.table[op.Op].StateShape(in, e.attrDim(op))
	if err != nil {
		e.errs = append(e.errs, op.Pos.Errorf("%s: state: %v", op.Op, err))
	}
	return out
}

func (e *emitter) stateCall(s *source, sc *scope, n *node, op *ir.Node) {
	c := op.Call
	for k, cs := range c.Cases {
		if !e.hasState(cs.Fn) {
			continue
		}
		field := n.calls[op][k]
		build := fmt.Sprintf("c.%sState(a%s)", lowerCamel(cs.Fn.Name), layerArg(cs.Fn, c))
		cond := ""
		if len(c.Cases) > 1 {
			cond = caseCond(sc, c, k)
		} else if op.Guard != nil {
			cond = sc.expr(op.Guard, 0)
		}
		if c.Repeat != nil {
			s.line("st.%s = make([]%sState, %s)", field, e.tree[cs.Fn].typ, sc.expr(c.Repeat, 0))
			loopHead(s, sc, c)
			field += "[" + c.Index + "]"
		}
		if cond != "" {
			s.line("if %s {", cond)
		}
		s.line("st.%s = %s", field, build)
		if cond != "" {
			s.line("}")
		}
		if c.Repeat != nil {
			s.line("}")
		}
	}
}
