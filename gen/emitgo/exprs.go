package emitgo

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/lower"
	"github.com/vulcast/vulcast/gen/spec"
)

// scope prints configuration expressions inside one function; recv holds the configuration (m or c).
type scope struct {
	arch  *spec.Arch
	recv  string
	types map[string]expr.Type
	lets  map[string]bool // name -> differs by layer
}

func newScope(a *spec.Arch, recv string) *scope {
	s := &scope{arch: a, recv: recv, types: map[string]expr.Type{}, lets: map[string]bool{}}
	for _, n := range []string{"B", "T", "S", "Te", "i", "j"} {
		s.types[n] = expr.Int
	}
	for _, c := range a.Config {
		s.types[c.Name] = c.Type
	}
	for _, l := range a.Lets {
		t, _ := l.Expr.Check(s.typeOf)
		s.types[l.Name] = t
		s.lets[l.Name] = s.layered(l.Expr)
	}
	return s
}

func (s *scope) typeOf(n string) (expr.Type, bool) {
	t, ok := s.types[n]
	return t, ok
}

// layered reports whether an expression needs the layer number.
func (s *scope) layered(e *expr.Expr) bool {
	for _, n := range e.Names() {
		if n == "i" && !e.Calls("each") || s.lets[n] {
			return true
		}
	}
	return false
}

func (s *scope) name(n string) string {
	switch n {
	case "i", "j":
		return n
	case "B", "T", "S":
		return "b." + n
	case "Te":
		return "b.Enc.T"
	}
	if layered, isLet := s.lets[n]; isLet {
		if layered {
			return s.recv + "." + camel(n) + "(i)"
		}
		return s.recv + "." + camel(n) + "()"
	}
	return s.recv + "." + camel(n)
}

// expr prints an expression; want converts int to float64 when it is Float.
func (s *scope) expr(e *expr.Expr, want expr.Type) string {
	return e.GoSource(s.name, s.typeOf, want)
}

// dim prints a symbolic size.
func (s *scope) dim(d ir.Dim) string { return s.expr(expr.MustParse(d.String()), expr.Int) }

// shape prints sizes as arguments.
func (s *scope) shape(sh ir.Shape) string {
	parts := make([]string, len(sh))
	for i, d := range sh {
		parts[i] = s.dim(d)
	}
	return strings.Join(parts, ", ")
}

// attr prints an attribute as a Go value.
func (s *scope) attr(a *ir.Attr) string {
	switch a.Type {
	case "float64":
		return s.expr(a.Expr, expr.Float)
	case "float":
		v := s.expr(a.Expr, expr.Float)
		if isNumber(v) {
			return v
		}
		return "float32(" + v + ")"
	case "dims":
		var parts []string
		for _, d := range lower.SplitList(a.Word) {
			parts = append(parts, s.expr(expr.MustParse(d), expr.Int))
		}
		return "[]int{" + strings.Join(parts, ", ") + "}"
	case "ints":
		return "[]int{" + strings.ReplaceAll(a.Word, ",", ", ") + "}"
	case "word":
		return fmt.Sprintf("%q", a.Word)
	}
	if a.Expr == nil {
		return fmt.Sprintf("%q", a.Word)
	}
	return s.expr(a.Expr, expr.Invalid)
}

func isNumber(v string) bool {
	if v == "" {
		return false
	}
	return strings.Trim(v, "0123456789.e-+") == ""
}

// negated prints the opposite of a condition.
func (s *scope) negated(e *expr.Expr) string {
	if u, ok := e.Node.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return s.expr(&expr.Expr{Src: e.Src, Node: u.X}, expr.Bool)
	}
	return "!(" + s.expr(e, expr.Bool) + ")"
}
