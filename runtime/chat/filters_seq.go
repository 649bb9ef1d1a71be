package chat

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
)

func isDecimal(r rune) bool { return unicode.IsDigit(r) }

// addSeqFilters adds the filters over sequences.
func addSeqFilters(t map[string]filterFunc) {
	for name, f := range map[string]filterFunc{
		"first": filterFirst, "last": filterLast, "list": filterList, "reverse": filterReverse,
		"sort": filterSort, "dictsort": filterDictSort, "unique": filterUnique, "groupby": filterGroupBy,
		"sum": filterSum, "batch": filterBatch, "slice": filterSlice, "map": filterMap,
		"min":    func(in *interp, v Value, a args) Value { return in.extreme("min", v, a) },
		"max":    func(in *interp, v Value, a args) Value { return in.extreme("max", v, a) },
		"select": func(in *interp, v Value, a args) Value { return in.selectItems("select", v, a, true, false) },
		"reject": func(in *interp, v Value, a args) Value { return in.selectItems("reject", v, a, false, false) },
		"selectattr": func(in *interp, v Value, a args) Value {
			return in.selectItems("selectattr", v, a, true, true)
		},
		"rejectattr": func(in *interp, v Value, a args) Value {
			return in.selectItems("rejectattr", v, a, false, true)
		},
	} {
		t[name] = f
	}
}

// attrGetter makes the function behind attribute= arguments: "a.b.0" looks items up one after another.
// def, unless nil or missing, replaces undefined; fold lower-cases strings.
func (in *interp) attrGetter(attribute, def Value, fold bool) func(Value) Value {
	var path []Value
	if s, ok := textOf(attribute); ok {
		for _, part := range strings.Split(s, ".") {
			if n, err := strconv.ParseUint(part, 10, 62); err == nil {
				path = append(path, int64(n))
			} else {
				path = append(path, part)
			}
		}
	} else if !absent(attribute) {
		path = []Value{attribute}
	}
	return func(v Value) Value {
		for _, part := range path {
			v = in.getitem(v, part)
			if isUndefined(v) && !absent(def) {
				v = def
			}
		}
		if fold {
			v = foldCase(v)
		}
		return v
	}
}

func foldCase(v Value) Value {
	if s, ok := textOf(v); ok {
		return pyLower(s)
	}
	return v
}

func filterFirst(in *interp, v Value, a args) Value {
	in.bind("first", a, 0)
	if x, ok := in.iter(v)(); ok {
		return x
	}
	return &undefined{"No first item, sequence was empty.", KindUndefined}
}

func filterLast(in *interp, v Value, a args) Value {
	in.bind("last", a, 0)
	items := in.reversed(v)
	if len(items) == 0 {
		return &undefined{"No last item, sequence was empty.", KindUndefined}
	}
	return items[len(items)-1]
}

// reversed gives the items of a value that Python's reversed() takes, in their own order.
func (in *interp) reversed(v Value) []Value {
	switch v := v.(type) {
	case string, markup, *List, Tuple, rangeValue, *Dict, *dictView:
		return in.list(v)
	case *undefined:
		return in.list(v)
	}
	in.typeErr("'%s' object is not reversible", typeName(v))
	return nil
}

func filterList(in *interp, v Value, a args) Value {
	in.bind("list", a, 0)
	return in.newList(in.list(v))
}

func filterReverse(in *interp, v Value, a args) Value {
	in.bind("reverse", a, 0)
	if s, ok := textOf(v); ok {
		n := runeLen(s)
		return like(v, in.cut(s, n-1, -1, -1).(string))
	}
	items := in.list(v)
	out := make([]Value, len(items))
	for i, x := range items {
		out[len(items)-1-i] = x
	}
	in.alloc(int64(len(out)) * 16)
	if _, ok := v.(*iterator); ok {
		return in.newList(out)
	}
	return &iterator{next: in.sliceIter(out)}
}

// sortBy sorts a copy of items by key, keeping the order of equal ones.
func (in *interp) sortBy(items []Value, reverse bool, key func(Value) Value) []Value {
	type pair struct{ key, val Value }
	pairs := make([]pair, len(items))
	for i, x := range items {
		pairs[i] = pair{key(x), x}
	}
	in.alloc(int64(len(items)) * 32)
	sort.SliceStable(pairs, func(i, j int) bool {
		if reverse {
			return in.less(pairs[j].key, pairs[i].key)
		}
		return in.less(pairs[i].key, pairs[j].key)
	})
	out := make([]Value, len(items))
	for i, p := range pairs {
		out[i] = p.val
	}
	return out
}

func filterSort(in *interp, v Value, a args) Value {
	p := in.bind("sort", a, 0, "reverse", "case_sensitive", "attribute")
	fold := !in.optTruth(p[1], false)
	var gets []func(Value) Value
	if s, ok := textOf(p[2]); ok {
		for _, part := range strings.Split(s, ",") {
			gets = append(gets, in.attrGetter(part, nil, fold))
		}
	} else {
		gets = append(gets, in.attrGetter(p[2], nil, fold))
	}
	key := func(x Value) Value {
		l := &List{}
		for _, get := range gets {
			l.Items = append(l.Items, get(x))
		}
		return l
	}
	return in.newList(in.sortBy(in.list(v), in.optTruth(p[0], false), key))
}

func filterDictSort(in *interp, v Value, a args) Value {
	p := in.bind("dictsort", a, 0, "case_sensitive", "by", "reverse")
	by := in.optStr(p[1], "key", "by")
	if by != "key" && by != "value" {
		in.fail(KindRuntime, `FilterArgumentError: You can only sort by either "key" or "value"`)
	}
	d, ok := v.(*Dict)
	if !ok {
		in.undefFail(v)
		in.fail(KindRuntime, "AttributeError: '%s' object has no attribute 'items'", typeName(v))
	}
	fold := !in.optTruth(p[0], false)
	key := func(x Value) Value {
		k := x.(Tuple)[0]
		if by == "value" {
			k = x.(Tuple)[1]
		}
		if fold {
			return foldCase(k)
		}
		return k
	}
	return in.newList(in.sortBy(in.viewItems(&dictView{d, 'i'}), in.optTruth(p[2], false), key))
}

func filterUnique(in *interp, v Value, a args) Value {
	p := in.bind("unique", a, 0, "case_sensitive", "attribute")
	get := in.attrGetter(p[1], nil, !in.optTruth(p[0], false))
	seen := map[string]bool{}
	return in.generator(func() func() (Value, bool) {
		next := in.iter(v)
		return func() (Value, bool) {
			for x, ok := next(); ok; x, ok = next() {
				if h := in.hash(get(x)); !seen[h] {
					seen[h] = true
					in.alloc(int64(len(h)))
					return x, true
				}
			}
			return nil, false
		}
	})
}

func (in *interp) extreme(name string, v Value, a args) Value {
	p := in.bind(name, a, 0, "case_sensitive", "attribute")
	get := in.attrGetter(p[1], nil, !in.optTruth(p[0], false))
	next := in.iter(v)
	best, ok := next()
	if !ok {
		return &undefined{"No aggregated item, sequence was empty.", KindUndefined}
	}
	bestKey := get(best)
	for x, ok := next(); ok; x, ok = next() {
		k := get(x)
		if name == "min" && in.order("<", k, bestKey) || name == "max" && in.order(">", k, bestKey) {
			best, bestKey = x, k
		}
	}
	return best
}

func filterGroupBy(in *interp, v Value, a args) Value {
	p := in.bind("groupby", a, 1, "attribute", "default", "case_sensitive")
	fold := !in.optTruth(p[2], false)
	get, real := in.attrGetter(p[0], p[1], fold), in.attrGetter(p[0], p[1], false)
	var out []Value
	var group *List
	var last Value
	for _, x := range in.sortBy(in.list(v), false, get) {
		k := get(x)
		if group == nil || !in.eq(k, last) {
			group, last = &List{}, k
			out = append(out, &groupTuple{Tuple{real(x), group}})
		}
		group.Items = append(group.Items, x)
	}
	return in.newList(out)
}

// groupTuple is a tuple whose two items are also called grouper and list.
type groupTuple struct{ Tuple }

func filterSum(in *interp, v Value, a args) Value {
	p := in.bind("sum", a, 0, "attribute", "start")
	total := p[1]
	if total == (missing{}) {
		total = int64(0)
	}
	if _, ok := textOf(total); ok {
		in.typeErr("sum() can't sum strings [use ''.join(seq) instead]")
	}
	get := in.attrGetter(p[0], nil, false)
	next := in.iter(v)
	for x, ok := next(); ok; x, ok = next() {
		total = in.binary("+", total, get(x))
	}
	return total
}

func filterBatch(in *interp, v Value, a args) Value {
	p := in.bind("batch", a, 1, "linecount", "fill_with")
	n := in.wantInt(p[0], "linecount")
	in.checkProduct(max(n, 0), 16)
	return in.generator(func() func() (Value, bool) {
		next, done := in.iter(v), false
		return func() (Value, bool) {
			row := &List{}
			for !done && (n <= 0 || int64(len(row.Items)) < n) {
				x, ok := next()
				if !ok {
					done = true
					break
				}
				row.Items = append(row.Items, x)
			}
			if len(row.Items) == 0 {
				return nil, false
			}
			for !absent(p[1]) && int64(len(row.Items)) < n {
				row.Items = append(row.Items, p[1])
			}
			return row, true
		}
	})
}

func filterSlice(in *interp, v Value, a args) Value {
	p := in.bind("slice", a, 1, "slices", "fill_with")
	n := in.wantInt(p[0], "slices")
	return in.generator(func() func() (Value, bool) {
		seq := in.list(v)
		if n == 0 {
			in.zeroDiv("integer division or modulo by zero")
		}
		per, extra := len(seq)/int(n), len(seq)%int(n)
		i, offset := 0, 0
		return func() (Value, bool) {
			if int64(i) >= n {
				return nil, false
			}
			start := offset + i*per
			if i < extra {
				offset++
			}
			row := append([]Value{}, seq[start:offset+(i+1)*per]...)
			if !absent(p[1]) && i >= extra {
				row = append(row, p[1])
			}
			i++
			return in.newList(row), true
		}
	})
}
