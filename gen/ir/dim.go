// Package ir is the intermediate representation between specs and generated code: functions over symbolic tensors.
//
// It is data: values with symbolic shapes, nodes that are primitives or calls, and one text form that Print writes and
// Parse reads back. Passes rewrite it; none of them needs anything that the text does not show.
package ir

import (
	"fmt"
	"go/ast"
	"go/token"
	"sort"
	"strconv"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
)

// Dim is a symbolic size: a polynomial with integer coefficients over names of the configuration and the batch sizes
// B (rows), T (tokens a row) and S (key positions). The zero Dim is 0.
type Dim struct {
	terms map[string]int // monomial (sorted atoms joined by *) -> coefficient; "" is the constant
}

// Const returns the dimension n.
func Const(n int) Dim {
	if n == 0 {
		return Dim{}
	}
	return Dim{map[string]int{"": n}}
}

// Atom returns the dimension that a name stands for.
func Atom(name string) Dim { return Dim{map[string]int{name: 1}} }

// Add returns d+e.
func (d Dim) Add(e Dim) Dim { return d.addScaled(e, 1) }

// Sub returns d-e.
func (d Dim) Sub(e Dim) Dim { return d.addScaled(e, -1) }

func (d Dim) addScaled(e Dim, k int) Dim {
	out := map[string]int{}
	for m, c := range d.terms {
		out[m] = c
	}
	for m, c := range e.terms {
		out[m] += k * c
		if out[m] == 0 {
			delete(out, m)
		}
	}
	return Dim{out}
}

// Mul returns d*e.
func (d Dim) Mul(e Dim) Dim {
	out := map[string]int{}
	for m, c := range d.terms {
		for n, k := range e.terms {
			p := mulMono(m, n)
			out[p] += c * k
			if out[p] == 0 {
				delete(out, p)
			}
		}
	}
	return Dim{out}
}

// Div returns d/e when every term divides exactly by the single term of e.
func (d Dim) Div(e Dim) (Dim, bool) {
	if len(e.terms) != 1 {
		return Dim{}, d.Equal(e) && len(d.terms) > 0
	}
	out := map[string]int{}
	for n, k := range e.terms {
		for m, c := range d.terms {
			q, ok := divMono(m, n)
			if !ok || c%k != 0 {
				return Dim{}, false
			}
			out[q] = c / k
		}
	}
	return Dim{out}, true
}

// Equal reports whether two dimensions are the same polynomial.
func (d Dim) Equal(e Dim) bool { return d.String() == e.String() }

// IsConst reports whether d is the constant n.
func (d Dim) IsConst(n int) bool { return d.Equal(Const(n)) }

// Rename returns d with one name replaced by another.
func (d Dim) Rename(from, to string) Dim {
	out := map[string]int{}
	for m, c := range d.terms {
		atoms := splitMono(m)
		for i := range atoms {
			if atoms[i] == from {
				atoms[i] = to
			}
		}
		sort.Strings(atoms)
		out[strings.Join(atoms, "*")] += c
	}
	return Dim{out}
}

// String prints the polynomial with its terms sorted; it is also an expression that ParseDim reads.
func (d Dim) String() string {
	if len(d.terms) == 0 {
		return "0"
	}
	monos := make([]string, 0, len(d.terms))
	for m := range d.terms {
		monos = append(monos, m)
	}
	sort.Slice(monos, func(i, j int) bool { // the constant last, negative terms after positive ones
		if (d.terms[monos[i]] < 0) != (d.terms[monos[j]] < 0) {
			return d.terms[monos[j]] < 0
		}
		if (monos[i] == "") != (monos[j] == "") {
			return monos[j] == ""
		}
		return monos[i] < monos[j]
	})
	var b strings.Builder
	for i, m := range monos {
		c := d.terms[m]
		switch {
		case c < 0:
			b.WriteString("-")
			c = -c
		case i > 0:
			b.WriteString("+")
		}
		switch {
		case m == "":
			b.WriteString(strconv.Itoa(c))
		case c == 1:
			b.WriteString(m)
		default:
			b.WriteString(strconv.Itoa(c) + "*" + m)
		}
	}
	return b.String()
}

// splitMono splits at * outside parentheses and brackets: an opaque atom may contain any expression.
func splitMono(m string) []string {
	if m == "" {
		return nil
	}
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(m); i++ {
		switch m[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '*':
			if depth == 0 {
				out = append(out, m[start:i])
				start = i + 1
			}
		}
	}
	return append(out, m[start:])
}

func mulMono(m, n string) string {
	atoms := append(splitMono(m), splitMono(n)...)
	sort.Strings(atoms)
	return strings.Join(atoms, "*")
}

func divMono(m, n string) (string, bool) {
	atoms := splitMono(m)
	for _, a := range splitMono(n) {
		found := false
		for i := range atoms {
			if atoms[i] == a {
				atoms = append(atoms[:i:i], atoms[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			return "", false
		}
	}
	return strings.Join(atoms, "*"), true
}

// ParseDim turns a size expression into a Dim. sub gives the definition of names that are defined by others (lets);
// what is not + - * or an exact division becomes an opaque atom in parentheses.
func ParseDim(e *expr.Expr, sub func(string) (*expr.Expr, bool)) Dim {
	return dimOf(e.Node, sub)
}

func dimOf(n ast.Expr, sub func(string) (*expr.Expr, bool)) Dim {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return dimOf(n.X, sub)
	case *ast.Ident:
		if e, ok := sub(n.Name); ok {
			if polynomial(e.Node) {
				return dimOf(e.Node, sub)
			}
		}
		return Atom(n.Name)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			v, _ := strconv.Atoi(n.Value)
			return Const(v)
		}
	case *ast.BinaryExpr:
		x, y := dimOf(n.X, sub), dimOf(n.Y, sub)
		switch n.Op {
		case token.ADD:
			return x.Add(y)
		case token.SUB:
			return x.Sub(y)
		case token.MUL:
			return x.Mul(y)
		case token.QUO:
			if q, ok := x.Div(y); ok {
				return q
			}
			return Atom("(" + operand(x) + "/" + operand(y) + ")")
		}
	}
	return Atom("(" + expr.Source(n) + ")")
}

func operand(d Dim) string {
	s := d.String()
	if strings.ContainsAny(s, "+-*") && !strings.HasPrefix(s, "(") {
		return "(" + s + ")"
	}
	return s
}

// polynomial reports whether the expression consists of sums, differences, products and exact-looking divisions.
func polynomial(n ast.Expr) bool {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return polynomial(n.X)
	case *ast.Ident:
		return true
	case *ast.BasicLit:
		return n.Kind == token.INT
	case *ast.BinaryExpr:
		return (n.Op == token.ADD || n.Op == token.SUB || n.Op == token.MUL) && polynomial(n.X) && polynomial(n.Y)
	}
	return false
}

// Shape is a list of symbolic sizes, outermost first.
type Shape []Dim

// String prints the shape as [B,T,hidden_size].
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// Equal reports whether two shapes have equal dimensions.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if !s[i].Equal(t[i]) {
			return false
		}
	}
	return true
}

// Size returns the product of the dimensions.
func (s Shape) Size() Dim {
	n := Const(1)
	for _, d := range s {
		n = n.Mul(d)
	}
	return n
}

// Rename renames a name in every dimension.
func (s Shape) Rename(from, to string) Shape {
	out := make(Shape, len(s))
	for i, d := range s {
		out[i] = d.Rename(from, to)
	}
	return out
}

// Broadcast returns the shape that s and t broadcast to, aligned at the last dimension.
func Broadcast(s, t Shape) (Shape, error) {
	if len(s) < len(t) {
		s, t = t, s
	}
	out := append(Shape(nil), s...)
	off := len(s) - len(t)
	for i, d := range t {
		switch {
		case out[off+i].Equal(d) || d.IsConst(1):
		case out[off+i].IsConst(1):
			out[off+i] = d
		default:
			return nil, fmt.Errorf("%s and %s do not broadcast: %s against %s", s, t, out[off+i], d)
		}
	}
	return out, nil
}

// Substitute replaces names by dimensions; a name that value does not know stays. Opaque atoms stay as they are.
func (d Dim) Substitute(value func(string) (Dim, bool)) Dim {
	out := Dim{}
	for m, c := range d.terms {
		p := Const(c)
		for _, a := range splitMono(m) {
			if v, ok := value(a); ok {
				p = p.Mul(v)
			} else {
				p = p.Mul(Atom(a))
			}
		}
		out = out.Add(p)
	}
	return out
}
