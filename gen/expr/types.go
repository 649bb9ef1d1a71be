package expr

import (
	"fmt"
	"go/ast"
	"go/token"
)

// Type is the type of a configuration value.
type Type int

// The types of configuration values. A list is indexed by an int or asked with has(list, value).
const (
	Invalid Type = iota
	Int
	Float
	Bool
	String
	Ints
	Floats
	Strings
	Bools
	Rope // the raw rotary parameters of config.json, handed to the runtime whole
)

var typeNames = map[string]Type{
	"int": Int, "float": Float, "bool": Bool, "string": String,
	"[]int": Ints, "[]float": Floats, "[]string": Strings, "[]bool": Bools, "rope": Rope,
}

// ParseType reads a type as specs spell it.
func ParseType(s string) (Type, bool) {
	t, ok := typeNames[s]
	return t, ok
}

// String returns the type as specs spell it.
func (t Type) String() string {
	for s, u := range typeNames {
		if u == t {
			return s
		}
	}
	return "invalid"
}

// GoType returns the type of a field of the generated Config.
func (t Type) GoType() string {
	switch t {
	case Float:
		return "float64"
	case Floats:
		return "[]float64"
	case Rope:
		return "map[string]any"
	}
	return t.String()
}

// Elem returns the element type of a list, Invalid for others.
func (t Type) Elem() Type {
	switch t {
	case Ints:
		return Int
	case Floats:
		return Float
	case Strings:
		return String
	case Bools:
		return Bool
	}
	return Invalid
}

// Func describes a function of the configuration language.
type Func struct {
	Result func(args []Type) (Type, error)
	Go     func(args []string, types []Type) string
	Eval   func(args []any) (any, error)
}

// Check infers the type of a configuration expression; typeOf gives the type of a name.
func (e *Expr) Check(typeOf func(string) (Type, bool)) (Type, error) {
	t, err := check(e.Node, typeOf)
	if err != nil {
		return Invalid, fmt.Errorf("expression %q: %w", e.Src, err)
	}
	return t, nil
}

func check(n ast.Expr, typeOf func(string) (Type, bool)) (Type, error) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return check(n.X, typeOf)
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			return Bool, nil
		}
		if t, ok := typeOf(n.Name); ok {
			return t, nil
		}
		return Invalid, fmt.Errorf("unknown name %s", n.Name)
	case *ast.BasicLit:
		switch n.Kind {
		case token.INT:
			return Int, nil
		case token.FLOAT:
			return Float, nil
		case token.STRING:
			return String, nil
		}
	case *ast.UnaryExpr:
		t, err := check(n.X, typeOf)
		if err != nil {
			return Invalid, err
		}
		if n.Op == token.NOT && t == Bool || n.Op == token.SUB && (t == Int || t == Float) {
			return t, nil
		}
		return Invalid, fmt.Errorf("%s of %s", n.Op, t)
	case *ast.IndexExpr:
		return checkIndex(n, typeOf)
	case *ast.BinaryExpr:
		return checkBinary(n, typeOf)
	case *ast.CallExpr:
		return checkCall(n, typeOf)
	}
	return Invalid, fmt.Errorf("%T is not part of the configuration language", n)
}

func checkIndex(n *ast.IndexExpr, typeOf func(string) (Type, bool)) (Type, error) {
	x, err := check(n.X, typeOf)
	if err != nil {
		return Invalid, err
	}
	i, err := check(n.Index, typeOf)
	if err != nil {
		return Invalid, err
	}
	if x.Elem() == Invalid || i != Int {
		return Invalid, fmt.Errorf("%s indexed by %s", x, i)
	}
	return x.Elem(), nil
}

func checkBinary(n *ast.BinaryExpr, typeOf func(string) (Type, bool)) (Type, error) {
	x, err := check(n.X, typeOf)
	if err != nil {
		return Invalid, err
	}
	y, err := check(n.Y, typeOf)
	if err != nil {
		return Invalid, err
	}
	num := func(t Type) bool { return t == Int || t == Float }
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		if x == Bool && y == Bool {
			return Bool, nil
		}
	case comparison[n.Op]:
		if x == y || num(x) && num(y) {
			return Bool, nil
		}
	case n.Op == token.REM:
		if x == Int && y == Int {
			return Int, nil
		}
	case n.Op == token.ADD || n.Op == token.SUB || n.Op == token.MUL || n.Op == token.QUO:
		if x == Int && y == Int {
			return Int, nil
		}
		if num(x) && num(y) {
			return Float, nil
		}
		if n.Op == token.ADD && x == String && y == String {
			return String, nil
		}
	}
	return Invalid, fmt.Errorf("%s %s %s", x, n.Op, y)
}

func checkCall(n *ast.CallExpr, typeOf func(string) (Type, bool)) (Type, error) {
	name := n.Fun.(*ast.Ident).Name
	f, ok := funcs[name]
	if !ok {
		return Invalid, fmt.Errorf("unknown function %s", name)
	}
	types := make([]Type, len(n.Args))
	for i, a := range n.Args {
		t, err := check(a, typeOf)
		if err != nil {
			return Invalid, err
		}
		types[i] = t
	}
	t, err := f.Result(types)
	if err != nil {
		return Invalid, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}
