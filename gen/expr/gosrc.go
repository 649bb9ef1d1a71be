package expr

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// GoSource prints a checked configuration expression as Go. name maps a name to Go source, typeOf gives its type.
// want, unless Invalid, converts the result (int to float64).
func (e *Expr) GoSource(name func(string) string, typeOf func(string) (Type, bool), want Type) string {
	p := goPrinter{name: name, typeOf: typeOf}
	s, t := p.print(e.Node, 0)
	if want == Float && t == Int {
		if _, err := strconv.Atoi(s); err == nil {
			return s // an untyped constant
		}
		return "float64(" + s + ")"
	}
	return s
}

type goPrinter struct {
	name   func(string) string
	typeOf func(string) (Type, bool)
}

// print returns the source and type of n; prec is the precedence of the operator around it.
func (p goPrinter) print(n ast.Expr, prec int) (string, Type) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return p.print(n.X, prec)
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			return n.Name, Bool
		}
		t, _ := p.typeOf(n.Name)
		return p.name(n.Name), t
	case *ast.BasicLit:
		return p.literal(n)
	case *ast.UnaryExpr:
		s, t := p.print(n.X, 6)
		return n.Op.String() + s, t
	case *ast.IndexExpr:
		x, t := p.print(n.X, 7)
		i, _ := p.print(n.Index, 0)
		return x + "[" + i + "]", t.Elem()
	case *ast.BinaryExpr:
		return p.binary(n, prec)
	case *ast.CallExpr:
		return p.call(n)
	}
	panic(fmt.Sprintf("generator bug: %T in a checked expression", n))
}

func (p goPrinter) literal(n *ast.BasicLit) (string, Type) {
	switch n.Kind {
	case token.INT:
		return n.Value, Int
	case token.FLOAT:
		return n.Value, Float
	}
	v, err := literal(n)
	if err != nil {
		panic("generator bug: " + err.Error())
	}
	return strconv.Quote(v.(string)), String
}

func (p goPrinter) binary(n *ast.BinaryExpr, prec int) (string, Type) {
	mine := n.Op.Precedence()
	x, xt := p.print(n.X, mine)
	y, yt := p.print(n.Y, mine+1)
	t := xt
	if xt == Int && yt == Float {
		x, t = floatOf(n.X, x), Float
	}
	if yt == Int && xt == Float {
		y = floatOf(n.Y, y)
	}
	if comparison[n.Op] {
		t = Bool
	}
	op := " " + n.Op.String() + " "
	if n.Op == token.MUL || n.Op == token.QUO {
		op = n.Op.String()
	}
	s := x + op + y
	if mine < prec {
		s = "(" + s + ")"
	}
	return s, t
}

// floatOf converts an int operand of a float operation; a literal needs no conversion.
func floatOf(n ast.Expr, src string) string {
	if _, ok := n.(*ast.BasicLit); ok {
		return src
	}
	return "float64(" + strings.TrimSuffix(strings.TrimPrefix(src, "("), ")") + ")"
}

func (p goPrinter) call(n *ast.CallExpr) (string, Type) {
	name := n.Fun.(*ast.Ident).Name
	args := make([]string, len(n.Args))
	types := make([]Type, len(n.Args))
	for i, a := range n.Args {
		args[i], types[i] = p.print(a, 0)
	}
	t, _ := funcs[name].Result(types)
	switch name {
	case "choose":
		// A closure keeps the branch not taken from being evaluated (it may index out of range).
		for i := 1; i < 3; i++ {
			if t == Float {
				args[i] = asFloat(args[i], types[i])
			}
		}
		return fmt.Sprintf("func() %s {\nif %s {\nreturn %s\n}\nreturn %s\n}()", t.GoType(), args[0], args[1], args[2]), t
	case "each":
		return fmt.Sprintf("nn.Each(%s, func(i int) %s { return %s })", args[0], types[1].GoType(), args[1]), t
	}
	return funcs[name].Go(args, types), t
}
