package chat

// filterMap is map(attribute=..., default=...) or map("filter", arguments...), done item by item.
func filterMap(in *interp, v Value, a args) Value {
	pos := in.pos
	return in.generator(func() func() (Value, bool) {
		if !in.truth(v) {
			return in.sliceIter(nil)
		}
		f := in.mapper(a)
		next := in.iter(v)
		return func() (Value, bool) {
			x, ok := next()
			if !ok {
				return nil, false
			}
			in.pos = pos
			return f(x), true
		}
	})
}

func (in *interp) mapper(a args) func(Value) Value {
	if len(a.pos) == 0 && len(a.kw) > 0 {
		p := in.bind("map", a, 0, "attribute", "default")
		if p[0] != (missing{}) {
			return in.attrGetter(p[0], p[1], false)
		}
	}
	if len(a.pos) == 0 {
		in.fail(KindRuntime, "FilterArgumentError: map requires a filter argument")
	}
	name := in.str(a.pos[0])
	f := in.tmpl.tables.filters[name]
	if f == nil {
		in.fail(KindRuntime, "No filter named '%s'.", name)
	}
	rest := args{pos: a.pos[1:], kw: a.kw}
	return func(x Value) Value { return f(in, x, rest) }
}

// selectItems is select, reject, selectattr and rejectattr, done item by item.
func (in *interp) selectItems(name string, v Value, a args, keep, attr bool) Value {
	pos := in.pos
	return in.generator(func() func() (Value, bool) {
		if !in.truth(v) {
			return in.sliceIter(nil)
		}
		f := in.selector(name, a, attr)
		next := in.iter(v)
		return func() (Value, bool) {
			for x, ok := next(); ok; x, ok = next() {
				in.pos = pos
				if f(x) == keep {
					return x, true
				}
			}
			return nil, false
		}
	})
}

// selector makes the condition: the truth of the item (or its attribute), or a named test of it.
func (in *interp) selector(name string, a args, attr bool) func(Value) bool {
	get := func(v Value) Value { return v }
	rest := a.pos
	if attr {
		if len(rest) == 0 {
			in.fail(KindRuntime, "FilterArgumentError: %s: Missing parameter for attribute name", name)
		}
		get = in.attrGetter(rest[0], nil, false)
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return func(v Value) bool { return in.truth(get(v)) }
	}
	test := in.str(rest[0])
	f := in.tmpl.tables.tests[test]
	if f == nil {
		in.fail(KindRuntime, "No test named '%s'.", test)
	}
	ta := args{pos: rest[1:], kw: a.kw}
	return func(v Value) bool { return f(in, get(v), ta) }
}
