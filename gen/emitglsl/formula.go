package emitglsl

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/fuse"
	"github.com/vulcast/vulcast/gen/ir"
)

// Class says how an operand is indexed from the position (row, i) of the iteration.
type Class int

// Classes of operands, for an iteration of rows x D elements.
const (
	Full   Class = iota // one element for each: at
	Vector              // the last dimension alone: i
	Suffix              // several last dimensions: at % period
	RowOf               // one value a row: row
	Prefix              // one value for period rows-elements: at / period
	Scalar              // one value
	Column              // written as partial sums over rows: [groups, D]
)

// Operand is a tensor of a formula kernel.
type Operand struct {
	Name   string // in GLSL and in the Go launcher
	Class  Class
	F32    bool // storage is always f32
	Period string
}

// FormulaKernel is a generated kernel of a group of formulas, with what its Go launcher needs.
type FormulaKernel struct {
	Kernel
	Rows   bool
	In     []Operand
	Out    []Operand
	Floats []string  // push constants after rows and D and the periods, in order
	Attrs  []AttrRef // where each float comes from
	Act    *ir.Attr  // the activation constant, nil when there is none
	Lines  []string  // the formulas, for comments
	Op     string    // name without hash
}

// AttrRef is an attribute of a member of the group.
type AttrRef struct {
	Member int
	Key    string
}

// Formula prints the kernel of a group; broadcasts says that its first op takes inputs of any shape.
func Formula(g *ir.Group, broadcasts bool) (*FormulaKernel, error) {
	w := &formulaWriter{g: g, names: map[*ir.Value]string{}, taken: map[string]bool{}, k: &FormulaKernel{Rows: g.Rows}}
	for _, r := range []string{"i", "k", "n", "D", "W", "row", "rows", "at", "base", "lane", "lanes", "first", "groups", "act"} {
		w.taken[r] = true
	}
	w.collect()
	if err := w.classify(); err != nil {
		return nil, err
	}
	w.phases()
	k := w.k
	k.Op = fuse.Name(g)
	k.Name = k.Op
	text, err := w.text(k.Name)
	if err != nil {
		return nil, err
	}
	if !w.plain(broadcasts) {
		k.Name = fmt.Sprintf("%s_%.3x", k.Op, sha256.Sum256([]byte(text)))
	}
	k.Text, err = w.text(k.Name)
	return k, err
}

// formulaWriter holds the state of printing one kernel.
type formulaWriter struct {
	g     *ir.Group
	k     *FormulaKernel
	names map[*ir.Value]string // GLSL names of tensors
	taken map[string]bool
	steps []step
	of    map[string]int // step that defines a name
}

// step is one formula in GLSL terms.
type step struct {
	name  string
	value *ir.Value
	expr  *expr.Expr
	local map[string]string // formula name -> GLSL name
	row   bool              // computed once a row
	level int               // phase in which it is available
	reds  []reduction       // its reductions, innermost first
	deps  []string          // GLSL names it reads outside reductions
}

type reduction struct {
	fn   string
	arg  ast.Expr
	name string
	deps []string
	at   int // phase whose loop sums it
}

// name makes a name that is free, and so is its vector form (followed by 4).
func (w *formulaWriter) name(base string) string {
	name := base
	for i := 2; w.taken[name] || w.taken[name+"4"]; i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	w.taken[name], w.taken[name+"4"] = true, true
	return name
}

// collect names every tensor and attribute in the order of first use and lists the steps.
func (w *formulaWriter) collect() {
	w.of = map[string]int{}
	reds := 0
	for mi, m := range w.g.Members {
		local := map[string]string{}
		for _, b := range m.Env {
			if w.names[b.Value] == "" {
				w.names[b.Value] = w.name(b.Name)
			}
			local[b.Name] = w.names[b.Value]
		}
		w.attrs(mi, m, local)
		for _, f := range m.Formulas {
			name := w.name(f.Name)
			w.names[f.Out] = name
			local[f.Name] = name
			s := step{name: name, value: f.Out, expr: f.Expr, local: cloneMap(local)}
			w.k.Lines = append(w.k.Lines, name+" = "+f.Expr.GLSL(func(n string) string { return local[n] },
				func(fn string, a ast.Expr) string {
					return fn + "(" + expr.GLSLOf(a, func(n string) string { return local[n] }, nil) + ")"
				}))
			s.reds = w.reductions(f.Expr, local, &reds)
			w.of[name] = len(w.steps)
			w.steps = append(w.steps, s)
		}
	}
}

func cloneMap(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// attrs makes push constants of the attributes that the member's formulas mention.
func (w *formulaWriter) attrs(mi int, m *ir.Node, local map[string]string) {
	for i := range m.Attrs {
		a := &m.Attrs[i]
		if a.Type == "act" {
			w.k.Act = a
			continue
		}
		used := slices.ContainsFunc(m.Formulas, func(f ir.Formula) bool { return slices.Contains(f.Expr.Names(), a.Key) })
		if !used {
			continue
		}
		name := w.name(a.Key)
		local[a.Key] = name
		w.k.Floats = append(w.k.Floats, name)
		w.k.Attrs = append(w.k.Attrs, AttrRef{mi, a.Key})
	}
}

func (w *formulaWriter) reductions(e *expr.Expr, local map[string]string, n *int) []reduction {
	var out []reduction
	ast.Inspect(e.Node, func(node ast.Node) bool {
		c, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := c.Fun.(*ast.Ident).Name
		if !expr.Reductions[fn] {
			return true
		}
		*n++
		r := reduction{fn: fn, arg: c.Args[0], name: fmt.Sprintf("%s%d", fn, *n)}
		for _, name := range (&expr.Expr{Node: c.Args[0]}).Names() {
			r.deps = append(r.deps, local[name])
		}
		out = append(out, r)
		return false
	})
	return out
}

// classify finds how each tensor is indexed.
func (w *formulaWriter) classify() error {
	for _, v := range w.g.In {
		o, err := w.operand(v)
		if err != nil {
			return err
		}
		w.k.In = append(w.k.In, o)
	}
	for _, v := range w.g.Out {
		o, err := w.operand(v)
		if err != nil {
			return err
		}
		if w.g.IsCol(v) {
			o.Class, o.F32 = Column, true
		}
		if o.Class != Full && o.Class != RowOf && o.Class != Column {
			return fmt.Errorf("%s %s is written by a kernel over %s: only full and row shapes can be", v.Name, v.Shape, w.g.Shape)
		}
		w.k.Out = append(w.k.Out, o)
	}
	return nil
}

func (w *formulaWriter) operand(v *ir.Value) (Operand, error) {
	o := Operand{Name: w.names[v], F32: v.Type == ir.F32 && v.Param == nil}
	s, full := v.Shape, w.g.Shape
	for len(s) > 1 && s[0].IsConst(1) && len(s) <= len(full) && !full[len(full)-len(s)].IsConst(1) {
		s = s[1:]
	}
	lead := len(full) - len(s)
	switch {
	case s.Equal(full):
		o.Class = Full
	case s.Size().IsConst(1):
		o.Class = Scalar
	case lead > 0 && s.Equal(full[lead:]):
		o.Class, o.Period = Suffix, o.Name+"N"
		if len(s) == 1 {
			o.Class, o.Period = Vector, ""
		}
	case lead == 0:
		k := len(full)
		for k > 0 && s[k-1].IsConst(1) && !full[k-1].IsConst(1) {
			k--
		}
		if !s[:k].Equal(full[:k]) {
			return o, fmt.Errorf("%s %s does not follow the rows of %s: put an expand before it", v.Name, v.Shape, full)
		}
		o.Class, o.Period = Prefix, o.Name+"N"
		if k == len(full)-1 {
			o.Class, o.Period = RowOf, ""
		}
	default:
		return o, fmt.Errorf("%s %s does not follow the rows of %s: put an expand before it", v.Name, v.Shape, full)
	}
	return o, nil
}

// phases computes in which pass over the row each step and reduction is available.
func (w *formulaWriter) phases() {
	for i := range w.steps {
		s := &w.steps[i]
		s.row = len(s.reds) > 0 || w.rowShaped(s.value)
		for _, name := range s.expr.Names() {
			g, ok := s.local[name]
			if !ok || w.onlyInReductions(s, name) {
				continue
			}
			s.deps = append(s.deps, g)
			if !w.isRowName(g) {
				s.row = false
			}
			s.level = max(s.level, w.level(g))
		}
		for j := range s.reds {
			r := &s.reds[j]
			for _, d := range r.deps {
				r.at = max(r.at, w.level(d))
			}
			s.level = max(s.level, r.at+1)
		}
	}
}

func (w *formulaWriter) rowShaped(v *ir.Value) bool {
	n := len(w.g.Shape)
	return len(v.Shape) == n && v.Shape[n-1].IsConst(1) && !w.g.Shape[n-1].IsConst(1)
}

func (w *formulaWriter) level(name string) int {
	if i, ok := w.of[name]; ok {
		return w.steps[i].level
	}
	return 0
}

// isRowName: the name is the same for a whole row: a push constant, a row's value or a step computed once a row.
func (w *formulaWriter) isRowName(name string) bool {
	if i, ok := w.of[name]; ok {
		return w.steps[i].row
	}
	for _, o := range w.k.In {
		if o.Name == name {
			return o.Class == RowOf || o.Class == Scalar
		}
	}
	return true
}

func (w *formulaWriter) onlyInReductions(s *step, name string) bool {
	outside := false
	var walk func(n ast.Expr)
	walk = func(n ast.Expr) {
		switch n := n.(type) {
		case *ast.Ident:
			outside = outside || n.Name == name
		case *ast.BinaryExpr:
			walk(n.X)
			walk(n.Y)
		case *ast.UnaryExpr:
			walk(n.X)
		case *ast.ParenExpr:
			walk(n.X)
		case *ast.CallExpr:
			if !expr.Reductions[n.Fun.(*ast.Ident).Name] {
				for _, a := range n.Args {
					walk(a)
				}
			}
		}
	}
	walk(s.expr.Node)
	return !outside
}

// plain reports whether the kernel is simply its op: such kernels need no hash in their names. Where an input's part in
// the iteration or its storage is not fixed by the op, only the simplest case is.
func (w *formulaWriter) plain(broadcasts bool) bool {
	if len(w.g.Members) != 1 || len(w.g.Cols) > 0 || len(w.g.Out) != len(w.g.Members[0].Formulas) {
		return false
	}
	for _, o := range w.k.In {
		if o.F32 || broadcasts && o.Class != Full {
			return false
		}
	}
	for _, o := range append(slices.Clone(w.k.In), w.k.Out...) {
		if o.Class == Suffix || o.Class == Prefix {
			return false
		}
	}
	for i, o := range w.k.In { // values that broadcast: the op's name is that of the kernel without
		if o.Class != Full && w.g.In[i].Param == nil {
			return false
		}
	}
	m := w.g.Members[0]
	return m.Of == nil && strings.TrimSpace(m.Op) != ""
}
