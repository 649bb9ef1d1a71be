package chat

// loopContext is the loop variable.
type loopContext struct {
	items   []Value
	index   int // from 0; -1 before the first turn
	depth   int // from 0
	changed []Value
	recurse func(iter Value, depth int) string
}

// runFor runs a loop. A recursive one is a function of what it walks, which its body can call.
func (in *interp) runFor(st *forStmt, v *vars) control {
	seq := in.eval(st.iter, v)
	in.pos = st.iter.where()
	if !st.recursive {
		return in.loop(st, v, seq, &loopContext{index: -1})
	}
	var recurse func(Value, int) string
	recurse = func(seq Value, depth int) string {
		defer in.enter()()
		return in.capture(func() {
			in.loop(st, v, seq, &loopContext{index: -1, depth: depth, recurse: recurse})
		})
	}
	in.write(recurse(seq, 0))
	return ctlNone
}

// loop walks seq. As in Python's compiled form, the else part runs when no turn came to its end, which
// includes loops whose only turns were left by break or continue.
func (in *interp) loop(st *forStmt, v *vars, seq Value, lc *loopContext) control {
	lc.items = in.filtered(st, v, seq)
	completed := false
	for lc.index+1 < len(lc.items) {
		in.step(1)
		lc.index++
		turn := in.push(&st.bodyScope, v)
		turn.set("loop", lc)
		in.assign(st.target, lc.items[lc.index], turn)
		ctl := in.run(st.body, turn)
		if ctl == ctlBreak {
			break
		}
		completed = completed || ctl == ctlNone
	}
	if completed || len(st.other) == 0 {
		return ctlNone
	}
	return in.run(st.other, in.push(&st.elseScop, v))
}

// filtered lists the items of a loop that pass its if.
func (in *interp) filtered(st *forStmt, v *vars, seq Value) []Value {
	items := in.list(seq)
	if st.test == nil {
		return items
	}
	var out []Value
	test := in.push(&st.testScope, v)
	for _, x := range items {
		in.step(1)
		in.assign(st.target, x, test)
		if in.truth(in.eval(st.test, test)) {
			out = append(out, x)
		}
	}
	return out
}

// attr gives loop.name.
func (lc *loopContext) attr(in *interp, name string) (Value, bool) {
	n := int64(len(lc.items))
	i := int64(lc.index)
	switch name {
	case "index":
		return i + 1, true
	case "index0":
		return i, true
	case "revindex":
		return n - i, true
	case "revindex0":
		return n - i - 1, true
	case "first":
		return i == 0, true
	case "last":
		return i == n-1, true
	case "length":
		return n, true
	case "depth":
		return int64(lc.depth) + 1, true
	case "depth0":
		return int64(lc.depth), true
	case "previtem":
		if i == 0 {
			return &undefined{"there is no previous item", KindUndefined}, true
		}
		return lc.items[i-1], true
	case "nextitem":
		if i+1 >= n {
			return &undefined{"there is no next item", KindUndefined}, true
		}
		return lc.items[i+1], true
	case "cycle":
		return &builtin{"cycle", lc.cycle}, true
	case "changed":
		return &builtin{"changed", lc.hasChanged}, true
	}
	return nil, false
}

func (lc *loopContext) cycle(in *interp, a args) Value {
	if len(a.pos) == 0 {
		in.typeErr("no items for cycling given")
	}
	return a.pos[max(lc.index, 0)%len(a.pos)]
}

func (lc *loopContext) hasChanged(in *interp, a args) Value {
	if lc.changed != nil && in.eqItems(lc.changed, a.pos, 0) {
		return false
	}
	lc.changed = append([]Value{}, a.pos...)
	return true
}

// callLoop is loop(items) inside a recursive loop.
func (in *interp) callLoop(lc *loopContext, a args) Value {
	if lc.recurse == nil {
		in.typeErr("the loop must have the 'recursive' marker to be called recursively")
	}
	p := in.bind("loop", a, 1, "iterable")
	return lc.recurse(p[0], lc.depth+1)
}
