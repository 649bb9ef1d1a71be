package chat

// macro is a {% macro %} or the caller of a call block, with the block it was defined in.
type macro struct {
	def  *macroDef
	vars *vars
}

// call is Python's fn(*args, **kwargs).
func (in *interp) call(fn Value, a args) Value {
	in.step(1)
	switch fn := fn.(type) {
	case *builtin:
		return fn.fn(in, a)
	case *macro:
		return in.callMacro(fn, a)
	case *loopContext:
		return in.callLoop(fn, a)
	case *joiner:
		return fn.join(in, a)
	case *undefined:
		in.undefFail(fn)
	}
	in.typeErr("'%s' object is not callable", typeName(fn))
	return nil
}

// callMacro binds the arguments, runs the body and returns its text.
func (in *interp) callMacro(m *macro, a args) string {
	defer in.enter()()
	def, pos := m.def, in.pos
	v := in.push(&def.scope, m.vars)
	for i, x := range a.pos {
		if i < len(def.params) {
			v.set(def.params[i], x)
		}
	}
	rest := in.macroKeywords(def, v, a)
	in.macroSpecials(def, v, a, rest)
	for i, name := range def.params {
		if v.get(name) != (missing{}) {
			continue
		}
		if d := i - (len(def.params) - len(def.defaults)); d >= 0 {
			v.set(name, in.eval(def.defaults[d], v))
		} else {
			v.set(name, &undefined{"parameter '" + name + "' was not provided", KindUndefined})
		}
	}
	text := in.capture(func() { in.run(def.body, v) })
	in.pos = pos
	return text
}

// macroKeywords sets parameters given by name and returns the other keyword arguments.
func (in *interp) macroKeywords(def *macroDef, v *vars, a args) []kwarg {
	var rest []kwarg
	for _, kw := range a.kw {
		i := indexOf(def.params, kw.name)
		if i < 0 || i < len(a.pos) {
			rest = append(rest, kw)
			continue
		}
		v.set(kw.name, kw.val)
	}
	return rest
}

// macroSpecials sets caller, kwargs and varargs, or refuses arguments nobody takes.
func (in *interp) macroSpecials(def *macroDef, v *vars, a args, rest []kwarg) {
	if def.usesCaller {
		var caller Value = &undefined{"No caller defined", KindUndefined}
		for i, kw := range rest {
			if kw.name == "caller" {
				caller = kw.val
				rest = append(rest[:i:i], rest[i+1:]...)
				break
			}
		}
		v.set("caller", caller)
	}
	if def.usesKwargs {
		d := &Dict{}
		for _, kw := range rest {
			d.Set(kw.name, kw.val)
		}
		v.set("kwargs", d)
	} else if len(rest) > 0 {
		in.typeErr("macro '%s' takes no keyword argument '%s'", def.name, rest[0].name)
	}
	extra := a.pos[min(len(def.params), len(a.pos)):]
	if def.usesVarargs {
		v.set("varargs", Tuple(extra))
	} else if len(extra) > 0 {
		in.typeErr("macro '%s' takes not more than %d argument(s)", def.name, len(def.params))
	}
}
