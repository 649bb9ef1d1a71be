package chat

import "strings"

// maxEvalNest bounds the Go stack: long chains such as a + b + c are deep trees, and macros nest them.
const maxEvalNest = 50_000

// eval computes an expression.
func (in *interp) eval(x expr, v *vars) Value {
	in.step(1)
	in.nest++
	if in.nest > maxEvalNest {
		in.pos = x.where()
		in.fail(KindLimit, "expressions nested deeper than %d while running", maxEvalNest)
	}
	val := in.evalNode(x, v)
	in.nest--
	return val
}

func (in *interp) evalNode(x expr, v *vars) Value {
	switch x := x.(type) {
	case *constExpr:
		return x.v
	case *nameExpr:
		return in.name(x, v)
	case *attrExpr:
		obj := in.eval(x.x, v)
		in.pos = x.where()
		return in.getattr(obj, x.name)
	case *indexExpr:
		return in.index(x, v)
	case *callExpr:
		fn := in.eval(x.fn, v)
		a := in.evalArgs(x.args, v)
		in.pos = x.where()
		return in.call(fn, a)
	case *filterExpr:
		input := in.eval(x.x, v)
		a := in.evalArgs(x.args, v)
		in.pos = x.where()
		return x.fn(in, input, a)
	case *testExpr:
		input := in.eval(x.x, v)
		a := in.evalArgs(x.args, v)
		in.pos = x.where()
		return x.fn(in, input, a)
	case *binExpr:
		l := in.eval(x.l, v)
		r := in.eval(x.r, v)
		in.pos = x.where()
		return in.binary(x.op, l, r)
	}
	return in.evalRest(x, v)
}

func (in *interp) evalRest(x expr, v *vars) Value {
	switch x := x.(type) {
	case *tupleExpr:
		return Tuple(in.evalAll(x.items, v))
	case *listExpr:
		return in.newList(in.evalAll(x.items, v))
	case *dictExpr:
		return in.evalDict(x, v)
	case *unaryExpr:
		val := in.eval(x.x, v)
		in.pos = x.where()
		if x.op == "not" {
			return !in.truth(val)
		}
		return in.unary(x.op, val)
	case *logicExpr:
		l := in.eval(x.l, v)
		if in.truth(l) != x.and {
			return l
		}
		return in.eval(x.r, v)
	case *compareExpr:
		return in.compare(x, v)
	case *concatExpr:
		return in.concat(x, v)
	case *condExpr:
		return in.cond(x, v)
	}
	in.pos = x.where()
	in.fail(KindInternal, "unknown expression %T", x)
	return nil
}

func (in *interp) name(x *nameExpr, v *vars) Value {
	val := v.get(x.name)
	if val == (missing{}) {
		return &undefined{"'" + x.name + "' is undefined", KindUndefined}
	}
	return val
}

func (in *interp) evalAll(items []expr, v *vars) []Value {
	out := make([]Value, len(items))
	for i, x := range items {
		out[i] = in.eval(x, v)
	}
	in.alloc(int64(len(out)) * 16)
	return out
}

func (in *interp) evalDict(x *dictExpr, v *vars) Value {
	d := &Dict{}
	for i, k := range x.keys {
		key := in.eval(k, v)
		val := in.eval(x.vals[i], v)
		in.pos = k.where()
		d.setHashed(in.hash(key), key, val)
	}
	in.alloc(int64(d.Len()) * 64)
	return d
}

func (in *interp) evalArgs(x argExprs, v *vars) args {
	var a args
	if len(x.pos) > 0 {
		a.pos = in.evalAll(x.pos, v)
	}
	for i, name := range x.names {
		a.kw = append(a.kw, kwarg{name, in.eval(x.vals[i], v)})
	}
	if x.star != nil {
		a.pos = append(a.pos, in.list(in.eval(x.star, v))...)
	}
	if x.starred != nil {
		in.spread(&a, in.eval(x.starred, v))
	}
	return a
}

// spread adds **mapping to the arguments.
func (in *interp) spread(a *args, v Value) {
	d, ok := v.(*Dict)
	if !ok {
		in.typeErr("argument after ** must be a mapping, not %s", typeName(v))
	}
	for i, k := range d.keys {
		name, ok := textOf(k)
		if !ok {
			in.typeErr("keywords must be strings")
		}
		for _, kw := range a.kw {
			if kw.name == name {
				in.typeErr("got multiple values for keyword argument '%s'", name)
			}
		}
		a.kw = append(a.kw, kwarg{name, d.vals[i]})
	}
	in.step(int64(d.Len()))
}

func (in *interp) compare(x *compareExpr, v *vars) Value {
	l := in.eval(x.first, v)
	for _, op := range x.ops {
		r := in.eval(op.x, v)
		in.pos = op.x.where()
		if !in.compareOne(op.op, l, r) {
			return false
		}
		l = r
	}
	return true
}

func (in *interp) compareOne(op string, l, r Value) bool {
	switch op {
	case "==":
		return in.eq(l, r)
	case "!=":
		return !in.eq(l, r)
	case "in":
		return in.contains(r, l)
	case "not in":
		return !in.contains(r, l)
	}
	return in.order(op, l, r)
}

func (in *interp) concat(x *concatExpr, v *vars) Value {
	var b strings.Builder
	for _, part := range x.parts {
		s := in.str(in.eval(part, v))
		in.checkSize(int64(b.Len() + len(s)))
		b.WriteString(s)
	}
	return in.made(b.String())
}

func (in *interp) cond(x *condExpr, v *vars) Value {
	if in.truth(in.eval(x.test, v)) {
		return in.eval(x.then, v)
	}
	if x.other != nil {
		return in.eval(x.other, v)
	}
	const msg = "the inline if-expression evaluated to false and no else section was defined"
	return &undefined{msg, KindUndefined}
}

// index evaluates x[arg].
func (in *interp) index(x *indexExpr, v *vars) Value {
	obj := in.eval(x.x, v)
	if s, ok := x.arg.(*sliceExpr); ok {
		return in.slice(obj, s, v)
	}
	arg := in.eval(x.arg, v)
	in.pos = x.where()
	return in.getitem(obj, arg)
}

func (in *interp) slice(obj Value, s *sliceExpr, v *vars) Value {
	bound := func(e expr) (int64, bool) {
		if e == nil {
			return 0, false
		}
		val := in.eval(e, v)
		in.pos = e.where()
		return in.sliceBound(val)
	}
	start, hasStart := bound(s.start)
	stop, hasStop := bound(s.stop)
	step, hasStep := bound(s.step)
	in.pos = s.where()
	in.undefFail(obj)
	if !hasStep {
		step = 1
	} else if step == 0 {
		in.valueErr("slice step cannot be zero")
	}
	n, ok := in.length(obj)
	if !ok {
		in.typeErr("'%s' object is not subscriptable", typeName(obj))
	}
	lo, hi := sliceRange(n, start, hasStart, stop, hasStop, step)
	return in.cut(obj, lo, hi, step)
}

func (in *interp) sliceBound(val Value) (int64, bool) {
	switch val := val.(type) {
	case nil:
		return 0, false
	case *undefined:
		in.undefFail(val)
	}
	if n, ok := in.asInt(val); ok {
		return n, true
	}
	x, ok := numOf(val)
	if _, isFloat := x.(float64); !ok || isFloat {
		in.typeErr("slice indices must be integers or None or have an __index__ method")
	}
	if toBig(x).Sign() < 0 {
		return -1 << 62, true
	}
	return 1 << 62, true
}

// sliceRange gives the first index and the end of a slice of n items, as PySlice_AdjustIndices.
func sliceRange(n, start int64, hasStart bool, stop int64, hasStop bool, step int64) (int64, int64) {
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	clip := func(i int64) int64 {
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	first, end := low, high
	if step < 0 {
		first, end = high, low
	}
	if hasStart {
		first = clip(start)
	}
	if hasStop {
		end = clip(stop)
	}
	return first, end
}

// cut copies obj[lo:hi:step] for adjusted bounds.
func (in *interp) cut(obj Value, lo, hi, step int64) Value {
	if s, ok := textOf(obj); ok {
		if step == 1 && int64(len(s)) == runeLen(s) {
			return like(obj, s[lo:max(lo, hi)])
		}
		var b strings.Builder
		in.work(2 * len(s))
		runes := []rune(s)
		eachIndex(lo, hi, step, func(i int64) { b.WriteRune(runes[i]) })
		return like(obj, in.made(b.String()))
	}
	if r, ok := obj.(rangeValue); ok {
		n := int64(0)
		eachIndex(lo, hi, step, func(int64) { n++ })
		return rangeValue{r.start + lo*r.step, r.start + hi*r.step, r.step * step, n}
	}
	var items, out []Value
	switch o := obj.(type) {
	case *List:
		items = o.Items
	case Tuple:
		items = o
	case *Dict:
		in.typeErr("unhashable type: 'slice'")
	default:
		in.typeErr("'%s' object is not subscriptable", typeName(obj))
	}
	eachIndex(lo, hi, step, func(i int64) { out = append(out, items[i]) })
	list := in.newList(out)
	if _, ok := obj.(Tuple); ok {
		return Tuple(out)
	}
	return list
}

func eachIndex(lo, hi, step int64, f func(int64)) {
	if step > 0 {
		for i := lo; i < hi; i += step {
			f(i)
			if step >= hi-i {
				return
			}
		}
		return
	}
	for i := lo; i > hi; i += step {
		f(i)
		if step <= hi-i {
			return
		}
	}
}
