package expr

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// Reductions of formulas: each takes one argument and reduces it over the last dimension.
var Reductions = map[string]bool{"sum": true, "mean": true, "rowmax": true}

// formulaFuncs maps the pointwise functions of formulas to GLSL of shaders/lib/math.glsl, with their argument counts.
var formulaFuncs = map[string]struct {
	glsl string
	args int
}{
	"exp": {"exp_", 1}, "log": {"log_", 1}, "log1p": {"log1p_", 1}, "expm1": {"expm1_", 1}, "tanh": {"tanh_", 1},
	"sigmoid": {"sigmoid_", 1}, "softplus": {"softplus_", 1}, "erf": {"erf_", 1}, "sqrt": {"sqrt", 1},
	"sin": {"sin_", 1}, "cos": {"cos_", 1}, "pow": {"pow_", 2},
	"abs": {"abs", 1}, "min": {"min", 2}, "max": {"max", 2}, "sign": {"sign", 1}, "floor": {"floor", 1}, "round": {"roundEven", 1},
	"where": {"", 3}, "act": {"act", 1}, "actgrad": {"actGrad", 1},
}

// CheckFormula verifies that the expression is a formula over the given names: numbers, + - * /, comparisons inside
// where(), the functions of formulas and one level of reductions.
func (e *Expr) CheckFormula(known func(string) bool) error {
	if err := checkFormula(e.Node, known, false); err != nil {
		return fmt.Errorf("formula %q: %w", e.Src, err)
	}
	return nil
}

func checkFormula(n ast.Expr, known func(string) bool, inside bool) error {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return checkFormula(n.X, known, inside)
	case *ast.Ident:
		if !known(n.Name) {
			return fmt.Errorf("unknown name %s", n.Name)
		}
		return nil
	case *ast.BasicLit:
		if n.Kind != token.INT && n.Kind != token.FLOAT {
			return fmt.Errorf("%s is not a number", n.Value)
		}
		return nil
	case *ast.UnaryExpr:
		if n.Op != token.SUB {
			return fmt.Errorf("operator %s", n.Op)
		}
		return checkFormula(n.X, known, inside)
	case *ast.BinaryExpr:
		switch n.Op {
		case token.ADD, token.SUB, token.MUL, token.QUO, token.LSS, token.GTR, token.LEQ, token.GEQ, token.EQL, token.NEQ:
		default:
			return fmt.Errorf("operator %s", n.Op)
		}
		if err := checkFormula(n.X, known, inside); err != nil {
			return err
		}
		return checkFormula(n.Y, known, inside)
	case *ast.CallExpr:
		name := n.Fun.(*ast.Ident).Name
		want := 1
		if Reductions[name] {
			if inside {
				return fmt.Errorf("%s inside another reduction: give it a name of its own (save.x = ...)", name)
			}
			inside = true
		} else if f, ok := formulaFuncs[name]; ok {
			want = f.args
		} else {
			return fmt.Errorf("unknown function %s", name)
		}
		if len(n.Args) != want {
			return fmt.Errorf("%s wants %d arguments, got %d", name, want, len(n.Args))
		}
		for _, a := range n.Args {
			if err := checkFormula(a, known, inside); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%T in a formula", n)
}

// HasReduction reports whether a formula reduces over the last dimension.
func (e *Expr) HasReduction() bool {
	for name := range Reductions {
		if e.Calls(name) {
			return true
		}
	}
	return false
}

// GLSL prints a formula. name maps names to GLSL; reduce is told each reduction (function, argument source) and returns
// the GLSL that holds its value.
func (e *Expr) GLSL(name func(string) string, reduce func(fn string, arg ast.Expr) string) string {
	p := glslPrinter{name, reduce}
	return p.print(e.Node, 0)
}

// GLSLOf prints a part of a formula, for reductions' arguments.
func GLSLOf(n ast.Expr, name func(string) string, reduce func(string, ast.Expr) string) string {
	return glslPrinter{name, reduce}.print(n, 0)
}

type glslPrinter struct {
	name   func(string) string
	reduce func(string, ast.Expr) string
}

func (p glslPrinter) print(n ast.Expr, prec int) string {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return p.print(n.X, prec)
	case *ast.Ident:
		return p.name(n.Name)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			return n.Value + ".0"
		}
		if strings.HasPrefix(n.Value, ".") {
			return "0" + n.Value
		}
		return n.Value
	case *ast.UnaryExpr:
		return "-" + p.print(n.X, 6)
	case *ast.BinaryExpr:
		mine := n.Op.Precedence()
		op := " " + n.Op.String() + " "
		s := p.print(n.X, mine) + op + p.print(n.Y, mine+1)
		if mine < prec {
			s = "(" + s + ")"
		}
		return s
	case *ast.CallExpr:
		return p.call(n)
	}
	panic(fmt.Sprintf("generator bug: %T in a checked formula", n))
}

func (p glslPrinter) call(n *ast.CallExpr) string {
	fn := n.Fun.(*ast.Ident).Name
	if Reductions[fn] {
		return p.reduce(fn, n.Args[0])
	}
	if fn == "where" {
		return "(" + p.print(n.Args[0], 0) + " ? " + p.print(n.Args[1], 0) + " : " + p.print(n.Args[2], 0) + ")"
	}
	args := make([]string, len(n.Args))
	for i, a := range n.Args {
		args[i] = p.print(a, 0)
	}
	return formulaFuncs[fn].glsl + "(" + strings.Join(args, ", ") + ")"
}

// IsFormulaFunc reports whether formulas know a function or reduction of this name.
func IsFormulaFunc(name string) bool {
	_, ok := formulaFuncs[name]
	return ok || Reductions[name]
}
