// Package expr is the expression language of specs: Go expressions over named values.
//
// One parsed tree serves every reader. Configuration expressions (sizes, guards, defaults) are typed by Check, printed
// as Go by Go and evaluated by Eval. Formulas of primitives (y = x*r*weight) are evaluated in float64 by the reference
// interpreter and printed as GLSL by the kernel writer. Nothing else in the generator parses text into trees.
package expr

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"sort"
	"strings"
)

// Expr is a parsed expression with its source text.
type Expr struct {
	Src  string
	Node ast.Expr
}

// Parse reads one Go expression; strings may stand in single quotes. Errors give the column inside src.
func Parse(src string) (*Expr, error) {
	node, err := parser.ParseExpr(strings.ReplaceAll(src, "'", `"`)) // 'silu' and "silu" both spell a string
	if err != nil {
		return nil, fmt.Errorf("expression %q: %v", src, err)
	}
	e := &Expr{Src: src, Node: node}
	if err := e.supported(); err != nil {
		return nil, err
	}
	return e, nil
}

// MustParse is Parse for expressions the generator itself wrote; a failure is a bug of the generator.
func MustParse(src string) *Expr {
	e, err := Parse(src)
	if err != nil {
		panic("generator bug: " + err.Error())
	}
	return e
}

// supported reports the first construct that the language does not have.
func (e *Expr) supported() error {
	var bad error
	ast.Inspect(e.Node, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.Ident, *ast.BasicLit, *ast.BinaryExpr, *ast.UnaryExpr, *ast.ParenExpr, *ast.IndexExpr:
		case *ast.CallExpr:
			if _, ok := n.Fun.(*ast.Ident); !ok {
				bad = fmt.Errorf("expression %q: only plain functions can be called", e.Src)
			}
		case *ast.SelectorExpr:
			bad = fmt.Errorf("expression %q: column %d: no fields or methods in this language", e.Src, n.Pos())
		default:
			bad = fmt.Errorf("expression %q: column %d: %T is not part of this language", e.Src, n.Pos(), n)
		}
		return bad == nil
	})
	return bad
}

// Names returns the sorted names that the expression mentions, functions excluded.
func (e *Expr) Names() []string {
	seen := map[string]bool{}
	var walk func(n ast.Expr)
	walk = func(n ast.Expr) {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Name != "true" && n.Name != "false" {
				seen[n.Name] = true
			}
		case *ast.BinaryExpr:
			walk(n.X)
			walk(n.Y)
		case *ast.UnaryExpr:
			walk(n.X)
		case *ast.ParenExpr:
			walk(n.X)
		case *ast.IndexExpr:
			walk(n.X)
			walk(n.Index)
		case *ast.CallExpr:
			for _, a := range n.Args {
				walk(a)
			}
		}
	}
	walk(e.Node)
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Calls reports whether the expression calls the named function.
func (e *Expr) Calls(fn string) bool {
	found := false
	ast.Inspect(e.Node, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if id, ok := c.Fun.(*ast.Ident); ok && id.Name == fn {
				found = true
			}
		}
		return !found
	})
	return found
}

// Ident returns the name when the expression is a single name.
func (e *Expr) Ident() (string, bool) {
	id, ok := e.Node.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

// binary operators of the language by token.
var comparison = map[token.Token]bool{
	token.EQL: true, token.NEQ: true, token.LSS: true, token.LEQ: true, token.GTR: true, token.GEQ: true,
}

// Source prints a part of an expression as compact Go.
func Source(n ast.Expr) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		panic("generator bug: " + err.Error())
	}
	return strings.ReplaceAll(b.String(), " ", "")
}
