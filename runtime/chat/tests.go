package chat

import "math/big"

// testTable lists the tests of "x is name".
func testTable() map[string]testFunc {
	t := map[string]testFunc{
		"defined":   func(_ *interp, v Value, _ args) bool { return !isUndefined(v) },
		"undefined": func(_ *interp, v Value, _ args) bool { return isUndefined(v) },
		"none":      func(_ *interp, v Value, _ args) bool { return v == nil },
		"true":      func(_ *interp, v Value, _ args) bool { return v == true },
		"false":     func(_ *interp, v Value, _ args) bool { return v == false },
		"boolean":   func(_ *interp, v Value, _ args) bool { return typeName(v) == "bool" },
		"integer":   func(_ *interp, v Value, _ args) bool { return typeName(v) == "int" },
		"float":     func(_ *interp, v Value, _ args) bool { return typeName(v) == "float" },
		"number":    func(_ *interp, v Value, _ args) bool { _, ok := numOf(v); return ok },
		"string":    func(_ *interp, v Value, _ args) bool { _, ok := textOf(v); return ok },
		"mapping":   func(_ *interp, v Value, _ args) bool { _, ok := v.(*Dict); return ok },
		"escaped":   func(_ *interp, v Value, _ args) bool { _, ok := v.(markup); return ok },
		"sequence":  func(_ *interp, v Value, _ args) bool { return isSequence(v) },
		"iterable":  func(_ *interp, v Value, _ args) bool { return isIterable(v) },
		"callable":  func(_ *interp, v Value, _ args) bool { return isCallable(v) },
		"lower":     func(in *interp, v Value, _ args) bool { return pyIsLower(in.scan(v)) },
		"upper":     func(in *interp, v Value, _ args) bool { return pyIsUpper(in.scan(v)) },
		"odd":       func(in *interp, v Value, _ args) bool { return in.eq(in.binary("%", v, int64(2)), int64(1)) },
		"even":      func(in *interp, v Value, _ args) bool { return in.eq(in.binary("%", v, int64(2)), int64(0)) },
		"filter":    func(in *interp, v Value, _ args) bool { return in.tmpl.tables.filters[in.str(v)] != nil },
		"test":      func(in *interp, v Value, _ args) bool { return in.tmpl.tables.tests[in.str(v)] != nil },
	}
	for name, f := range t {
		t[name] = func(in *interp, v Value, a args) bool {
			in.bind("test "+name, a, 0)
			return f(in, v, a)
		}
	}
	addBinaryTests(t)
	return t
}

// addBinaryTests adds the tests that take an argument.
func addBinaryTests(t map[string]testFunc) {
	binary := func(f func(in *interp, a, b Value) bool, names ...string) {
		for _, name := range names {
			t[name] = func(in *interp, v Value, a args) bool {
				return f(in, v, in.bind("test "+name, a, 1, "other")[0])
			}
		}
	}
	binary(func(in *interp, a, b Value) bool { return in.eq(a, b) }, "eq", "==", "equalto")
	binary(func(in *interp, a, b Value) bool { return !in.eq(a, b) }, "ne", "!=")
	binary(func(in *interp, a, b Value) bool { return in.order(">", a, b) }, "gt", ">", "greaterthan")
	binary(func(in *interp, a, b Value) bool { return in.order(">=", a, b) }, "ge", ">=")
	binary(func(in *interp, a, b Value) bool { return in.order("<", a, b) }, "lt", "<", "lessthan")
	binary(func(in *interp, a, b Value) bool { return in.order("<=", a, b) }, "le", "<=")
	binary(func(in *interp, a, b Value) bool { return in.contains(b, a) }, "in")
	binary(func(_ *interp, a, b Value) bool { return same(a, b) }, "sameas")
	binary(func(in *interp, a, b Value) bool { return in.eq(in.binary("%", a, b), int64(0)) }, "divisibleby")
}

func isUndefined(v Value) bool {
	_, ok := v.(*undefined)
	return ok
}

func isSequence(v Value) bool {
	switch v.(type) {
	case string, markup, *List, Tuple, *groupTuple, *Dict, rangeValue, *undefined:
		return true
	}
	return false
}

func isIterable(v Value) bool {
	switch v.(type) {
	case nil, bool, int64, *big.Int, float64, *namespace, *macro, *builtin, *cycler, *joiner:
		return false
	}
	return true
}

func isCallable(v Value) bool {
	switch v.(type) {
	case *builtin, *macro, *loopContext, *joiner, *undefined:
		return true
	}
	return false
}
