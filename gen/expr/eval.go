package expr

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
)

// Eval computes a configuration expression. Values are int, float64, bool, string or lists of one of these.
func (e *Expr) Eval(value func(string) (any, bool)) (any, error) {
	v, err := eval(e.Node, value)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", e.Src, err)
	}
	return v, nil
}

func eval(n ast.Expr, value func(string) (any, bool)) (any, error) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return eval(n.X, value)
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			return n.Name == "true", nil
		}
		if v, ok := value(n.Name); ok {
			return v, nil
		}
		return nil, fmt.Errorf("unknown name %s", n.Name)
	case *ast.BasicLit:
		return literal(n)
	case *ast.UnaryExpr:
		x, err := eval(n.X, value)
		if err != nil {
			return nil, err
		}
		switch x := x.(type) {
		case bool:
			return !x, nil
		case int:
			return -x, nil
		case float64:
			return -x, nil
		}
		return nil, fmt.Errorf("%s of %T", n.Op, x)
	case *ast.IndexExpr:
		return evalIndex(n, value)
	case *ast.BinaryExpr:
		return evalBinary(n, value)
	case *ast.CallExpr:
		return evalCall(n, value)
	}
	return nil, fmt.Errorf("%T is not part of the configuration language", n)
}

func literal(n *ast.BasicLit) (any, error) {
	switch n.Kind {
	case token.INT:
		return strconv.Atoi(n.Value)
	case token.FLOAT:
		return strconv.ParseFloat(n.Value, 64)
	case token.STRING:
		return strconv.Unquote(n.Value)
	}
	return nil, fmt.Errorf("literal %s", n.Value)
}

func evalIndex(n *ast.IndexExpr, value func(string) (any, bool)) (any, error) {
	x, err := eval(n.X, value)
	if err != nil {
		return nil, err
	}
	iv, err := eval(n.Index, value)
	if err != nil {
		return nil, err
	}
	i, ok := iv.(int)
	if !ok || i < 0 || i >= listLen(x) {
		return nil, fmt.Errorf("index %v of a list of %d", iv, listLen(x))
	}
	switch x := x.(type) {
	case []int:
		return x[i], nil
	case []float64:
		return x[i], nil
	case []string:
		return x[i], nil
	case []bool:
		return x[i], nil
	}
	return nil, fmt.Errorf("%T indexed", x)
}

func evalBinary(n *ast.BinaryExpr, value func(string) (any, bool)) (any, error) {
	x, err := eval(n.X, value)
	if err != nil {
		return nil, err
	}
	if b, ok := x.(bool); ok && (n.Op == token.LAND && !b || n.Op == token.LOR && b) {
		return b, nil // the right side may index what the left side guards
	}
	y, err := eval(n.Y, value)
	if err != nil {
		return nil, err
	}
	if xi, ok := x.(int); ok {
		if yi, ok := y.(int); ok {
			return intBinary(n.Op, xi, yi)
		}
	}
	switch xv := x.(type) {
	case bool:
		yv, ok := y.(bool)
		if !ok {
			break
		}
		switch n.Op {
		case token.LAND:
			return xv && yv, nil
		case token.LOR:
			return xv || yv, nil
		case token.EQL:
			return xv == yv, nil
		case token.NEQ:
			return xv != yv, nil
		}
	case string:
		yv, ok := y.(string)
		if !ok {
			break
		}
		switch n.Op {
		case token.EQL:
			return xv == yv, nil
		case token.NEQ:
			return xv != yv, nil
		case token.ADD:
			return xv + yv, nil
		}
	case int, float64:
		return floatBinary(n.Op, toFloat(x), toFloat(y))
	}
	return nil, fmt.Errorf("%T %s %T", x, n.Op, y)
}

func intBinary(op token.Token, x, y int) (any, error) {
	switch op {
	case token.ADD:
		return x + y, nil
	case token.SUB:
		return x - y, nil
	case token.MUL:
		return x * y, nil
	case token.QUO, token.REM:
		if y == 0 {
			return nil, fmt.Errorf("%d %s 0", x, op)
		}
		if op == token.QUO {
			return x / y, nil
		}
		return x % y, nil
	}
	return compare(op, float64(x), float64(y))
}

func floatBinary(op token.Token, x, y float64) (any, error) {
	switch op {
	case token.ADD:
		return x + y, nil
	case token.SUB:
		return x - y, nil
	case token.MUL:
		return x * y, nil
	case token.QUO:
		return x / y, nil
	}
	return compare(op, x, y)
}

func compare(op token.Token, x, y float64) (any, error) {
	switch op {
	case token.EQL:
		return x == y, nil
	case token.NEQ:
		return x != y, nil
	case token.LSS:
		return x < y, nil
	case token.LEQ:
		return x <= y, nil
	case token.GTR:
		return x > y, nil
	case token.GEQ:
		return x >= y, nil
	}
	return nil, fmt.Errorf("operator %s on numbers", op)
}

func evalCall(n *ast.CallExpr, value func(string) (any, bool)) (any, error) {
	name := n.Fun.(*ast.Ident).Name
	f, ok := funcs[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %s", name)
	}
	switch name {
	case "choose": // lazily: the branch not taken may be out of range
		c, err := eval(n.Args[0], value)
		if err != nil {
			return nil, err
		}
		if c.(bool) {
			return eval(n.Args[1], value)
		}
		return eval(n.Args[2], value)
	case "each":
		return evalEach(n, value)
	}
	args := make([]any, len(n.Args))
	for i, a := range n.Args {
		v, err := eval(a, value)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	if name == "list" {
		return makeList(args)
	}
	return f.Eval(args)
}

func evalEach(n *ast.CallExpr, value func(string) (any, bool)) (any, error) {
	c, err := eval(n.Args[0], value)
	if err != nil {
		return nil, err
	}
	count, ok := c.(int)
	if !ok || count < 0 || count > 1<<16 {
		return nil, fmt.Errorf("each(%v, ...): not a count", c)
	}
	items := make([]any, count)
	for i := range items {
		items[i], err = eval(n.Args[1], func(name string) (any, bool) {
			if name == "i" {
				return i, true
			}
			return value(name)
		})
		if err != nil {
			return nil, err
		}
	}
	return makeList(items)
}

func makeList(items []any) (any, error) {
	if len(items) == 0 {
		return []int{}, nil
	}
	switch items[0].(type) {
	case int:
		return list[int](items), nil
	case float64:
		return list[float64](items), nil
	case string:
		return list[string](items), nil
	case bool:
		return list[bool](items), nil
	}
	return nil, fmt.Errorf("no list of %T", items[0])
}

func list[T any](items []any) []T {
	out := make([]T, len(items))
	for i, v := range items {
		out[i], _ = v.(T)
	}
	return out
}
