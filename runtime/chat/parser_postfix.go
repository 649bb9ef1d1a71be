package chat

// maxLinks bounds the operators of one template that make the tree deeper without nesting.
const maxLinks = 20_000

// postfix parses .name, [index] and (call) after an expression.
func (p *parser) postfix(x expr) expr {
	for {
		switch {
		case p.isOp("."):
			x = p.dot(x)
		case p.isOp("["):
			x = p.subscript(x)
		case p.isOp("("):
			x = p.call(x)
		default:
			return x
		}
		p.chain()
	}
}

// filterOrTest parses |filter, "is test" and calls of their results.
func (p *parser) filterOrTest(x expr) expr {
	for {
		switch {
		case p.isOp("|"):
			x = p.filters(x)
		case p.isName("is"):
			x = p.test(x)
		case p.isOp("("):
			x = p.call(x)
		default:
			return x
		}
		p.chain()
	}
}

func (p *parser) dot(x expr) expr {
	dot := p.next()
	t := p.next()
	switch t.kind {
	case tokName:
		return &attrExpr{at(dot.pos), x, t.text}
	case tokInt:
		return &indexExpr{at(dot.pos), x, &constExpr{at(t.pos), t.val}}
	}
	p.fail(t.pos, "expected name or number after '.', got %s", t.describe())
	return nil
}

func (p *parser) subscript(x expr) expr {
	open := p.next()
	var items []expr
	for !p.isOp("]") {
		if len(items) > 0 {
			p.expectOp(",")
		}
		items = append(items, p.subscribed())
	}
	p.next()
	if len(items) == 1 {
		return &indexExpr{at(open.pos), x, items[0]}
	}
	for _, item := range items {
		if _, ok := item.(*sliceExpr); ok {
			p.fail(item.where(), "a slice inside a tuple index is not supported")
		}
	}
	return &indexExpr{at(open.pos), x, &tupleExpr{at(open.pos), items}}
}

func (p *parser) subscribed() expr {
	pos := p.cur().pos
	s := &sliceExpr{at: at(pos)}
	if !p.isOp(":") {
		x := p.expression()
		if !p.isOp(":") {
			return x
		}
		s.start = x
	}
	p.next()
	ends := func() bool { return p.isOp("]") || p.isOp(",") }
	if !p.isOp(":") && !ends() {
		s.stop = p.expression()
	}
	if p.skipOp(":") && !ends() {
		s.step = p.expression()
	}
	return s
}

func (p *parser) call(x expr) expr {
	pos := p.cur().pos
	return &callExpr{at(pos), x, p.callArgs()}
}

func (p *parser) callArgs() argExprs {
	open := p.expectOp("(")
	var a argExprs
	for first := true; !p.isOp(")"); first = false {
		if !first {
			p.expectOp(",")
			if p.isOp(")") {
				break
			}
		}
		p.callArg(&a, open)
	}
	p.next()
	return a
}

func (p *parser) callArg(a *argExprs, open token) {
	ensure := func(ok bool) {
		if !ok {
			p.fail(open.pos, "invalid order of arguments in a call")
		}
	}
	switch {
	case p.isOp("*"):
		ensure(a.star == nil && a.starred == nil)
		p.next()
		a.star = p.expression()
	case p.isOp("**"):
		ensure(a.starred == nil)
		p.next()
		a.starred = p.expression()
	case p.cur().kind == tokName && p.look().kind == tokOp && p.look().text == "=":
		ensure(a.starred == nil)
		name := p.next()
		if indexOf(a.names, name.text) >= 0 {
			p.fail(name.pos, "keyword argument '%s' occurs twice", name.text)
		}
		p.next()
		a.names = append(a.names, name.text)
		a.vals = append(a.vals, p.expression())
	default:
		ensure(a.star == nil && a.starred == nil && len(a.names) == 0)
		a.pos = append(a.pos, p.expression())
	}
}

// filters parses one or more filters over x; inline is for {% filter name %}, which lacks the first "|".
func (p *parser) filters(x expr, inline ...bool) expr {
	start := len(inline) > 0
	for p.isOp("|") || start {
		if !start {
			p.next()
		}
		start = false
		t := p.expect(tokName)
		f := &filterExpr{at: at(t.pos), x: x, name: p.dotted(t)}
		f.fn = p.tables.filters[f.name]
		if f.fn == nil {
			f.fn = noFilter(f.name)
			p.unknown("filter '"+f.name+"'", t.pos)
		}
		if p.isOp("(") {
			f.args = p.callArgs()
		}
		x = f
		p.chain()
	}
	return x
}

func (p *parser) dotted(t token) string {
	name := t.text
	for p.skipOp(".") {
		name += "." + p.expect(tokName).text
	}
	return name
}

func (p *parser) test(x expr) expr {
	is := p.next()
	negated := p.skipName("not")
	t := p.expect(tokName)
	e := &testExpr{at: at(t.pos), x: x, name: p.dotted(t)}
	e.fn = p.tables.tests[e.name]
	if e.fn == nil {
		e.fn = noTest(e.name)
		p.unknown("test '"+e.name+"'", t.pos)
	}
	if p.isOp("(") {
		e.args = p.callArgs()
	} else if p.testArg() {
		if p.isName("is") {
			p.fail(p.cur().pos, "tests cannot be chained with 'is'")
		}
		e.args.pos = []expr{p.postfix(p.primary())}
	}
	if negated {
		return &unaryExpr{at(is.pos), "not", e}
	}
	return e
}

// testArg tells whether an argument without parentheses follows a test's name.
func (p *parser) testArg() bool {
	switch t := p.cur(); t.kind {
	case tokName:
		return t.text != "else" && t.text != "or" && t.text != "and"
	case tokString, tokInt, tokFloat:
		return true
	case tokOp:
		return t.text == "[" || t.text == "{"
	}
	return false
}

// noFilter stands for an unknown filter that an if may guard.
func noFilter(name string) filterFunc {
	return func(in *interp, _ Value, _ args) Value {
		in.fail(KindRuntime, "No filter named '%s' found.", name)
		return nil
	}
}

func noTest(name string) testFunc {
	return func(in *interp, _ Value, _ args) bool {
		in.fail(KindRuntime, "No test named '%s' found.", name)
		return false
	}
}
