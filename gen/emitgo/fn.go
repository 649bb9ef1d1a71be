package emitgo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
)

// form is which of a function's three bodies is being printed.
type form int

const (
	training form = iota // forward, keeps what backward reads
	stepping             // forward with state, keeps nothing
	backward
)

// printer prints one body.
type printer struct {
	*emitter
	s    *source
	f    *ir.Func // the forward function
	n    *node
	form form
	sc   *scope
	loc  *locals
	body []*ir.Node
	last map[*ir.Value]int // last node that reads a value; len(body) for results
}

// function prints the training and the decoding form of a function.
func (e *emitter) function(f *ir.Func) *source {
	s := e.source(fileName(f.Name) + ".go")
	if len(f.Saved) > 0 || e.hasSaved(f) {
		e.savedStruct(s, f)
	}
	if e.hasState(f) {
		e.stateStruct(s, f)
	}
	p := e.newPrinter(s, f, training)
	p.comment(fmt.Sprintf("%s records the forward pass of [fn.%s].", p.method(f, training), f.Name))
	p.print(f.In, f.Out)
	s.gap()
	q := e.newPrinter(s, f, stepping)
	q.comment(fmt.Sprintf("%s is %s for inference: it keeps nothing for a backward pass and reads and extends the state.",
		q.method(f, stepping), q.method(f, training)))
	q.print(f.In, f.Out)
	return s
}

func (e *emitter) gradFunction(f *ir.Func) *source {
	s := e.source(fileName(f.Name) + "_grad.go")
	p := e.newPrinter(s, f, backward)
	p.comment(fmt.Sprintf("%s records the backward pass of [fn.%s] and frees what %s kept.", p.method(f, backward), f.Name, p.method(f, training)))
	p.print(f.Grad.In, f.Grad.Out)
	return s
}

// fileName keeps generated names clear of Go's special file names.
func fileName(fn string) string {
	switch fn {
	case "config", "weights", "arch":
		return fn + "_fn"
	}
	for _, suffix := range []string{"_test", "_linux", "_windows", "_darwin", "_amd64", "_arm64"} {
		if strings.HasSuffix(fn, suffix) {
			return fn + "_fn"
		}
	}
	return fn
}

func (e *emitter) newPrinter(s *source, f *ir.Func, of form) *printer {
	p := &printer{emitter: e, s: s, f: f, n: e.tree[f], form: of, sc: newScope(e.arch, "m"), loc: newLocals(),
		last: map[*ir.Value]int{}}
	switch of {
	case backward:
		p.body = fuseGrad(f.Grad)
	default:
		p.body = e.fused(f, of == training)
	}
	return p
}

func (p *printer) method(f *ir.Func, of form) string {
	return lowerCamel(f.Name) + map[form]string{training: "", stepping: "Step", backward: "Grad"}[of]
}

// comment prints the function's doc: what, shapes, source.
func (p *printer) comment(what string) {
	p.s.comment(what, "")
	in, out := p.f.In, p.f.Out
	if p.form == backward {
		in, out = p.f.Grad.In, p.f.Grad.Out
	}
	for _, v := range in {
		p.s.comment(fmt.Sprintf("\t%s %s %s", p.loc.of(v), v.Shape, v.Type))
	}
	for _, v := range out {
		p.s.comment(fmt.Sprintf("\t-> %s %s %s", p.loc.of(v), v.Shape, v.Type))
	}
	p.s.comment("", fmt.Sprintf("Spec: %s [fn.%s].", p.f.Pos, p.f.Name))
}

// signature prints the head of the function.
func (p *printer) signature(in, out []*ir.Value) {
	args := []string{"r *nn.Recorder", "b *nn.Batch"}
	if p.hasWeights(p.f) {
		args = append(args, fmt.Sprintf("w *%sWeights", p.n.typ))
	}
	switch {
	case p.form != stepping && p.hasSaved(p.f):
		args = append(args, fmt.Sprintf("s *%sSaved", p.n.typ))
	case p.form == stepping && p.hasState(p.f):
		args = append(args, fmt.Sprintf("st *%sState", p.n.typ))
	}
	if p.f.Layer {
		args = append(args, "i int")
	}
	if len(in) > 0 {
		args = append(args, strings.Join(p.names(in), ", ")+" gpu.Tensor")
	}
	result := ""
	switch len(out) {
	case 0:
	case 1:
		result = " gpu.Tensor"
	default:
		result = " (" + strings.TrimSuffix(strings.Repeat("gpu.Tensor, ", len(out)), ", ") + ")"
	}
	p.s.line("func (m *Model) %s(%s)%s {", p.method(p.f, p.form), strings.Join(args, ", "), result)
}

func (p *printer) names(vs []*ir.Value) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = p.ref(v)
	}
	return out
}

// ref prints a value: a local, a parameter of the checkpoint or, in the backward function, a saved field.
func (p *printer) ref(v *ir.Value) string {
	switch {
	case v == nil:
		return "gpu.Tensor{}"
	case v.Param != nil:
		return p.paramRef(v.Param) + ".Value"
	case p.form == backward && p.n.saved[v] != "":
		return "s." + p.n.saved[v]
	}
	return p.loc.of(v)
}

// paramRef prints the *nn.Param of a parameter.
func (p *printer) paramRef(q *ir.Param) string {
	set := p.n.params[q.Node]
	if set.linear {
		if q == set.list[0] {
			return "w." + set.field + ".Weight"
		}
		return "w." + set.field + ".Bias"
	}
	return "w." + set.fields[q]
}

// print prints the whole function.
func (p *printer) print(in, out []*ir.Value) {
	p.signature(in, out)
	p.liveness(out)
	if p.form == training {
		for _, v := range in {
			if f, ok := p.n.saved[v]; ok {
				p.s.line("s.%s = r.Retain(%s)", f, p.loc.of(v))
			}
		}
	}
	for i, n := range p.body {
		p.node(i, n)
	}
	p.results(in, out)
	p.s.line("}")
}

// liveness finds the last reader of every value.
func (p *printer) liveness(out []*ir.Value) {
	for i, n := range p.body {
		for _, v := range n.In {
			p.last[v] = i
		}
		for _, v := range n.Else {
			p.last[v] = i
		}
		for _, v := range n.Out {
			if _, ok := p.last[v]; !ok {
				p.last[v] = i
			}
		}
	}
	for _, v := range out {
		p.last[v] = len(p.body)
	}
}

// results prints the return: an input or saved value that is returned gets a reference of its own.
func (p *printer) results(in, out []*ir.Value) {
	if p.form == backward {
		p.freeSaved()
	}
	refs := make([]string, len(out))
	for i, v := range out {
		refs[i] = p.ref(v)
		if slices.Contains(in, v) || slices.Contains(out[:i], v) || p.form == backward && p.n.saved[v] != "" {
			refs[i] = "r.Retain(" + refs[i] + ")"
		}
	}
	if len(refs) > 0 {
		p.s.line("return %s", strings.Join(refs, ", "))
	}
}

// freeSaved frees saved values that the backward body never reads (a guard or pruning may leave some).
func (p *printer) freeSaved() {
	var left []string
	for _, v := range p.f.Saved {
		if _, ok := p.last[v]; !ok {
			left = append(left, p.ref(v))
		}
	}
	if len(left) > 0 {
		p.s.line("r.Free(%s)", strings.Join(left, ", "))
	}
}

// node prints one paragraph.
func (p *printer) node(i int, n *ir.Node) {
	p.heading(i, n)
	switch {
	case n.Call != nil:
		p.call(n)
	case n.Guard != nil:
		p.guarded(n)
	default:
		p.op(n, ":=")
	}
	p.keepSaved(n)
	p.frees(i, n)
}

// heading prints the spec lines that the paragraph comes from.
func (p *printer) heading(i int, n *ir.Node) {
	if i > 0 {
		p.s.gap()
	}
	seen := map[string]bool{}
	say := func(m *ir.Node) {
		text, pos := m.Text, m.Pos
		grad := ""
		if m.Of != nil {
			text, pos, grad = m.Of.Text, m.Of.Pos, "grad of "
		}
		l := fmt.Sprintf("%s:%d %s", grad, pos.Line, text)
		if text != "" && !seen[l] {
			seen[l] = true
			p.s.comment(l)
		}
	}
	if n.Group != nil {
		for _, m := range n.Group.Members {
			say(m)
		}
		return
	}
	say(n)
}

// keepSaved stores what the backward pass reads.
func (p *printer) keepSaved(n *ir.Node) {
	if p.form != training {
		return
	}
	for _, v := range n.Out {
		f, ok := p.n.saved[v]
		if !ok || v == nil {
			continue
		}
		// The saved struct takes over the reference unless the value is also a result.
		if slices.Contains(p.f.Out, v) {
			p.s.line("s.%s = r.Retain(%s)", f, p.loc.of(v))
		} else {
			p.s.line("s.%s = %s", f, p.loc.of(v))
		}
	}
}

// frees gives back what the node was the last to read.
func (p *printer) frees(i int, n *ir.Node) {
	var dead []string
	seen := map[*ir.Value]bool{}
	for _, v := range append(append(slices.Clone(n.In), n.Else...), n.Out...) {
		if v == nil || v.Param != nil || seen[v] || p.last[v] != i {
			continue
		}
		seen[v] = true
		if n.Op == "linear_grad" && v == n.In[len(n.In)-1] {
			continue // the product added to it and returned it: its reference goes on
		}
		if p.owned(v) {
			dead = append(dead, p.ref(v))
		}
	}
	if len(dead) > 0 {
		p.s.line("r.Free(%s)", strings.Join(dead, ", "))
	}
}

// owned: the function holds the value's reference and must free it.
func (p *printer) owned(v *ir.Value) bool {
	in := p.f.In
	switch p.form {
	case backward:
		if p.n.saved[v] != "" {
			return true
		}
		in = p.f.Grad.In
	case training:
		if p.n.saved[v] != "" && !slices.Contains(p.f.In, v) {
			return false // handed to the saved struct
		}
	}
	return !slices.Contains(in, v)
}

// guarded prints a node that happens only when its guard holds.
func (p *printer) guarded(n *ir.Node) {
	var outs []string
	for _, v := range n.Out {
		if v != nil {
			outs = append(outs, p.loc.of(v))
		}
	}
	if len(outs) > 0 {
		p.s.line("var %s gpu.Tensor", strings.Join(outs, ", "))
	}
	p.s.line("if %s {", p.sc.expr(n.Guard, expr.Bool))
	p.op(n, "=")
	var alt []string
	for i, v := range n.Out {
		if v == nil {
			continue
		}
		switch {
		case i < len(n.Else) && n.Else[i] != nil:
			alt = append(alt, fmt.Sprintf("%s = r.Retain(%s)", p.loc.of(v), p.ref(n.Else[i])))
		case v.Of != nil && v.Of.Param == nil && p.form == backward && n.Group == nil:
			alt = append(alt, fmt.Sprintf("%s = r.Zeros(%s)", p.loc.of(v), p.sc.shape(v.Shape)))
		}
	}
	if len(alt) > 0 {
		p.s.line("} else {")
		for _, a := range alt {
			p.s.line("%s", a)
		}
	}
	p.s.line("}")
}
