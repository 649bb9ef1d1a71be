package lower

import (
	"strconv"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
	"github.com/vulcast/vulcast/gen/spec"
)

// op lowers a line whose op is a primitive.
func (b *body) op(ln *spec.Line, ins []*ir.Value) {
	o := b.table[ln.Op]
	if o == nil {
		b.fail(ln.Pos, "unknown op %s%s", ln.Op, b.nearest(ln.Op))
		return
	}
	n := &ir.Node{Op: o.Name}
	params := b.params(ln, o, n)
	b.attrs(ln, o, n)
	if !b.bindInputs(ln, o, n, ins, params) {
		return
	}
	if g, ok := ln.Attr("if"); ok {
		n.Guard = b.expr(g, expr.Bool, ln.Pos, "if")
	}
	if !b.infer(ln, o, n) {
		return
	}
	if n.Guard != nil {
		for i, out := range n.Out {
			if i >= len(ln.Out) {
				break
			}
			if i >= len(n.In) || n.In[i] == nil || !sameShape(n.In[i].Shape, out.Shape) {
				b.fail(ln.Pos, "%s: if= needs inputs that can stand for the outputs; %s is %s", o.Name, out.Name, out.Shape)
				return
			}
			n.Else = append(n.Else, n.In[i])
		}
	}
	formulas(o, n)
	b.addNode(n, ln)
}

// nearest suggests an op with a similar name.
func (b *body) nearest(name string) string {
	if b.arch.Fn(name) != nil {
		return " (a function: write @" + name + ")"
	}
	for k := range b.table {
		if strings.Contains(k, name) || strings.Contains(name, k) && len(k) > 3 {
			return " (did you mean " + k + "?)"
		}
	}
	return ""
}

// bindInputs puts positional inputs and parameters into the op's order.
func (b *body) bindInputs(ln *spec.Line, o *ops.Op, n *ir.Node, ins []*ir.Value, params map[string]*ir.Value) bool {
	next := 0
	for i, in := range o.In {
		if in.Variadic {
			n.In = append(n.In, ins[next:]...)
			next = len(ins)
			continue
		}
		if v := params[in.Name]; v != nil {
			n.In = append(n.In, v)
			continue
		}
		if next < len(ins) {
			// An optional input is taken by position only when every later required one still gets its value.
			if !in.Optional || len(ins)-next > requiredAfter(o, i, params) {
				n.In = append(n.In, ins[next])
				next++
				continue
			}
		}
		if !in.Optional {
			b.fail(ln.Pos, "%s: input %s is missing (sig %s)", o.Name, in.Name, signature(o))
			return false
		}
		n.In = append(n.In, nil)
	}
	if next < len(ins) {
		b.fail(ln.Pos, "%s: %d inputs too many (sig %s)", o.Name, len(ins)-next, signature(o))
		return false
	}
	return true
}

func requiredAfter(o *ops.Op, i int, params map[string]*ir.Value) int {
	n := 0
	for _, in := range o.In[i+1:] {
		if !in.Optional && params[in.Name] == nil {
			n++
		}
	}
	return n
}

func signature(o *ops.Op) string {
	var w []string
	for _, in := range o.In {
		s := in.Name
		if in.Optional {
			s += "?"
		}
		w = append(w, s)
	}
	return strings.Join(w, " ") + " -> " + strings.Join(o.Out, " ")
}

// reserved keys of an op line that are no attributes of ops.
var reserved = map[string]bool{"if": true, "tied": true, "keys": true, "name": true, "init": true}

// params declares the tensors of the checkpoint that the line names.
func (b *body) params(ln *spec.Line, o *ops.Op, n *ir.Node) map[string]*ir.Value {
	out := map[string]*ir.Value{}
	for _, a := range ln.Attrs {
		i := o.Input(a.Key)
		if i < 0 || o.Attr(a.Key) != nil {
			continue
		}
		if name, ok := strings.CutPrefix(a.Value, "$"); ok { // a value, for inputs that positions would not reach
			if v := b.lookup(name, ln.Pos); v != nil {
				out[a.Key] = v
			}
			continue
		}
		p := &ir.Param{Key: a.Key, Node: n, Pos: ln.Pos}
		b.parseParam(p, a.Value, ln.Pos)
		if t, ok := ln.Attr("tied"); ok && a.Key == "weight" {
			b.tied(p, t, ln.Pos)
		}
		out[a.Key] = &ir.Value{Name: p.Names[0], Type: ir.F32, Param: p}
		b.f.Params = append(b.f.Params, p)
	}
	return out
}

// parseParam reads name|spelling:flag?condition.
func (b *body) parseParam(p *ir.Param, s string, at spec.Pos) {
	s, cond, hasCond := strings.Cut(s, "?")
	if hasCond {
		if cond == "" {
			p.Optional = true
		} else {
			p.Cond = b.expr(cond, expr.Bool, at, "presence of "+s)
		}
	}
	words := strings.Split(s, ":")
	for _, f := range words[1:] {
		switch f {
		case "t":
			p.Trans = true
		case "flat":
			p.Flat = true
		case "stack":
			p.Stack = true
		default:
			b.fail(at, "tensor %s: unknown flag %q, want t (stored as [in,out]), flat (two leading dimensions stored as one) or stack (one tensor for each {e})", s, f)
		}
	}
	p.Names = strings.Split(words[0], "|")
	for _, n := range p.Names {
		if n == "" {
			b.fail(at, "empty tensor name in %q", s)
		}
		if strings.Contains(n, "{e}") != p.Stack {
			b.fail(at, "tensor %s: {e} and the flag stack go together", n)
		}
	}
}

// tied reads name or name?condition; without a condition the tensor is always shared.
func (b *body) tied(p *ir.Param, s string, at spec.Pos) {
	name, cond, ok := strings.Cut(s, "?")
	p.Tied = name
	if !ok {
		cond = "tie_word_embeddings"
		if _, known := b.names.typeOf(cond); !known {
			cond = "true"
		}
	}
	p.TiedIf = b.expr(cond, expr.Bool, at, "tied")
}

// attrs evaluates the op's attributes and reports keys that the op does not have.
func (b *body) attrs(ln *spec.Line, o *ops.Op, n *ir.Node) {
	for _, a := range ln.Attrs {
		if o.Attr(a.Key) == nil && o.Input(a.Key) < 0 && !reserved[a.Key] {
			b.fail(ln.Pos, "%s: unknown key %s", o.Name, a.Key)
		}
		if a.Key == "keys" && !o.Keys {
			b.fail(ln.Pos, "%s: keys= is for attention", o.Name)
		}
	}
	for _, d := range o.Attrs {
		v, ok := ln.Attr(d.Name)
		if !ok && !d.HasDefault {
			b.fail(ln.Pos, "%s: no %s=", o.Name, d.Name)
			continue
		}
		n.Attrs = append(n.Attrs, b.attr(ln, o, d, v, ok))
	}
	if k, ok := ln.Attr("keys"); ok {
		if k != "encoder" {
			b.fail(ln.Pos, "%s: keys=%s, want encoder", o.Name, k)
		}
		n.Attrs = append(n.Attrs, ir.Attr{Key: "keys", Word: k, Type: "word"})
	}
}

// exprTypes gives the type of expression each attribute type wants.
var exprTypes = map[string]expr.Type{"int": expr.Int, "float": expr.Float, "float64": expr.Float, "bool": expr.Bool, "string": expr.String,
	"act": expr.String, "rope": expr.Rope}

func (b *body) attr(ln *spec.Line, o *ops.Op, d ops.AttrDecl, v string, given bool) ir.Attr {
	a := ir.Attr{Key: d.Name, Type: d.Type}
	what := o.Name + ": " + d.Name
	switch d.Type {
	case "word":
		a.Word = d.Word
		if given {
			a.Word = v
		}
	case "ints":
		a.Word = v
		if !given && d.Default != nil {
			a.Word = d.Default.Src
		}
	case "dims":
		a.Word = v
		for _, e := range SplitList(v) {
			b.expr(e, expr.Int, ln.Pos, what)
		}
	default:
		if !given {
			a.Expr = d.Default
			break
		}
		a.Expr = b.expr(v, exprTypes[d.Type], ln.Pos, what)
		if d.Type == "act" && a.Expr == nil { // a plain name such as silu
			return a
		}
	}
	return a
}

// SplitList splits a list attribute at commas outside parentheses.
func SplitList(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range s {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	if s == "" {
		return nil
	}
	return append(out, s[start:])
}

// infer applies the shape rule, gives parameters their shapes and defines the outputs.
func (b *body) infer(ln *spec.Line, o *ops.Op, n *ir.Node) bool {
	in := make([]ir.Shape, len(n.In))
	for i, v := range n.In {
		if v != nil && v.Param == nil {
			in[i] = v.Shape
		}
	}
	s := ops.Shaper{Op: o, In: in, Attr: b.attrDim(n), Dims: b.attrDims(n), Ints: attrInts(n)}
	ins, outs, err := s.Shapes()
	if err != nil {
		b.fail(ln.Pos, "%s: %v; inputs %s", o.Name, err, describe(n.In))
		return false
	}
	for i, v := range n.In {
		if v != nil && v.Param != nil {
			if i >= len(ins) || ins[i] == nil {
				b.fail(ln.Pos, "%s: the shape of %s does not follow from the line", o.Name, v.Name)
				return false
			}
			v.Shape, v.Param.Shape = ins[i], ins[i]
		}
	}
	return b.outputs(ln, o, n, outs)
}

func (b *body) outputs(ln *spec.Line, o *ops.Op, n *ir.Node, outs []ir.Shape) bool {
	if len(ln.Out) > len(outs) || o.VariadicOut && len(ln.Out) != len(outs) {
		b.fail(ln.Pos, "%s: %d outputs, want %d", o.Name, len(ln.Out), len(outs))
		return false
	}
	for i, shape := range outs {
		v := &ir.Value{Shape: shape, Type: ir.Act}
		if i < len(o.Out) {
			if t, ok := o.Types[o.Out[i]]; ok {
				v.Type = t
			}
		}
		if o.View && n.In[0] != nil {
			v.Type = n.In[0].Type
		}
		if i < len(ln.Out) && ln.Out[i] != "_" {
			v.Name = ln.Out[i]
			b.define(v.Name, v, ln.Pos)
		} else {
			v.Name = b.fresh(ln.Out[0] + "_" + o.Out[min(i, len(o.Out)-1)])
		}
		n.Out = append(n.Out, v)
	}
	for _, s := range o.Saves {
		v := &ir.Value{Name: b.fresh(n.Out[0].Name + "_" + s.Name), Type: ir.F32, Shape: saveShape(n.Out[0].Shape)}
		n.Out = append(n.Out, v)
	}
	return true
}

// saveShape is the shape of a value kept for each row.
func saveShape(s ir.Shape) ir.Shape {
	out := append(ir.Shape{}, s...)
	out[len(out)-1] = ir.Const(1)
	return out
}

// fresh makes a hidden value's name unique in the function.
func (b *body) fresh(name string) string {
	base := name
	for i := 2; b.env[name] != nil; i++ {
		name = base + strconv.Itoa(i)
	}
	b.env[name] = &ir.Value{Name: name}
	b.uses[name] = 1
	return name
}

func (b *body) attrDim(n *ir.Node) func(string) (ir.Dim, bool) {
	return func(name string) (ir.Dim, bool) {
		a := n.Attr(name)
		if a == nil || a.Expr == nil {
			return ir.Dim{}, false
		}
		if a.Type == "bool" {
			if a.Expr.Src == "true" {
				return ir.Const(1), true
			}
			return ir.Const(0), true
		}
		if a.Type != "int" {
			return ir.Dim{}, false
		}
		return b.names.dim(a.Expr), true
	}
}

func (b *body) attrDims(n *ir.Node) func(string) []ir.Dim {
	return func(name string) []ir.Dim {
		var out []ir.Dim
		if a := n.Attr(name); a != nil {
			for _, s := range SplitList(a.Word) {
				if e, err := expr.Parse(s); err == nil {
					out = append(out, b.names.dim(e).Rename("S", "T")) // S = T while training
				}
			}
		}
		return out
	}
}

func attrInts(n *ir.Node) func(string) []int {
	return func(name string) []int {
		a := n.Attr(name)
		if a == nil {
			return nil
		}
		var out []int
		for _, s := range strings.Split(a.Word, ",") {
			v, err := strconv.Atoi(strings.TrimSpace(s))
			if err != nil {
				return nil
			}
			out = append(out, v)
		}
		return out
	}
}

// formulas gives a node of a formula op its expressions.
func formulas(o *ops.Op, n *ir.Node) {
	if !o.IsFormula() {
		return
	}
	for i, in := range o.In {
		n.Env = append(n.Env, ir.Binding{Name: in.Name, Value: n.In[i]})
	}
	for i, s := range o.Saves {
		n.Formulas = append(n.Formulas, ir.Formula{Name: s.Name, Expr: s.Expr, Out: n.Out[len(o.Out)+i]})
	}
	for i, y := range o.Y {
		n.Formulas = append(n.Formulas, ir.Formula{Name: y.Name, Expr: y.Expr, Out: n.Out[i]})
	}
}
