// Package lower turns a spec into ir: names are resolved, shapes inferred, the tensors of the checkpoint declared.
//
// Each function of the spec is lowered once, at its first call; later calls must agree with the shapes found then. All
// errors are collected, each at the line that causes it.
package lower

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
	"github.com/vulcast/vulcast/gen/spec"
)

// Root is an entry function with what the runtime gives it.
type Root struct {
	Name    string
	In, Out []string // names of contract values, see contractShape
}

// Contract lists the entry functions of a kind, in the order in which they are lowered.
func Contract(k spec.Kind) []Root {
	switch k {
	case spec.Seq2Seq:
		return []Root{
			{"encoder", []string{"tokens"}, []string{"e"}},
			{"model", []string{"tokens", "e"}, []string{"h"}},
			{"head", []string{"h"}, []string{"logits"}},
		}
	default:
		return []Root{{"model", []string{"tokens"}, []string{"h"}}, {"head", []string{"h"}, []string{"logits"}}}
	}
}

// Module lowers an architecture.
func Module(a *spec.Arch, table ops.Table) (*ir.Module, error) {
	l := &lowerer{arch: a, table: table, mod: &ir.Module{Name: a.Name, Arch: a}, state: map[string]int{},
		used: map[string]bool{}}
	l.names = newNames(a, l.fail)
	known := map[string]*ir.Value{"tokens": {Name: "tokens", Shape: ir.Shape{ir.Atom("B"), ir.Atom("T")}, Type: ir.I32}}
	for _, r := range Contract(a.Kind) {
		l.root(r, known)
	}
	if len(l.errs) == 0 {
		l.unused()
	}
	return l.mod, errors.Join(l.errs...)
}

type lowerer struct {
	arch  *spec.Arch
	table ops.Table
	mod   *ir.Module
	names *names
	state map[string]int // 1 while a function is being lowered, 2 afterwards
	used  map[string]bool
	errs  []error
}

func (l *lowerer) fail(p spec.Pos, format string, args ...any) {
	l.errs = append(l.errs, p.Errorf(format, args...))
}

func (l *lowerer) root(r Root, known map[string]*ir.Value) {
	fn := l.arch.Fn(r.Name)
	if fn == nil {
		l.fail(spec.Pos{File: l.arch.File}, "no [fn.%s], which a %s architecture must have: sig = %q", r.Name, l.arch.Kind,
			strings.Join(r.In, " ")+" -> "+strings.Join(r.Out, " "))
		return
	}
	if len(fn.In) != len(r.In) || len(fn.Out) != len(r.Out) {
		l.fail(fn.Pos, "fn.%s: sig %s -> %s, want %s -> %s", r.Name, strings.Join(fn.In, " "), strings.Join(fn.Out, " "),
			strings.Join(r.In, " "), strings.Join(r.Out, " "))
		return
	}
	args := make([]*ir.Value, len(r.In))
	for i, n := range r.In {
		if args[i] = known[n]; args[i] == nil {
			return // an earlier root failed
		}
	}
	f := l.fn(r.Name, args, fn.Pos)
	if f == nil || len(f.Out) != len(r.Out) {
		return
	}
	if f.Layer {
		l.fail(fn.Pos, "fn.%s mentions the layer number i, but no repeat= gives it a value", r.Name)
	}
	for i, n := range r.Out {
		known[n] = f.Out[i]
		if n == "e" { // the decoder sees the encoder's time as another size
			v := *f.Out[i]
			v.Shape = v.Shape.Rename("T", "Te")
			known[n] = &v
		}
	}
}

// fn lowers the named function for arguments like args, or checks a later call against the first.
func (l *lowerer) fn(name string, args []*ir.Value, at spec.Pos) *ir.Func {
	src := l.arch.Fn(name)
	if src == nil {
		l.fail(at, "@%s: no [fn.%s]", name, name)
		return nil
	}
	if len(args) != len(src.In) {
		l.fail(at, "@%s: %d arguments, its sig has %d (%s)", name, len(args), len(src.In), strings.Join(src.In, " "))
		return nil
	}
	switch l.state[name] {
	case 1:
		l.fail(at, "@%s calls itself", name)
		return nil
	case 2:
		f := l.mod.Func(name)
		for i, a := range args {
			if f != nil && a != nil && !sameShape(a.Shape, f.In[i].Shape) {
				l.fail(at, "@%s: argument %s is %s here and %s at its first call", name, src.In[i], a.Shape, f.In[i].Shape)
			}
		}
		return f
	}
	l.state[name] = 1
	f := &ir.Func{Name: name, Pos: src.Pos, Prefix: src.Prefix}
	b := &body{lowerer: l, f: f, src: src, env: map[string]*ir.Value{}, uses: map[string]int{}}
	for i, n := range src.In {
		v := &ir.Value{Name: n, Shape: args[i].Shape, Type: args[i].Type}
		f.In = append(f.In, v)
		b.define(n, v, src.Pos)
	}
	before := len(l.errs)
	for i := range src.Lines {
		b.line(&src.Lines[i])
	}
	for _, n := range src.Out {
		if v := b.env[n]; v != nil {
			f.Out = append(f.Out, v)
			b.uses[n]++
		} else if len(l.errs) == before {
			l.fail(src.Pos, "fn.%s: output %s is never assigned", name, n)
		}
	}
	if len(l.errs) == before {
		b.unusedValues()
	}
	f.Layer = b.layer
	l.state[name] = 2
	l.mod.Funcs = append(l.mod.Funcs, f)
	return f
}

// sameShape compares shapes, taking the decoder's, the encoder's and the keys' time for one.
func sameShape(a, b ir.Shape) bool { return oneTime(a).Equal(oneTime(b)) }

func oneTime(s ir.Shape) ir.Shape { return s.Rename("Te", "T").Rename("S", "T") }

// unused reports functions and configuration that nothing reads; what a parent declares may stay unused.
func (l *lowerer) unused() {
	for _, fn := range l.arch.Fns {
		if l.state[fn.Name] == 0 && fn.Pos.File == l.arch.File {
			l.fail(fn.Pos, "fn.%s is never called", fn.Name)
		}
	}
	l.names.unused(l.arch.File)
}

// body lowers the lines of one function.
type body struct {
	*lowerer
	f      *ir.Func
	src    *spec.Fn
	env    map[string]*ir.Value
	uses   map[string]int
	where  map[string]spec.Pos
	failed []*ir.Value // outputs of lines that failed
	layer  bool
}

func (b *body) define(name string, v *ir.Value, at spec.Pos) {
	if name == "_" {
		return
	}
	if b.env[name] != nil {
		b.fail(at, "%s is assigned twice", name)
		return
	}
	if b.where == nil {
		b.where = map[string]spec.Pos{}
	}
	b.env[name], b.where[name] = v, at
}

func (b *body) unusedValues() {
	for _, n := range slices.Sorted(mapKeys(b.env)) {
		if b.uses[n] == 0 {
			b.fail(b.where[n], "fn.%s: %s is never used (write _ to drop an output)", b.f.Name, n)
		}
	}
}

func (b *body) lookup(name string, at spec.Pos) *ir.Value {
	v := b.env[name]
	if v == nil {
		b.fail(at, "unknown value %s", name)
		return nil
	}
	b.uses[name]++
	return v
}

func (b *body) line(ln *spec.Line) {
	before := len(b.errs)
	ins := make([]*ir.Value, len(ln.In))
	for i, n := range ln.In {
		ins[i] = b.lookup(n, ln.Pos)
	}
	if len(b.errs) > before || slices.ContainsFunc(ins, b.isPlaceholder) {
		b.placeholders(ln)
		return
	}
	if ln.Call {
		b.call(ln, ins)
	} else {
		b.op(ln, ins)
	}
	if len(b.errs) > before {
		b.placeholders(ln)
	}
}

// placeholders defines the outputs of a line that failed, so that one mistake gives one error.
func (b *body) placeholders(ln *spec.Line) {
	for _, n := range ln.Out {
		if n != "_" && b.env[n] == nil {
			b.env[n] = &ir.Value{Name: n, Type: ir.Act}
			b.uses[n] = 1
			b.failed = append(b.failed, b.env[n])
		}
	}
}

// isPlaceholder: the value's line failed, and has been reported.
func (b *body) isPlaceholder(v *ir.Value) bool { return slices.Contains(b.failed, v) }

// expr parses an attribute's expression and checks its type.
func (b *body) expr(src string, want expr.Type, at spec.Pos, what string) *expr.Expr {
	e, err := expr.Parse(src)
	if err != nil {
		b.fail(at, "%s: %v", what, err)
		return nil
	}
	return b.checked(e, want, at, what)
}

func (b *body) checked(e *expr.Expr, want expr.Type, at spec.Pos, what string) *expr.Expr {
	t, err := e.Check(b.names.typeOf)
	if err != nil {
		b.fail(at, "%s: %v", what, err)
		return nil
	}
	if t != want && !(want == expr.Float && t == expr.Int) && want != expr.Invalid {
		b.fail(at, "%s = %s is %s, want %s", what, e.Src, t, want)
		return nil
	}
	b.mention(e)
	return e
}

// mention records the configuration names of an expression as used, and whether it needs the layer number.
func (b *body) mention(e *expr.Expr) {
	if b.names.mention(e) {
		b.layer = true
	}
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (b *body) addNode(n *ir.Node, ln *spec.Line) {
	n.Text, n.Pos = ln.Text, ln.Pos
	b.f.Body = append(b.f.Body, n)
}

func describe(vs []*ir.Value) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		if v == nil {
			parts[i] = "-"
			continue
		}
		parts[i] = fmt.Sprintf("%s %s", v.Name, v.Shape)
	}
	return strings.Join(parts, ", ")
}
