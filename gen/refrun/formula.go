package refrun

import (
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"strconv"

	"github.com/vulcast/vulcast/gen/expr"
)

// Formula evaluates a formula element by element, with broadcasting from the last dimension; reductions run over the last
// dimension and keep it at size one. value gives the array of a name; numbers are arrays of shape [1]. act names the
// activation behind act() and actgrad().
func Formula(e *expr.Expr, value func(string) (*Array, bool), act string) (*Array, error) {
	f := formula{value: value}
	if act != "" {
		var err error
		if f.act, f.actGrad, err = Activation(act); err != nil {
			return nil, err
		}
	}
	out, err := f.eval(e.Node)
	if err != nil {
		return nil, fmt.Errorf("formula %q: %w", e.Src, err)
	}
	return out, nil
}

// Number is an array of one value.
func Number(v float64) *Array { return &Array{Shape: []int{1}, Data: []float64{v}} }

type formula struct {
	value        func(string) (*Array, bool)
	act, actGrad func(float64) float64
}

func (f *formula) eval(n ast.Expr) (*Array, error) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return f.eval(n.X)
	case *ast.Ident:
		if a, ok := f.value(n.Name); ok {
			return a, nil
		}
		return nil, fmt.Errorf("no value for %s", n.Name)
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(n.Value, 64)
		return Number(v), err
	case *ast.UnaryExpr:
		return f.map1(n.X, func(x float64) float64 { return -x })
	case *ast.BinaryExpr:
		op, ok := binaryOps[n.Op]
		if !ok {
			return nil, fmt.Errorf("operator %s", n.Op)
		}
		return f.map2(n.X, n.Y, op)
	case *ast.CallExpr:
		return f.call(n)
	}
	return nil, fmt.Errorf("%T in a formula", n)
}

var binaryOps = map[token.Token]func(x, y float64) float64{
	token.ADD: func(x, y float64) float64 { return x + y },
	token.SUB: func(x, y float64) float64 { return x - y },
	token.MUL: func(x, y float64) float64 { return x * y },
	token.QUO: func(x, y float64) float64 { return x / y },
	token.LSS: func(x, y float64) float64 { return truth(x < y) },
	token.GTR: func(x, y float64) float64 { return truth(x > y) },
	token.LEQ: func(x, y float64) float64 { return truth(x <= y) },
	token.GEQ: func(x, y float64) float64 { return truth(x >= y) },
	token.EQL: func(x, y float64) float64 { return truth(x == y) },
	token.NEQ: func(x, y float64) float64 { return truth(x != y) },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var unaryFuncs = map[string]func(float64) float64{
	"exp": math.Exp, "log": math.Log, "log1p": math.Log1p, "expm1": math.Expm1, "tanh": math.Tanh, "sigmoid": sigmoid,
	"softplus": softplus, "erf": math.Erf, "sqrt": math.Sqrt, "sin": math.Sin, "cos": math.Cos, "abs": math.Abs,
	"floor": math.Floor, "round": math.RoundToEven, "sign": func(x float64) float64 { return truth(x > 0) - truth(x < 0) },
}

func (f *formula) call(n *ast.CallExpr) (*Array, error) {
	name := n.Fun.(*ast.Ident).Name
	if expr.Reductions[name] {
		return f.reduce(name, n.Args[0])
	}
	switch name {
	case "act", "actgrad":
		fn := f.act
		if name == "actgrad" {
			fn = f.actGrad
		}
		if fn == nil {
			return nil, fmt.Errorf("%s without an activation", name)
		}
		return f.map1(n.Args[0], fn)
	case "min":
		return f.map2(n.Args[0], n.Args[1], math.Min)
	case "max":
		return f.map2(n.Args[0], n.Args[1], math.Max)
	case "pow":
		return f.map2(n.Args[0], n.Args[1], math.Pow)
	case "where":
		return f.where(n)
	}
	fn, ok := unaryFuncs[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %s", name)
	}
	return f.map1(n.Args[0], fn)
}

func (f *formula) where(n *ast.CallExpr) (*Array, error) {
	c, err := f.eval(n.Args[0])
	if err != nil {
		return nil, err
	}
	x, err := f.eval(n.Args[1])
	if err != nil {
		return nil, err
	}
	y, err := f.eval(n.Args[2])
	if err != nil {
		return nil, err
	}
	// c ? x : y as two broadcasts: first the pair, then the choice.
	shape, ic, ix, err := broadcast(c.Shape, x.Shape)
	if err != nil {
		return nil, err
	}
	full, i1, iy, err := broadcast(shape, y.Shape)
	if err != nil {
		return nil, err
	}
	out := zeros(full...)
	for i := range out.Data {
		k := i1[i]
		out.Data[i] = y.Data[iy[i]]
		if c.Data[ic[k]] != 0 {
			out.Data[i] = x.Data[ix[k]]
		}
	}
	return out, nil
}

func (f *formula) map1(n ast.Expr, fn func(float64) float64) (*Array, error) {
	x, err := f.eval(n)
	if err != nil {
		return nil, err
	}
	out := zeros(x.Shape...)
	for i, v := range x.Data {
		out.Data[i] = fn(v)
	}
	return out, nil
}

func (f *formula) map2(nx, ny ast.Expr, fn func(x, y float64) float64) (*Array, error) {
	x, err := f.eval(nx)
	if err != nil {
		return nil, err
	}
	y, err := f.eval(ny)
	if err != nil {
		return nil, err
	}
	shape, ix, iy, err := broadcast(x.Shape, y.Shape)
	if err != nil {
		return nil, err
	}
	out := zeros(shape...)
	for i := range out.Data {
		out.Data[i] = fn(x.Data[ix[i]], y.Data[iy[i]])
	}
	return out, nil
}

func (f *formula) reduce(name string, arg ast.Expr) (*Array, error) {
	x, err := f.eval(arg)
	if err != nil {
		return nil, err
	}
	n := x.Shape[len(x.Shape)-1]
	out := zeros(append(append([]int{}, x.Shape[:len(x.Shape)-1]...), 1)...)
	for i := range out.Data {
		r := row(x, i)
		v := 0.0
		if name == "rowmax" {
			v = math.Inf(-1)
		}
		for _, u := range r {
			if name == "rowmax" {
				v = math.Max(v, u)
			} else {
				v += u
			}
		}
		if name == "mean" {
			v /= float64(n)
		}
		out.Data[i] = v
	}
	return out, nil
}

// SumTo sums an array over the dimensions that were broadcast from shape.
func SumTo(a *Array, shape []int) *Array {
	out := zeros(shape...)
	_, ia, io, err := broadcast(a.Shape, shape)
	if err != nil {
		panic("generator bug: sum of " + fmt.Sprint(a.Shape) + " to " + fmt.Sprint(shape))
	}
	for k := range ia {
		out.Data[io[k]] += a.Data[ia[k]]
	}
	return out
}
