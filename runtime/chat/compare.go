package chat

import (
	"math"
	"math/big"
	"strings"
)

// truth is Python's bool(v).
func (in *interp) truth(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case Tuple:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	case *dictView:
		return v.dict.Len() > 0
	case rangeValue:
		return v.n > 0
	case *loopContext:
		return len(v.items) > 0
	case *undefined:
		return false
	}
	return true
}

// eq is Python's a == b.
func (in *interp) eq(a, b Value) bool { return in.eqDepth(a, b, 0) }

func (in *interp) eqDepth(a, b Value, depth int) bool {
	in.step(1)
	if depth > maxReprDepth {
		in.fail(KindLimit, "comparison nested deeper than %d", maxReprDepth)
	}
	a, b = ungroup(a), ungroup(b)
	if x, ok := textOf(a); ok {
		y, ok := textOf(b)
		in.work(min(len(x), len(y)))
		return ok && x == y
	}
	if c, ok := numCompare(a, b); ok {
		return c == 0
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case *List:
		y, ok := b.(*List)
		return ok && (x == y || in.eqItems(x.Items, y.Items, depth))
	case Tuple:
		y, ok := b.(Tuple)
		return ok && in.eqItems(x, y, depth)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && (x == y || in.eqDicts(x, y, depth))
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	case rangeValue:
		y, ok := b.(rangeValue)
		return ok && x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step))
	}
	return same(a, b)
}

// ungroup makes a group of groupby the tuple it is.
func ungroup(v Value) Value {
	if g, ok := v.(*groupTuple); ok {
		return g.Tuple
	}
	return v
}

func (in *interp) eqItems(a, b []Value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !in.eqDepth(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

func (in *interp) eqDicts(a, b *Dict, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, k := range a.keys {
		h, _ := hashKey(k, 0)
		j, ok := b.index[h]
		if !ok || !in.eqDepth(a.vals[i], b.vals[j], depth+1) {
			return false
		}
	}
	return true
}

// same is Python's a is b, as far as it can be told: small values by value, containers by identity.
func same(a, b Value) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case Tuple:
		y, ok := b.(Tuple)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case *big.Int:
		y, ok := b.(*big.Int)
		return ok && x == y
	}
	if _, ok := b.(Tuple); ok {
		return false
	}
	return a == b
}

func textOf(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// numCompare orders two numbers (bool counts); a NaN compares as 2, equal to nothing.
func numCompare(a, b Value) (int, bool) {
	x, ok1 := numOf(a)
	y, ok2 := numOf(b)
	if !ok1 || !ok2 {
		return 0, false
	}
	xi, xInt := x.(int64)
	yi, yInt := y.(int64)
	if xInt && yInt {
		switch {
		case xi < yi:
			return -1, true
		case xi > yi:
			return 1, true
		}
		return 0, true
	}
	for _, v := range []Value{x, y} {
		if f, ok := v.(float64); ok && math.IsNaN(f) {
			return 2, true
		}
	}
	return bigFloat(x).Cmp(bigFloat(y)), true
}

// bigFloat holds any number exactly, so that mixed comparisons do not round.
func bigFloat(v Value) *big.Float {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v)
	case *big.Int:
		return new(big.Float).SetInt(v)
	case float64:
		return big.NewFloat(v)
	}
	return new(big.Float)
}

// numOf gives v as int64, *big.Int or float64; bools become 0 and 1.
func numOf(v Value) (Value, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	case int64, *big.Int, float64:
		return v, true
	}
	return nil, false
}

// less is Python's a < b.
func (in *interp) less(a, b Value) bool { return in.order("<", a, b) }

// order evaluates one of < <= > >=.
func (in *interp) order(op string, a, b Value) bool {
	c, ok := in.cmp(op, a, b, 0)
	if !ok {
		in.undefFail(a)
		in.undefFail(b)
		in.typeErr("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
	}
	switch op {
	case "<":
		return c == -1
	case "<=":
		return c == -1 || c == 0
	case ">":
		return c == 1
	}
	return c == 1 || c == 0
}

func (in *interp) cmp(op string, a, b Value, depth int) (int, bool) {
	in.step(1)
	if depth > maxReprDepth {
		in.fail(KindLimit, "comparison nested deeper than %d", maxReprDepth)
	}
	a, b = ungroup(a), ungroup(b)
	if c, ok := numCompare(a, b); ok {
		return c, true
	}
	if x, ok := textOf(a); ok {
		y, ok := textOf(b)
		in.work(min(len(x), len(y)))
		return strings.Compare(x, y), ok
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return in.cmpItems(op, x.Items, y.Items, depth), true
		}
	case Tuple:
		if y, ok := b.(Tuple); ok {
			return in.cmpItems(op, x, y, depth), true
		}
	}
	return 0, false
}

func (in *interp) cmpItems(op string, a, b []Value, depth int) int {
	for i := range min(len(a), len(b)) {
		if in.eqDepth(a[i], b[i], depth+1) {
			continue
		}
		c, ok := in.cmp(op, a[i], b[i], depth+1)
		if !ok {
			in.undefFail(a[i])
			in.undefFail(b[i])
			in.typeErr("'%s' not supported between instances of '%s' and '%s'",
				op, typeName(a[i]), typeName(b[i]))
		}
		return c
	}
	switch {
	case len(a) < len(b):
		return -1
	case len(a) > len(b):
		return 1
	}
	return 0
}

// contains is Python's x in c.
func (in *interp) contains(c, x Value) bool {
	switch c := c.(type) {
	case string, markup:
		s, _ := textOf(c)
		sub, ok := textOf(x)
		if !ok {
			in.typeErr("'in <string>' requires string as left operand, not %s", typeName(x))
		}
		in.work(len(s))
		return strings.Contains(s, sub)
	case *Dict:
		return in.hasKey(c, x)
	case *dictView:
		if c.what == 'k' {
			return in.hasKey(c.dict, x)
		}
	case *namespace:
		in.typeErr("argument of type 'Namespace' is not iterable")
	}
	next := in.iter(c)
	for v, ok := next(); ok; v, ok = next() {
		if in.eq(v, x) {
			return true
		}
	}
	return false
}

func (in *interp) hasKey(d *Dict, k Value) bool {
	h := in.hash(k)
	_, ok := d.index[h]
	return ok
}

func (in *interp) hash(k Value) string {
	h, ok := hashKey(k, 0)
	if !ok {
		in.typeErr("unhashable type: '%s'", typeName(k))
	}
	return h
}
