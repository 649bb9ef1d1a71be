// Package fuse joins formula nodes into kernels.
//
// A formula node computes an element, or a row, from tensors of one iteration shape. Neighbours over the same shape
// become members of one group when rules.go has a row for the pair and moving the computation there is legal: a value
// between two members then never touches memory, unless something outside reads it. What is left alone becomes a group
// of one.
package fuse

import (
	"slices"

	"github.com/vulcast/vulcast/gen/ir"
)

// maxOperands bounds the tensors of one kernel: 16 bindings exist.
const maxOperands = 14

// Body returns the body with its formula nodes joined into kernel nodes. keep lists values that must reach memory
// although no node of the body reads them: results and saved values.
func Body(body []*ir.Node, keep []*ir.Value) []*ir.Node {
	b := &builder{keep: keep}
	for _, n := range prune(body, keep) {
		b.add(n)
	}
	return b.finish()
}

// prune drops formulas whose results nobody reads, and nodes left without any.
func prune(body []*ir.Node, keep []*ir.Value) []*ir.Node {
	needed := map[*ir.Value]bool{}
	for _, v := range keep {
		needed[v] = true
	}
	var out []*ir.Node
	for _, n := range slices.Backward(body) {
		if len(n.Formulas) > 0 {
			n = live(n, needed)
			if n == nil {
				continue
			}
		}
		for _, v := range n.In {
			needed[v] = true
		}
		for _, v := range n.Else {
			needed[v] = true
		}
		out = append(out, n)
	}
	slices.Reverse(out)
	return out
}

// live returns the node without the formulas that are not needed, nil when none is.
func live(n *ir.Node, needed map[*ir.Value]bool) *ir.Node {
	want := map[string]bool{}
	for _, f := range slices.Backward(n.Formulas) {
		if needed[f.Out] {
			want[f.Name] = true
		}
		if want[f.Name] {
			for _, name := range f.Expr.Names() {
				want[name] = true
			}
		}
	}
	c := *n
	c.Formulas, c.Out, c.In, c.Env = nil, nil, nil, nil
	for _, f := range n.Formulas {
		if want[f.Name] {
			c.Formulas = append(c.Formulas, f)
			c.Out = append(c.Out, f.Out)
		}
	}
	if len(c.Formulas) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, f := range c.Formulas {
		for _, name := range f.Expr.Names() {
			used[name] = true
		}
	}
	for _, b := range n.Env {
		if used[b.Name] {
			c.Env = append(c.Env, b)
			c.In = append(c.In, b.Value)
		}
	}
	if n.Guard != nil && len(n.Else) > 0 { // Else follows the outputs that a guard can replace
		c.Else = nil
		for _, v := range c.Out {
			if i := slices.Index(n.Out, v); i < len(n.Else) {
				c.Else = append(c.Else, n.Else[i])
			} else {
				c.Else = append(c.Else, nil)
			}
		}
	}
	return &c
}

// builder collects nodes; entries that are groups still accept members.
type builder struct {
	keep []*ir.Value
	list []*ir.Node
}

func (b *builder) add(n *ir.Node) {
	switch {
	case n.Op == "accumulate":
		b.accumulate(n)
	case len(n.Formulas) == 0:
		b.list = append(b.list, n)
	default:
		if !b.join(n) {
			b.list = append(b.list, newGroup(n))
		}
	}
}

func newGroup(n *ir.Node) *ir.Node {
	g := &ir.Group{Members: []*ir.Node{n}, Shape: iteration(n), Rows: reduces(n)}
	return &ir.Node{Op: "kernel", Group: g, In: unique(n.In), Out: n.Out, Guard: n.Guard, Else: n.Else, Text: n.Text,
		Pos: n.Pos, Of: n.Of}
}

// iteration is the shape that a formula node runs over: that of its widest value.
func iteration(n *ir.Node) ir.Shape {
	var s ir.Shape
	for _, v := range append(slices.Clone(n.Out), n.In...) {
		if v == nil || v.Param != nil {
			continue
		}
		if s == nil {
			s = v.Shape
		} else if t, err := ir.Broadcast(s, v.Shape); err == nil {
			s = t
		}
	}
	return s
}

func reduces(n *ir.Node) bool {
	return slices.ContainsFunc(n.Formulas, func(f ir.Formula) bool { return f.Expr.HasReduction() })
}

// join tries to make n a member of an earlier group, the nearest first.
func (b *builder) join(n *ir.Node) bool {
	shape := iteration(n)
	for i := len(b.list) - 1; i >= 0; i-- {
		g := b.list[i]
		if g.Group == nil || !g.Group.Shape.Equal(shape) || !sameGuard(g, n) || !related(g, n) {
			continue
		}
		if !allowed(g, n) || countOperands(g, n) > maxOperands {
			continue
		}
		if b.canRise(i, n) {
			merge(g, n)
			return true
		}
		if b.canSink(i) {
			b.list = append(append(b.list[:i:i], b.list[i+1:]...), g)
			merge(g, n)
			return true
		}
	}
	return false
}

func sameGuard(a, b *ir.Node) bool {
	if a.Guard == nil || b.Guard == nil {
		return a.Guard == b.Guard
	}
	return false // guarded formulas stay alone: their outputs are replaced one by one
}

// related: n reads something the group makes or reads.
func related(g, n *ir.Node) bool {
	for _, v := range n.In {
		if slices.Contains(g.Out, v) {
			return true
		}
	}
	for _, v := range n.In { // siblings that read the same large tensor share its load
		if v != nil && v.Param == nil && v.Shape.Equal(g.Group.Shape) && slices.Contains(g.In, v) {
			return true
		}
	}
	return false
}

// canRise: everything n reads is there before the group's place or made in the group.
func (b *builder) canRise(i int, n *ir.Node) bool {
	for _, later := range b.list[i+1:] {
		for _, v := range n.In {
			if slices.Contains(later.Out, v) {
				return false
			}
		}
	}
	return true
}

// canSink: nothing after the group's place reads what the group makes.
func (b *builder) canSink(i int) bool {
	for _, later := range b.list[i+1:] {
		for _, v := range append(slices.Clone(later.In), later.Else...) {
			if slices.Contains(b.list[i].Out, v) {
				return false
			}
		}
	}
	return true
}

func merge(g, n *ir.Node) {
	g.Group.Members = append(g.Group.Members, n)
	g.Group.Rows = g.Group.Rows || reduces(n)
	g.In = unique(append(g.In, n.In...))
	g.Out = append(slices.Clone(g.Out), n.Out...)
}

func unique(vs []*ir.Value) []*ir.Value {
	var out []*ir.Value
	for _, v := range vs {
		if v != nil && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func countOperands(g, n *ir.Node) int {
	return len(unique(append(slices.Clone(g.In), n.In...))) + len(g.Out) + len(n.Out)
}

// accumulate turns the sum over rows of a formula's value into an output of its kernel, when nothing else reads it.
func (b *builder) accumulate(n *ir.Node) {
	v, p := n.In[0], n.In[1]
	for _, g := range b.list {
		if g.Group == nil || !slices.Contains(g.Out, v) || slices.Contains(b.keep, v) {
			continue
		}
		last := len(g.Group.Shape) - 1
		if last >= 0 && len(p.Shape) == 1 && p.Shape[0].Equal(g.Group.Shape[last]) {
			g.Group.Cols = append(g.Group.Cols, v)
			g.Group.Rows = true
		}
		break
	}
	b.list = append(b.list, n)
}

// finish fixes what each group reads and writes.
func (b *builder) finish() []*ir.Node {
	for i, n := range b.list {
		if n.Group == nil {
			continue
		}
		var in, out []*ir.Value
		made := n.Out
		for _, m := range n.Group.Members {
			for _, v := range m.In {
				if v != nil && !slices.Contains(made, v) {
					in = append(in, v)
				}
			}
		}
		var alt []*ir.Value
		for k, v := range made {
			if slices.Contains(b.keep, v) || b.readOutside(i, v) {
				out = append(out, v)
				if k < len(n.Else) {
					alt = append(alt, n.Else[k])
				}
			}
		}
		n.In, n.Out, n.Else = unique(in), out, alt
		n.Group.In, n.Group.Out = n.In, n.Out
	}
	return b.list
}

func (b *builder) readOutside(i int, v *ir.Value) bool {
	for j, n := range b.list {
		if j != i && (slices.Contains(n.In, v) || slices.Contains(n.Else, v)) {
			return true
		}
	}
	return false
}
