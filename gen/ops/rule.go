package ops

import (
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
)

// Rule is a shape rule such as "[*,I] [out,I] [out] -> [*,out]". A * stands for any leading dimensions, the same in every
// place; a single name binds at its first place among the inputs and must equal it later; other expressions are computed.
type Rule struct {
	text    string
	In, Out []pattern
}

type pattern struct {
	star bool
	dims []*expr.Expr
}

func parseRule(s string) (*Rule, error) {
	in, out, ok := strings.Cut(s, "->")
	if !ok {
		return nil, fmt.Errorf("%q has no ->", s)
	}
	r := &Rule{text: s}
	var err error
	if r.In, err = parsePatterns(in); err != nil {
		return nil, err
	}
	r.Out, err = parsePatterns(out)
	return r, err
}

func parsePatterns(s string) ([]pattern, error) {
	var out []pattern
	for _, w := range strings.Fields(s) {
		if !strings.HasPrefix(w, "[") || !strings.HasSuffix(w, "]") {
			return nil, fmt.Errorf("%q is not a shape like [*,D]", w)
		}
		var p pattern
		for i, d := range strings.Split(w[1:len(w)-1], ",") {
			if d == "*" && i == 0 {
				p.star = true
				continue
			}
			e, err := expr.Parse(d)
			if err != nil {
				return nil, err
			}
			p.dims = append(p.dims, e)
		}
		out = append(out, p)
	}
	return out, nil
}

// binding holds what a rule's names stand for while it is applied.
type binding struct {
	star    ir.Shape
	hasStar bool
	dims    map[string]ir.Dim
	attr    func(string) (ir.Dim, bool)
}

// Apply matches the shapes of the inputs (nil: to be found, or absent) and returns all input and output shapes.
func (r *Rule) Apply(in []ir.Shape, attr func(string) (ir.Dim, bool)) (ins, outs []ir.Shape, err error) {
	if len(in) > len(r.In) {
		return nil, nil, fmt.Errorf("%d inputs, the shape rule %s has %d", len(in), r.text, len(r.In))
	}
	b := &binding{dims: map[string]ir.Dim{}, attr: attr}
	for i, s := range in {
		if s == nil {
			continue
		}
		if err := b.match(r.In[i], s); err != nil {
			return nil, nil, fmt.Errorf("input %d is %s: %w (rule %s)", i+1, s, err, r.text)
		}
	}
	ins = append([]ir.Shape(nil), in...)
	for i := range in {
		if in[i] == nil {
			if s, err := b.build(r.In[i]); err == nil {
				ins[i] = s
			}
		}
	}
	for _, p := range r.Out {
		s, err := b.build(p)
		if err != nil {
			return nil, nil, fmt.Errorf("%w (rule %s)", err, r.text)
		}
		outs = append(outs, s)
	}
	return ins, outs, nil
}

func (b *binding) match(p pattern, s ir.Shape) error {
	lead := len(s) - len(p.dims)
	if lead < 0 || lead > 0 && !p.star {
		return fmt.Errorf("%d dimensions, want %d", len(s), len(p.dims))
	}
	if p.star {
		if b.hasStar && !b.star.Equal(s[:lead]) {
			return fmt.Errorf("leading dimensions %s, want %s", s[:lead], b.star)
		}
		b.star, b.hasStar = s[:lead], true
	}
	for i, e := range p.dims {
		got := s[lead+i]
		if name, ok := e.Ident(); ok && !b.known(name) {
			b.dims[name] = got
			continue
		}
		want, err := b.dim(e)
		if err != nil {
			return err
		}
		if !want.Equal(got) {
			return fmt.Errorf("dimension %d is %s, want %s", lead+i+1, got, want)
		}
	}
	return nil
}

func (b *binding) known(name string) bool {
	if _, ok := b.dims[name]; ok {
		return true
	}
	_, ok := b.attr(name)
	return ok
}

func (b *binding) build(p pattern) (ir.Shape, error) {
	var s ir.Shape
	if p.star {
		if !b.hasStar {
			return nil, fmt.Errorf("* is not bound")
		}
		s = append(s, b.star...)
	}
	for _, e := range p.dims {
		d, err := b.dim(e)
		if err != nil {
			return nil, err
		}
		s = append(s, d)
	}
	return s, nil
}

func (b *binding) dim(e *expr.Expr) (ir.Dim, error) {
	for _, n := range e.Names() {
		if !b.known(n) && n != "B" && n != "T" { // unbound, these two are the batch's
			return ir.Dim{}, fmt.Errorf("%s is not bound", n)
		}
	}
	d := ir.ParseDim(e, func(string) (*expr.Expr, bool) { return nil, false })
	return d.Substitute(func(name string) (ir.Dim, bool) {
		if v, ok := b.dims[name]; ok {
			return v, true
		}
		return b.attr(name)
	}), nil
}

// StateShape evaluates the op's state, a shape such as [D,width-1], over the names that its shape rule binds.
func (o *Op) StateShape(in []ir.Shape, attr func(string) (ir.Dim, bool)) (ir.Shape, error) {
	p, err := parsePatterns(o.State)
	if err != nil || len(p) != 1 || o.Rule == nil {
		return nil, fmt.Errorf("state = %q, want \"tokens\" or a shape, and a shape rule that binds its names", o.State)
	}
	b := &binding{dims: map[string]ir.Dim{}, attr: attr}
	for i, s := range in {
		if s != nil {
			if err := b.match(o.Rule.In[i], s); err != nil {
				return nil, err
			}
		}
	}
	return b.build(p[0])
}
