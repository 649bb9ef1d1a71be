package emitgo

import (
	"fmt"
	"regexp"
	"sort"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
)

// node holds the names that a function's structs use: its parameters, its calls, its saved values and its state.
type node struct {
	f      *ir.Func
	typ    string                 // Go name of the function, such as Layer
	params map[*ir.Node]*paramSet // of each op with tensors of the checkpoint
	order  []any                  // *paramSet and callField in order of the body
	calls  map[*ir.Node][]string  // field of each case of a call
	saved  map[*ir.Value]string   // fields of saved values
	states map[*ir.Node]string    // fields of ops with state
	kept   map[*ir.Value]string   // state fields of results that decoding computes once
	consts map[*ir.Node]string    // fields of the model that hold constant tables
}

// paramSet is one op's tensors: a Linear, or parameters.
type paramSet struct {
	op     *ir.Node
	linear bool
	field  string               // of the Linear
	fields map[*ir.Param]string // of parameters
	list   []*ir.Param
}

type callField struct {
	call *ir.Node
	k    int
	name string
}

var indexWord = regexp.MustCompile(`\{[a-z_]+\}|[0-9]+`)

func (e *emitter) fieldsOf(f *ir.Func) *node {
	n := &node{f: f, typ: camel(f.Name), params: map[*ir.Node]*paramSet{}, calls: map[*ir.Node][]string{},
		saved: map[*ir.Value]string{}, states: map[*ir.Node]string{}, kept: map[*ir.Value]string{}, consts: map[*ir.Node]string{}}
	var w, s, st fields
	for _, op := range f.Body {
		if op.Call != nil {
			e.callFields(n, op, &w)
			if op.Call.Once {
				for _, v := range op.Out {
					n.kept[v] = st.name(v.Name)
				}
			}
			continue
		}
		if ps := op.Params(); len(ps) > 0 {
			n.addParams(op, ps, e.table[op.Op].Object == "Linear", &w)
		}
		if e.table[op.Op].State != "" {
			n.states[op] = st.name(op.Out[0].Name)
		}
		if e.table[op.Op].Const != "" {
			n.consts[op] = lowerCamel(f.Name + "_" + op.Out[0].Name)
		}
	}
	for _, c := range n.calls {
		for _, name := range c {
			s.name(name)
			st.name(name)
		}
	}
	for _, v := range f.Saved {
		n.saved[v] = s.name(v.Name)
	}
	return n
}

func (n *node) addParams(op *ir.Node, ps []*ir.Param, linear bool, w *fields) {
	set := &paramSet{op: op, linear: linear, fields: map[*ir.Param]string{}, list: ps}
	if linear {
		set.field = w.name(trimWeight(ps[0].Names[0]))
	} else {
		for _, p := range ps {
			set.fields[p] = w.name(trimWeight(p.Names[0]))
		}
	}
	n.params[op] = set
	n.order = append(n.order, set)
}

// trimWeight drops what adds nothing to a field's name.
func trimWeight(s string) string {
	s = strings.TrimSuffix(s, ".weight")
	s = indexWord.ReplaceAllString(s, "")
	if i := strings.LastIndex(s, "."); i >= 0 && !strings.HasSuffix(s, ".bias") && len(s)-i > 3 {
		s = s[i+1:]
	}
	return s
}

func (e *emitter) callFields(n *node, op *ir.Node, w *fields) {
	names := make([]string, len(op.Call.Cases))
	for k, c := range op.Call.Cases {
		base := c.Fn.Name
		if len(op.Call.Cases) == 1 {
			if p := strings.Trim(indexWord.ReplaceAllString(c.Prefix, ""), ". "); p != "" && !strings.Contains(p, ".") && op.Call.Repeat == nil {
				base = p
			}
		}
		names[k] = w.name(base)
		n.order = append(n.order, callField{op, k, names[k]})
	}
	n.calls[op] = names
}

// has reports whether a function, or one it calls, has something that the test finds.
func (e *emitter) has(f *ir.Func, test func(*ir.Func, *node) bool) bool {
	if test(f, e.tree[f]) {
		return true
	}
	for _, op := range f.Body {
		if op.Call == nil {
			continue
		}
		for _, c := range op.Call.Cases {
			if e.has(c.Fn, test) {
				return true
			}
		}
	}
	return false
}

func (e *emitter) hasWeights(f *ir.Func) bool {
	return e.has(f, func(_ *ir.Func, n *node) bool { return len(n.params) > 0 })
}

func (e *emitter) hasSaved(f *ir.Func) bool {
	return e.has(f, func(f *ir.Func, _ *node) bool { return len(f.Saved) > 0 })
}

func (e *emitter) hasState(f *ir.Func) bool {
	return e.has(f, func(_ *ir.Func, n *node) bool { return len(n.states)+len(n.kept) > 0 })
}

// weights prints weights.go: a struct for each function's tensors and the functions that declare them.
func (e *emitter) weights() *source {
	s := e.source("weights.go")
	for _, f := range e.mod.Funcs {
		if !e.hasWeights(f) {
			continue
		}
		e.weightsStruct(s, f)
		s.gap()
		e.weightsBuilder(s, f)
		s.gap()
	}
	return s
}

func (e *emitter) weightsStruct(s *source, f *ir.Func) {
	n := e.tree[f]
	s.comment(fmt.Sprintf("%sWeights are the tensors of [fn.%s] in checkpoint order.", n.typ, f.Name))
	s.line("type %sWeights struct {", n.typ)
	for _, item := range n.order {
		switch it := item.(type) {
		case *paramSet:
			if it.linear {
				s.line("%s *nn.Linear // %s %s%s", it.field, it.list[0].Names[0], it.list[0].Shape, biasNote(it))
				continue
			}
			for _, p := range it.list {
				s.line("%s *nn.Param // %s %s", it.fields[p], p.Names[0], p.Shape)
			}
		case callField:
			c := it.call.Call
			if !e.hasWeights(c.Cases[it.k].Fn) {
				continue
			}
			star := "*"
			if c.Repeat != nil {
				star = "[]*"
			}
			s.line("%s %s%sWeights", it.name, star, e.tree[c.Cases[it.k].Fn].typ)
		}
	}
	s.line("}")
}

func biasNote(it *paramSet) string {
	if len(it.list) > 1 {
		return ", " + it.list[1].Names[0]
	}
	return ""
}

func (e *emitter) weightsBuilder(s *source, f *ir.Func) {
	n := e.tree[f]
	sc := newScope(e.arch, "c")
	layer := ""
	if f.Layer {
		layer = ", i int"
	}
	s.line("func (c *Config) %sWeights(b *nn.Builder%s) *%sWeights {", lowerCamel(f.Name), layer, n.typ)
	if f.Prefix != "" {
		s.line("b = b.In(%s)", prefix(sc, f.Prefix))
	}
	s.line("w := &%sWeights{}", n.typ)
	for _, item := range n.order {
		switch it := item.(type) {
		case *paramSet:
			e.declare(s, sc, it)
		case callField:
			e.declareCall(s, sc, it)
		}
	}
	s.line("return w")
	s.line("}")
}

// prefix prints a tensor-name prefix as Go: {i} and {j} are loop counters, other names values of the configuration.
func prefix(sc *scope, p string) string {
	if !strings.Contains(p, "{") {
		return fmt.Sprintf("%q", p)
	}
	var args []string
	format := regexp.MustCompile(`\{([a-z_]+)\}`).ReplaceAllStringFunc(p, func(m string) string {
		args = append(args, sc.expr(expr.MustParse(m[1:len(m)-1]), 0))
		return "%v"
	})
	return fmt.Sprintf("fmt.Sprintf(%q, %s)", format, strings.Join(args, ", "))
}

func (e *emitter) declare(s *source, sc *scope, it *paramSet) {
	guard := it.op.Guard
	if guard != nil {
		s.line("if %s {", sc.expr(guard, 0))
	}
	if it.linear {
		args := []string{e.param(sc, it, it.list[0])}
		bias := "nil"
		if len(it.list) > 1 {
			bias = e.param(sc, it, it.list[1])
		}
		s.line("w.%s = b.Linear(%s, %s)", it.field, args[0], bias)
	} else {
		for _, p := range it.list {
			s.line("w.%s = %s", it.fields[p], e.param(sc, it, p))
		}
	}
	if guard != nil {
		s.line("}")
	}
}

// param prints the declaration of one parameter.
func (e *emitter) param(sc *scope, it *paramSet, p *ir.Param) string {
	b := "b"
	if p.Cond != nil {
		b += ".If(" + sc.expr(p.Cond, 0) + ")"
	}
	if p.Optional {
		b += ".Optional()"
	}
	if p.Trans {
		b += ".Transposed()"
	}
	if p.Flat {
		b += ".Flat()"
	}
	if p.Stack {
		b += ".Stacked()"
	}
	if !e.reached[p] {
		b += ".Fixed()"
	}
	if p.Tied != "" {
		b += fmt.Sprintf(".Tied(%s, %q)", sc.expr(p.TiedIf, 0), p.Tied)
	}
	method := "Normal"
	o := e.table[it.op.Op]
	switch {
	case p.Key == "bias" || o.Init == "zeros":
		method = "Zeros"
	case o.Init == "sinusoid":
		method = "Sinusoid"
	case o.Init == "ones" || o.IsFormula():
		method = "Ones"
	}
	return fmt.Sprintf("%s.%s(%q, %s)", b, method, strings.Join(p.Names, "|"), sc.shape(p.Shape))
}

func (e *emitter) declareCall(s *source, sc *scope, it callField) {
	c := it.call.Call
	cs := c.Cases[it.k]
	if !e.hasWeights(cs.Fn) {
		return
	}
	in := "b"
	if cs.Prefix != "" {
		in = fmt.Sprintf("b.In(%s)", prefix(sc, cs.Prefix))
	}
	build := fmt.Sprintf("c.%sWeights(%s%s)", lowerCamel(cs.Fn.Name), in, layerArg(cs.Fn, c))
	cond := ""
	if it.call.Guard != nil {
		cond = sc.expr(it.call.Guard, 0)
	}
	if len(c.Cases) > 1 {
		cond = caseCond(sc, c, it.k)
	}
	if c.Repeat == nil {
		if cond != "" {
			s.line("if %s {", cond)
		}
		s.line("w.%s = %s", it.name, build)
		if cond != "" {
			s.line("}")
		}
		return
	}
	n := sc.expr(c.Repeat, 0)
	s.line("w.%s = make([]*%sWeights, %s)", it.name, e.tree[cs.Fn].typ, n)
	loopHead(s, sc, c)
	if cond != "" {
		s.line("if %s {", cond)
	}
	s.line("w.%s[%s] = %s", it.name, c.Index, build)
	if cond != "" {
		s.line("}")
	}
	s.line("}")
}

// caseCond is the Go condition under which case k is taken.
func caseCond(sc *scope, c *ir.Call, k int) string {
	on := sc.expr(c.On, 0)
	switch c.Cases[k].Label {
	case "true":
		return on
	case "false":
		return sc.negated(c.On)
	}
	return fmt.Sprintf("%s == %q", on, c.Cases[k].Label)
}

func loopHead(s *source, sc *scope, c *ir.Call) {
	n := sc.expr(c.Repeat, 0)
	if c.From == nil {
		s.line("for %s := range %s {", c.Index, n)
		return
	}
	s.line("for %s := %s; %s < %s; %s++ {", c.Index, sc.expr(c.From, 0), c.Index, n, c.Index)
}

func layerArg(f *ir.Func, c *ir.Call) string {
	if !f.Layer {
		return ""
	}
	return ", i"
}

func sortStrings(s []string) { sort.Strings(s) }

// reachedParams finds the tensors to which some backward function adds gradients.
func (e *emitter) reachedParams() map[*ir.Param]bool {
	reached := map[*ir.Param]bool{}
	for _, f := range e.mod.Funcs {
		if f.Grad == nil {
			continue
		}
		for _, n := range f.Grad.Body {
			o := e.table[n.Op]
			for i, v := range n.In {
				if v == nil || v.Param == nil {
					continue
				}
				if n.Op == "accumulate" || o != nil && n.Formulas == nil && o.In[min(i, len(o.In)-1)].Param {
					reached[v.Param] = true
				}
			}
		}
	}
	return reached
}
