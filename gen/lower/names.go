package lower

import (
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/spec"
)

// names knows every configuration name, its type, and whether it differs by layer.
type names struct {
	arch  *spec.Arch
	types map[string]expr.Type
	lets  map[string]*expr.Expr
	layer map[string]bool
	used  map[string]bool
	fail  func(spec.Pos, string, ...any)
}

// batchNames are the sizes of the batch, the layer number and the loop counters.
var batchNames = map[string]expr.Type{"B": expr.Int, "T": expr.Int, "S": expr.Int, "Te": expr.Int,
	"i": expr.Int, "j": expr.Int}

func newNames(a *spec.Arch, fail func(spec.Pos, string, ...any)) *names {
	n := &names{arch: a, types: map[string]expr.Type{}, lets: map[string]*expr.Expr{}, layer: map[string]bool{},
		used: map[string]bool{}, fail: fail}
	for _, c := range a.Config {
		if _, reserved := batchNames[c.Name]; reserved {
			fail(c.Pos, "config %s: the name is reserved", c.Name)
		}
		n.types[c.Name] = c.Type
	}
	for _, l := range a.Lets {
		t, err := l.Expr.Check(n.typeOf)
		if err != nil {
			fail(l.Pos, "let %s: %v", l.Name, err)
			continue
		}
		n.types[l.Name] = t
		n.lets[l.Name] = l.Expr
		n.layer[l.Name] = n.mentionsLayer(l.Expr)
	}
	for _, c := range a.Config {
		if c.Default == nil {
			continue
		}
		t, err := c.Default.Check(n.typeOf)
		if err != nil {
			fail(c.Pos, "config %s: default: %v", c.Name, err)
		} else if t != c.Type && !(c.Type == expr.Float && t == expr.Int) {
			fail(c.Pos, "config %s is %s, its default %s is %s", c.Name, c.Type, c.Default.Src, t)
		}
		n.use(c.Default)
	}
	checks := a.Checks
	if a.Decode != nil {
		checks = append(slices.Clip(checks), *a.Decode)
	}
	for _, c := range checks {
		if t, err := c.Expr.Check(n.typeOf); err != nil {
			fail(c.Pos, "check: %v", err)
		} else if t != expr.Bool {
			fail(c.Pos, "check: %s is %s, want a condition", c.Expr.Src, t)
		}
		n.use(c.Expr)
	}
	return n
}

func (n *names) typeOf(name string) (expr.Type, bool) {
	if t, ok := batchNames[name]; ok {
		return t, true
	}
	t, ok := n.types[name]
	return t, ok
}

func (n *names) mentionsLayer(e *expr.Expr) bool {
	for _, name := range e.Names() {
		if name == "i" && !e.Calls("each") || n.layer[name] {
			return true
		}
	}
	return false
}

func (n *names) use(e *expr.Expr) {
	for _, name := range e.Names() {
		if n.used[name] {
			continue
		}
		n.used[name] = true
		if l := n.lets[name]; l != nil {
			n.use(l)
		}
	}
}

// mention marks the names as used and reports whether the expression needs the layer number.
func (n *names) mention(e *expr.Expr) bool {
	n.use(e)
	return n.mentionsLayer(e)
}

// definition gives lets to ir.ParseDim.
func (n *names) definition(name string) (*expr.Expr, bool) {
	e, ok := n.lets[name]
	return e, ok && !n.layer[name]
}

// dim returns the symbolic size of an int expression.
func (n *names) dim(e *expr.Expr) ir.Dim { return ir.ParseDim(e, n.definition) }

// unused reports the spec's own declarations that nothing reads.
func (n *names) unused(file string) {
	for _, c := range n.arch.Config {
		if !n.used[c.Name] && c.Pos.File == file && !strings.HasPrefix(file, "specs/base/") && c.Name != "initializer_range" {
			n.fail(c.Pos, "config %s is never used", c.Name)
		}
	}
	for _, l := range n.arch.Lets {
		if !n.used[l.Name] && l.Pos.File == file && !l.Over {
			n.fail(l.Pos, "let %s is never used", l.Name)
		}
	}
}
