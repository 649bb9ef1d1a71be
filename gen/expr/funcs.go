package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// funcs is the whole function library of the configuration language. `choose` and `each` are known to the Go printer,
// because their arguments are not all evaluated.
var funcs = map[string]Func{
	"sqrt": {floatFunc(1), callGo("math.Sqrt", Float), floatEval(func(a []float64) float64 { return math.Sqrt(a[0]) })},
	"log":  {floatFunc(1), callGo("math.Log", Float), floatEval(func(a []float64) float64 { return math.Log(a[0]) })},
	"exp":  {floatFunc(1), callGo("math.Exp", Float), floatEval(func(a []float64) float64 { return math.Exp(a[0]) })},
	"pow":  {floatFunc(2), callGo("math.Pow", Float), floatEval(func(a []float64) float64 { return math.Pow(a[0], a[1]) })},
	// probit(p): the standard normal quantile.
	"probit": {floatFunc(1), callGo("nn.Probit", Float), floatEval(func(a []float64) float64 { return math.Sqrt2 * math.Erfinv(2*a[0]-1) })},
	"round32": {floatFunc(1), func(a []string, t []Type) string {
		return "float64(float32(" + asFloat(a[0], t[0]) + "))"
	}, floatEval(func(a []float64) float64 { return float64(float32(a[0])) })},
	"float": {floatFunc(1), func(a []string, t []Type) string { return asFloat(a[0], t[0]) },
		floatEval(func(a []float64) float64 { return a[0] })},
	"floor": {func(a []Type) (Type, error) { return Int, wantNumbers(a, 1) },
		func(a []string, t []Type) string { return "int(math.Floor(" + asFloat(a[0], t[0]) + "))" },
		func(a []any) (any, error) { return int(math.Floor(toFloat(a[0]))), nil }},
	"ceil": {func(a []Type) (Type, error) { return Int, wantNumbers(a, 1) },
		func(a []string, t []Type) string { return "int(math.Ceil(" + asFloat(a[0], t[0]) + "))" },
		func(a []any) (any, error) { return int(math.Ceil(toFloat(a[0]))), nil }},
	"min": {sameNumbers, minMaxGo("min"), minMaxEval(false)},
	"max": {sameNumbers, minMaxGo("max"), minMaxEval(true)},
	"len": {func(a []Type) (Type, error) {
		if len(a) != 1 || a[0].Elem() == Invalid && a[0] != String {
			return Invalid, fmt.Errorf("wants one list or string")
		}
		return Int, nil
	}, func(a []string, _ []Type) string { return "len(" + a[0] + ")" },
		func(a []any) (any, error) {
			if s, ok := a[0].(string); ok {
				return len(s), nil
			}
			return listLen(a[0]), nil
		}},
	// char(s, i): the character of s at place i, as a string; "" outside.
	"char": {func(a []Type) (Type, error) {
		if len(a) != 2 || a[0] != String || a[1] != Int {
			return Invalid, fmt.Errorf("wants a string and a place")
		}
		return String, nil
	}, func(a []string, _ []Type) string { return "nn.Char(" + a[0] + ", " + a[1] + ")" },
		func(a []any) (any, error) {
			s, i := a[0].(string), a[1].(int)
			if i < 0 || i >= len(s) {
				return "", nil
			}
			return s[i : i+1], nil
		}},
	"has": {func(a []Type) (Type, error) {
		if len(a) != 2 || a[0].Elem() != a[1] {
			return Invalid, fmt.Errorf("wants a list and an element")
		}
		return Bool, nil
	}, func(a []string, _ []Type) string { return "slices.Contains(" + a[0] + ", " + a[1] + ")" },
		func(a []any) (any, error) { return listIndex(a[0], a[1]) >= 0, nil }},
	"index": {func(a []Type) (Type, error) {
		if len(a) != 2 || a[0].Elem() != a[1] {
			return Invalid, fmt.Errorf("wants a list and an element")
		}
		return Int, nil
	}, func(a []string, _ []Type) string { return "slices.Index(" + a[0] + ", " + a[1] + ")" },
		func(a []any) (any, error) { return listIndex(a[0], a[1]), nil }},
	"oneof": {func(a []Type) (Type, error) {
		for _, t := range a {
			if t != a[0] {
				return Invalid, fmt.Errorf("wants values of one type")
			}
		}
		return Bool, nil
	}, func(a []string, t []Type) string {
		return "slices.Contains([]" + t[0].GoType() + "{" + strings.Join(a[1:], ", ") + "}, " + a[0] + ")"
	}, func(a []any) (any, error) { return slices.Contains(a[1:], a[0]), nil }},
	"prefix": {func(a []Type) (Type, error) {
		if len(a) != 2 || a[0] != String || a[1] != String {
			return Invalid, fmt.Errorf("wants two strings")
		}
		return Bool, nil
	}, func(a []string, _ []Type) string { return "strings.HasPrefix(" + a[0] + ", " + a[1] + ")" },
		func(a []any) (any, error) { return strings.HasPrefix(a[0].(string), a[1].(string)), nil }},
	// after(s, sep): what follows the last sep in s, s itself when there is none.
	"after": {func(a []Type) (Type, error) {
		if len(a) != 2 || a[0] != String || a[1] != String {
			return Invalid, fmt.Errorf("wants two strings")
		}
		return String, nil
	}, func(a []string, _ []Type) string { return "nn.After(" + a[0] + ", " + a[1] + ")" },
		func(a []any) (any, error) {
			s, sep := a[0].(string), a[1].(string)
			if i := strings.LastIndex(s, sep); i >= 0 {
				return s[i+len(sep):], nil
			}
			return s, nil
		}},
	"choose": {func(a []Type) (Type, error) {
		if len(a) != 3 || a[0] != Bool {
			return Invalid, fmt.Errorf("wants choose(condition, then, otherwise)")
		}
		if a[1] == a[2] {
			return a[1], nil
		}
		if a[1] == Int && a[2] == Float || a[1] == Float && a[2] == Int {
			return Float, nil
		}
		return Invalid, fmt.Errorf("choose(bool, %s, %s)", a[1], a[2])
	}, nil, func(a []any) (any, error) {
		if a[0].(bool) {
			return a[1], nil
		}
		return a[2], nil
	}},
	// each(n, e): the list of e for i in 0..n-1.
	"each": {func(a []Type) (Type, error) {
		if len(a) != 2 || a[0] != Int {
			return Invalid, fmt.Errorf("wants each(count, element)")
		}
		return listOf(a[1])
	}, nil, nil},
	// list(a, b, ...): a list of given elements.
	"list": {func(a []Type) (Type, error) {
		if len(a) == 0 {
			return Invalid, fmt.Errorf("wants at least one element")
		}
		return listOf(a[0])
	}, func(a []string, t []Type) string {
		return "[]" + t[0].GoType() + "{" + strings.Join(a, ", ") + "}"
	}, nil},
}

func listOf(t Type) (Type, error) {
	switch t {
	case Int:
		return Ints, nil
	case Float:
		return Floats, nil
	case String:
		return Strings, nil
	case Bool:
		return Bools, nil
	}
	return Invalid, fmt.Errorf("no list of %s", t)
}

func wantNumbers(a []Type, n int) error {
	if len(a) != n {
		return fmt.Errorf("wants %d arguments, got %d", n, len(a))
	}
	for _, t := range a {
		if t != Int && t != Float {
			return fmt.Errorf("wants numbers, got %s", t)
		}
	}
	return nil
}

func floatFunc(n int) func([]Type) (Type, error) {
	return func(a []Type) (Type, error) { return Float, wantNumbers(a, n) }
}

func sameNumbers(a []Type) (Type, error) {
	if err := wantNumbers(a, len(a)); err != nil || len(a) == 0 {
		return Invalid, fmt.Errorf("wants numbers")
	}
	if slices.Contains(a, Float) {
		return Float, nil
	}
	return Int, nil
}

func asFloat(src string, t Type) string {
	if t == Int {
		return "float64(" + src + ")"
	}
	return src
}

func callGo(name string, want Type) func([]string, []Type) string {
	return func(a []string, t []Type) string {
		out := make([]string, len(a))
		for i := range a {
			out[i] = a[i]
			if want == Float {
				out[i] = asFloat(a[i], t[i])
			}
		}
		return name + "(" + strings.Join(out, ", ") + ")"
	}
}

func minMaxGo(name string) func([]string, []Type) string {
	return func(a []string, t []Type) string {
		if slices.Contains(t, Float) {
			return callGo(name, Float)(a, t)
		}
		return callGo(name, Int)(a, t)
	}
}

func floatEval(f func([]float64) float64) func([]any) (any, error) {
	return func(a []any) (any, error) {
		x := make([]float64, len(a))
		for i := range a {
			x[i] = toFloat(a[i])
		}
		return f(x), nil
	}
}

func minMaxEval(max bool) func([]any) (any, error) {
	return func(a []any) (any, error) {
		best := a[0]
		for _, v := range a[1:] {
			if (toFloat(v) > toFloat(best)) == max {
				best = v
			}
		}
		return best, nil
	}
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

func listLen(v any) int {
	switch v := v.(type) {
	case []int:
		return len(v)
	case []float64:
		return len(v)
	case []string:
		return len(v)
	case []bool:
		return len(v)
	}
	return 0
}

func listIndex(list, v any) int {
	switch l := list.(type) {
	case []int:
		return slices.Index(l, v.(int))
	case []float64:
		return slices.Index(l, v.(float64))
	case []string:
		return slices.Index(l, v.(string))
	case []bool:
		return slices.Index(l, v.(bool))
	}
	return -1
}
