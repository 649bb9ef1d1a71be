package chat

import "slices"

// Jinja decides at compile time which block owns a name. Entering a block, each name it owns gets its
// first value: from the enclosing block, from the context, or none. This file computes that.

// loadKind says where an owned name starts.
type loadKind int

const (
	loadParam   loadKind = iota // set by whoever enters the block
	loadContext                 // what the caller passed, or a global
	loadOuter                   // a copy of the enclosing block's value
	loadNothing                 // no value before the first assignment
)

// load is one owned name.
type load struct {
	name string
	kind loadKind
}

// scope lists the names one block owns, with the slot of each.
type scope struct {
	loads []load
	index map[string]int
}

// slot finds a name's place in the block; -1 if it does not own it.
func (s *scope) slot(name string) int {
	if len(s.loads) <= 4 {
		return slices.IndexFunc(s.loads, func(l load) bool { return l.name == name })
	}
	if i, ok := s.index[name]; ok {
		return i
	}
	return -1
}

// symbols collects a block's names while its statements are walked. A branch of an if is a layer over
// the symbols of its block (base).
type symbols struct {
	parent, base *symbols
	scope
	stores map[string]bool
}

func newSymbols(parent *symbols) *symbols {
	return &symbols{parent: parent, scope: scope{index: map[string]int{}}, stores: map[string]bool{}}
}

func (s *symbols) branch() *symbols {
	b := newSymbols(s.parent)
	b.base = s
	return b
}

func (s *symbols) owns(name string) bool {
	for ; s != nil; s = s.base {
		if s.slot(name) >= 0 {
			return true
		}
	}
	return false
}

func (s *symbols) stored(name string) bool {
	for ; s != nil; s = s.base {
		if s.stores[name] {
			return true
		}
	}
	return false
}

// known tells whether the block or one around it owns name.
func (s *symbols) known(name string) bool {
	for ; s != nil; s = s.parent {
		if s.owns(name) {
			return true
		}
	}
	return false
}

func (s *symbols) define(name string, kind loadKind) {
	if i := s.slot(name); i >= 0 {
		s.loads[i].kind = kind
		return
	}
	s.index[name] = len(s.loads)
	s.loads = append(s.loads, load{name, kind})
}

func (s *symbols) param(name string) {
	s.stores[name] = true
	s.define(name, loadParam)
}

// use records a read: a name nobody owns comes from the context.
func (s *symbols) use(name string) {
	if !s.known(name) {
		s.define(name, loadContext)
	}
}

// store records an assignment, which makes the block own the name.
func (s *symbols) store(name string) {
	s.stores[name] = true
	if s.owns(name) {
		return
	}
	kind := loadNothing
	if s.parent != nil && s.parent.known(name) {
		kind = loadOuter
	}
	s.define(name, kind)
}

// merge joins the branches of an if. A name stored in a branch only may keep an older value, so it
// starts from outside the block.
func (s *symbols) merge(branches ...*symbols) {
	fresh := map[string]bool{}
	for _, b := range branches {
		for name := range b.stores {
			if !s.stored(name) {
				fresh[name] = true
			}
		}
	}
	for _, b := range branches {
		for _, l := range b.loads {
			s.define(l.name, l.kind)
		}
	}
	for name := range fresh {
		s.stores[name] = true
		kind := loadContext
		if s.parent != nil && s.parent.known(name) {
			kind = loadOuter
		}
		s.define(name, kind)
	}
}

// walkStmts records the names of statements in this block, not in the blocks nested in it.
func (s *symbols) walkStmts(body []stmt) {
	for _, st := range body {
		s.walkStmt(st)
	}
}

func (s *symbols) walkStmt(st stmt) {
	switch st := st.(type) {
	case *outStmt:
		s.walk(st.x)
	case *doStmt:
		s.walk(st.x)
	case *ifStmt:
		s.walkIf(st)
	case *forStmt:
		s.walk(st.iter)
	case *setStmt:
		s.walk(st.x)
		s.walkTarget(st.target)
	case *setBlock:
		s.walkTarget(st.target)
	case *macroStmt:
		s.store(st.def.name)
	case *callBlock:
		s.walk(st.call)
	case *filterBlock:
		s.walk(st.filter)
	case *withStmt:
		for _, v := range st.vals {
			s.walk(v)
		}
	}
}

// walkIf handles the tests and bodies of an if. Jinja keeps the elif parts as ifs of their own inside
// one branch of the first.
func (s *symbols) walkIf(st *ifStmt) {
	s.walk(st.tests[0])
	body, elifs, other := s.branch(), s.branch(), s.branch()
	body.walkStmts(st.bodies[0])
	for i := range st.tests[1:] {
		elifs.walk(st.tests[i+1])
		b := elifs.branch()
		b.walkStmts(st.bodies[i+1])
		elifs.merge(b)
	}
	other.walkStmts(st.other)
	s.merge(body, elifs, other)
}

func (s *symbols) walkTarget(x expr) {
	switch x := x.(type) {
	case *nameExpr:
		s.store(x.name)
	case *nsTarget:
		s.use(x.name)
	case *tupleExpr:
		for _, item := range x.items {
			s.walkTarget(item)
		}
	}
}

func (s *symbols) paramTarget(x expr) {
	switch x := x.(type) {
	case *nameExpr:
		s.param(x.name)
	case *tupleExpr:
		for _, item := range x.items {
			s.paramTarget(item)
		}
	}
}

// walk records the names an expression reads.
func (s *symbols) walk(x expr) {
	eachName(x, func(n *nameExpr) { s.use(n.name) })
}

// resolve fills in the scope of every block nested in body.
func (s *symbols) resolve(body []stmt) {
	for _, st := range body {
		s.resolveStmt(st)
	}
}

func (s *symbols) resolveStmt(st stmt) {
	switch st := st.(type) {
	case *ifStmt:
		for _, b := range st.bodies {
			s.resolve(b)
		}
		s.resolve(st.other)
	case *forStmt:
		s.resolveFor(st)
	case *setBlock:
		st.scope = s.inner(st.body, func(in *symbols) {
			if st.filter != nil {
				in.walk(st.filter)
			}
		})
	case *filterBlock:
		st.scope = s.inner(st.body, func(in *symbols) { in.walk(st.filter) })
	case *withStmt:
		in := newSymbols(s)
		for _, t := range st.targets {
			in.paramTarget(t)
		}
		in.walkStmts(st.body)
		in.resolve(st.body)
		st.scope = in.scope
	case *macroStmt:
		s.resolveMacro(st.def)
	case *callBlock:
		s.resolveMacro(st.def)
	case *genBlock:
		s.resolveMacro(st.def)
	}
}

func (s *symbols) inner(body []stmt, after func(*symbols)) scope {
	in := newSymbols(s)
	in.walkStmts(body)
	after(in)
	in.resolve(body)
	return in.scope
}

func (s *symbols) resolveFor(st *forStmt) {
	body := newSymbols(s)
	body.param("loop")
	body.paramTarget(st.target)
	body.walkStmts(st.body)
	body.resolve(st.body)
	st.bodyScope = body.scope
	other := newSymbols(s)
	other.walkStmts(st.other)
	other.resolve(st.other)
	st.elseScop = other.scope
	test := newSymbols(s)
	test.paramTarget(st.target)
	if st.test != nil {
		test.walk(st.test)
	}
	st.testScope = test.scope
}

func (s *symbols) resolveMacro(def *macroDef) {
	in := newSymbols(s)
	for _, name := range def.params {
		in.param(name)
	}
	for _, d := range def.defaults {
		in.walk(d)
	}
	in.walkStmts(def.body)
	used := map[string]bool{}
	eachStmtName(def.body, func(n *nameExpr) { used[n.name] = true })
	special := func(name string) bool {
		if !used[name] || indexOf(def.params, name) >= 0 {
			return false
		}
		in.param(name)
		return true
	}
	def.usesCaller, def.usesKwargs, def.usesVarargs = special("caller"), special("kwargs"), special("varargs")
	in.resolve(def.body)
	def.scope = in.scope
}
