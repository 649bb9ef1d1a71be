package emitgo

import (
	"go/ast"
	"go/token"

	"github.com/vulcast/vulcast/gen/expr"
)

// divisors are the int values of the configuration by which some expression divides: a configuration where one is not
// positive is refused before anything divides by it.
func (e *emitter) divisors() map[string]bool {
	lets := map[string]*expr.Expr{}
	for _, l := range e.arch.Lets {
		lets[l.Name] = l.Expr
	}
	ints := map[string]bool{}
	for _, c := range e.arch.Config {
		ints[c.Name] = c.Type == expr.Int
	}
	out := map[string]bool{}
	var leaves func(n ast.Expr)
	leaves = func(n ast.Expr) {
		switch n := n.(type) {
		case *ast.ParenExpr:
			leaves(n.X)
		case *ast.Ident:
			if l := lets[n.Name]; l != nil {
				leaves(l.Node)
			} else if ints[n.Name] {
				out[n.Name] = true
			}
		case *ast.CallExpr:
			if n.Fun.(*ast.Ident).Name == "choose" {
				leaves(n.Args[1])
				leaves(n.Args[2])
			}
		}
	}
	visit := func(x *expr.Expr) {
		if x == nil {
			return
		}
		ast.Inspect(x.Node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				return n.Fun.(*ast.Ident).Name != "choose" // what stands under a condition may be guarded by it
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					return false
				}
				if n.Op == token.QUO || n.Op == token.REM {
					leaves(n.Y)
				}
			}
			return true
		})
	}
	for _, c := range e.arch.Config {
		visit(c.Default)
	}
	for _, l := range e.arch.Lets {
		visit(l.Expr)
	}
	for _, c := range e.arch.Checks {
		visit(c.Expr)
	}
	return out
}
