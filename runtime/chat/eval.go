package chat

// vars holds the values of one block that is being run.
type vars struct {
	def    *scope
	vals   []Value
	parent *vars
}

// push enters a block: every name it owns gets its first value.
func (in *interp) push(def *scope, parent *vars) *vars {
	in.step(int64(len(def.loads)) + 1)
	v := &vars{def: def, vals: make([]Value, len(def.loads)), parent: parent}
	for i, l := range def.loads {
		switch l.kind {
		case loadContext:
			v.vals[i] = in.context(l.name)
		case loadOuter:
			v.vals[i] = parent.get(l.name)
		default:
			v.vals[i] = missing{}
		}
	}
	return v
}

func (in *interp) context(name string) Value {
	if v, ok := in.ctx[name]; ok {
		return v
	}
	return missing{}
}

// get finds the nearest block that owns name; missing{} if none has a value.
func (v *vars) get(name string) Value {
	for ; v != nil; v = v.parent {
		if i := v.def.slot(name); i >= 0 {
			return v.vals[i]
		}
	}
	return missing{}
}

func (v *vars) set(name string, val Value) {
	for ; v != nil; v = v.parent {
		if i := v.def.slot(name); i >= 0 {
			v.vals[i] = val
			return
		}
	}
}

// control says how a list of statements ended.
type control int

const (
	ctlNone control = iota
	ctlBreak
	ctlContinue
)

// run executes statements until the end or a break or continue.
func (in *interp) run(body []stmt, v *vars) control {
	for _, st := range body {
		in.step(1)
		in.pos = st.where()
		if c := in.runStmt(st, v); c != ctlNone {
			return c
		}
	}
	return ctlNone
}

func (in *interp) runStmt(st stmt, v *vars) control {
	switch st := st.(type) {
	case *textStmt:
		in.write(st.text)
	case *outStmt:
		in.write(in.str(in.eval(st.x, v)))
	case *ifStmt:
		return in.runIf(st, v)
	case *forStmt:
		return in.runFor(st, v)
	case *setStmt:
		in.runSet(st, v)
	case *setBlock:
		return in.runSetBlock(st, v)
	case *macroStmt:
		v.set(st.def.name, &macro{def: st.def, vars: v})
	case *callBlock:
		in.runCall(st, v)
	case *filterBlock:
		return in.runFilter(st, v)
	case *withStmt:
		return in.runWith(st, v)
	case *genBlock:
		in.runGeneration(st, v)
	case *doStmt:
		in.eval(st.x, v)
	case *loopCtl:
		if st.brk {
			return ctlBreak
		}
		return ctlContinue
	}
	return ctlNone
}

func (in *interp) runIf(st *ifStmt, v *vars) control {
	for i, t := range st.tests {
		if in.truth(in.eval(t, v)) {
			return in.run(st.bodies[i], v)
		}
	}
	return in.run(st.other, v)
}

func (in *interp) runSet(st *setStmt, v *vars) {
	in.checkNamespaces(st.target, v)
	in.assign(st.target, in.eval(st.x, v), v)
}

// checkNamespaces refuses ns.attr targets on anything but a namespace, before the value is computed.
func (in *interp) checkNamespaces(target expr, v *vars) {
	switch t := target.(type) {
	case *nsTarget:
		if _, ok := v.get(t.name).(*namespace); !ok {
			in.pos = t.where()
			in.fail(KindRuntime, "cannot assign attribute on non-namespace object '%s'", t.name)
		}
	case *tupleExpr:
		for _, item := range t.items {
			in.checkNamespaces(item, v)
		}
	}
}

func (in *interp) assign(target expr, val Value, v *vars) {
	switch t := target.(type) {
	case *nameExpr:
		v.set(t.name, val)
	case *nsTarget:
		ns, ok := v.get(t.name).(*namespace)
		if !ok {
			in.fail(KindRuntime, "cannot assign attribute on non-namespace object '%s'", t.name)
		}
		in.checkNSName(t.attr)
		ns.attrs.Set(t.attr, val)
	case *tupleExpr:
		in.pos = t.where()
		in.unpack(t, val, v)
	}
}

func (in *interp) unpack(t *tupleExpr, val Value, v *vars) {
	items := in.list(val)
	if len(items) < len(t.items) {
		in.valueErr("not enough values to unpack (expected %d, got %d)", len(t.items), len(items))
	}
	if len(items) > len(t.items) {
		in.valueErr("too many values to unpack (expected %d)", len(t.items))
	}
	for i, x := range t.items {
		in.assign(x, items[i], v)
	}
}

func (in *interp) runSetBlock(st *setBlock, v *vars) control {
	inner := in.push(&st.scope, v)
	ctl := ctlNone
	text := in.capture(func() { ctl = in.run(st.body, inner) })
	if ctl != ctlNone {
		return ctl
	}
	in.checkNamespaces(st.target, v)
	var val Value = text
	if st.filter != nil {
		val = in.filterBody(st.filter, text, inner)
	}
	in.assign(st.target, val, v)
	return ctlNone
}

func (in *interp) runFilter(st *filterBlock, v *vars) control {
	inner := in.push(&st.scope, v)
	ctl := ctlNone
	text := in.capture(func() { ctl = in.run(st.body, inner) })
	if ctl == ctlNone {
		in.write(in.str(in.filterBody(st.filter, text, inner)))
	}
	return ctl
}

// filterBody applies a chain of filters whose innermost input is text.
func (in *interp) filterBody(f *filterExpr, text string, v *vars) Value {
	var input Value = text
	if inner, ok := f.x.(*filterExpr); ok {
		input = in.filterBody(inner, text, v)
	}
	a := in.evalArgs(f.args, v)
	in.pos = f.where()
	return f.fn(in, input, a)
}

func (in *interp) runWith(st *withStmt, v *vars) control {
	inner := in.push(&st.scope, v)
	for i, t := range st.targets {
		in.assign(t, in.eval(st.vals[i], v), inner)
	}
	return in.run(st.body, inner)
}

func (in *interp) runCall(st *callBlock, v *vars) {
	caller := &macro{def: st.def, vars: v}
	fn := in.eval(st.call.fn, v)
	a := in.evalArgs(st.call.args, v)
	for _, kw := range a.kw {
		if kw.name == "caller" {
			in.typeErr("got multiple values for keyword argument 'caller'")
		}
	}
	a.kw = append(a.kw, kwarg{"caller", caller})
	in.pos = st.call.where()
	in.write(in.str(in.call(fn, a)))
}

// runGeneration writes a generation block and remembers where it went. Like transformers it places a
// block at the end of the text written so far, which is right unless a macro or set block holds it.
func (in *interp) runGeneration(st *genBlock, v *vars) {
	text := in.callMacro(&macro{def: st.def, vars: v}, args{})
	in.spans = append(in.spans, genSpan{in.root.Len(), text})
	in.write(text)
}
