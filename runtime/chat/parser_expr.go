package chat

// target parses what may stand left of "=" or "in": names, tuples of them, and ns.attr if allowed.
func (p *parser) target(ns bool) expr {
	start := p.cur().pos
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			p.expectOp(",")
		}
		if p.tupleEnd() {
			break
		}
		items = append(items, p.targetItem(ns))
		if !p.isOp(",") {
			break
		}
		isTuple = true
	}
	if len(items) == 0 {
		p.fail(start, "expected a name to assign to, got %s", p.cur().describe())
	}
	if isTuple {
		return &tupleExpr{at(start), items}
	}
	return items[0]
}

func (p *parser) targetItem(ns bool) expr {
	t := p.cur()
	if t.kind == tokName && ns && p.look().kind == tokOp && p.look().text == "." {
		p.next()
		p.next()
		return &nsTarget{at(t.pos), t.text, p.expect(tokName).text}
	}
	x := p.primary()
	p.checkTarget(x)
	return x
}

// reservedNames cannot be assigned to.
var reservedNames = []string{"true", "false", "none", "True", "False", "None"}

func (p *parser) checkTarget(x expr) {
	switch x := x.(type) {
	case *nameExpr:
		if indexOf(reservedNames, x.name) < 0 {
			return
		}
	case *tupleExpr:
		for _, item := range x.items {
			p.checkTarget(item)
		}
		return
	}
	p.fail(x.where(), "cannot assign to this; want a name")
}

// tupleEnd tells whether a tuple ends after a comma. "in" and "recursive" do not end it, as in Jinja.
func (p *parser) tupleEnd() bool {
	t := p.cur()
	return t.kind == tokVarEnd || t.kind == tokBlockEnd || p.isOp(")")
}

// tuple parses one expression, or several with commas between as a tuple.
func (p *parser) tuple(cond bool) expr {
	start := p.cur().pos
	if p.tupleEnd() {
		p.fail(start, "expected an expression, got %s", p.cur().describe())
	}
	return p.tupleRest(start, cond)
}

func (p *parser) tupleRest(start int, cond bool) expr {
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			p.expectOp(",")
		}
		if p.tupleEnd() {
			break
		}
		if cond {
			items = append(items, p.expression())
		} else {
			items = append(items, p.or())
		}
		if !p.isOp(",") {
			break
		}
		isTuple = true
	}
	if !isTuple && len(items) == 1 {
		return items[0]
	}
	return &tupleExpr{at(start), items}
}

// expression parses a full expression with inline if.
func (p *parser) expression() expr {
	defer p.nest()()
	pos, absent := p.cur().pos, len(p.absent)
	x := p.or()
	for p.skipName("if") {
		c := &condExpr{at: at(pos), then: x, test: p.or()}
		if p.skipName("else") {
			c.other = p.expression()
		}
		x = c
		p.chain()
		for i := range p.absent[absent:] {
			p.absent[absent+i].soft = true
		}
	}
	return x
}

// chain counts one link of a left-deep expression such as a + b + c, whose tree is as deep as it is long.
func (p *parser) chain() {
	p.links++
	if p.links > maxLinks {
		p.fail(p.cur().pos, "more than %d operators; split the template", maxLinks)
	}
}

func (p *parser) or() expr {
	defer p.nest()()
	x := p.and()
	for p.isName("or") {
		pos := p.next().pos
		x = &logicExpr{at(pos), false, x, p.and()}
		p.chain()
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.isName("and") {
		pos := p.next().pos
		x = &logicExpr{at(pos), true, x, p.not()}
		p.chain()
	}
	return x
}

func (p *parser) not() expr {
	if p.isName("not") {
		defer p.nest()()
		pos := p.next().pos
		return &unaryExpr{at(pos), "not", p.not()}
	}
	return p.compare()
}

var compareOps = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() expr {
	pos := p.cur().pos
	first := p.sum()
	var ops []compareOp
	for {
		t := p.cur()
		switch {
		case t.kind == tokOp && indexOf(compareOps, t.text) >= 0:
			p.next()
			ops = append(ops, compareOp{t.text, p.sum()})
		case p.skipName("in"):
			ops = append(ops, compareOp{"in", p.sum()})
		case p.isName("not") && p.look().kind == tokName && p.look().text == "in":
			p.next()
			p.next()
			ops = append(ops, compareOp{"not in", p.sum()})
		default:
			if ops == nil {
				return first
			}
			return &compareExpr{at(pos), first, ops}
		}
	}
}

func (p *parser) sum() expr {
	x := p.concat()
	for p.isOp("+") || p.isOp("-") {
		t := p.next()
		x = &binExpr{at(t.pos), t.text, x, p.concat()}
		p.chain()
	}
	return x
}

func (p *parser) concat() expr {
	pos := p.cur().pos
	parts := []expr{p.product()}
	for p.skipOp("~") {
		parts = append(parts, p.product())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &concatExpr{at(pos), parts}
}

func (p *parser) product() expr {
	x := p.power()
	for p.isOp("*") || p.isOp("/") || p.isOp("//") || p.isOp("%") {
		t := p.next()
		x = &binExpr{at(t.pos), t.text, x, p.power()}
		p.chain()
	}
	return x
}

func (p *parser) power() expr {
	x := p.unary(true)
	for p.isOp("**") {
		t := p.next()
		x = &binExpr{at(t.pos), "**", x, p.unary(true)}
		p.chain()
	}
	return x
}

func (p *parser) unary(filters bool) expr {
	t := p.cur()
	var x expr
	if p.isOp("-") || p.isOp("+") {
		done := p.nest()
		p.next()
		x = &unaryExpr{at(t.pos), t.text, p.unary(false)}
		done()
	} else {
		x = p.primary()
	}
	x = p.postfix(x)
	if filters {
		x = p.filterOrTest(x)
	}
	return x
}

func (p *parser) primary() expr {
	t := p.next()
	switch t.kind {
	case tokName:
		return nameOrConst(t)
	case tokString:
		s := t.text
		for p.cur().kind == tokString {
			s += p.next().text
		}
		return &constExpr{at(t.pos), s}
	case tokInt, tokFloat:
		return &constExpr{at(t.pos), t.val}
	case tokOp:
		switch t.text {
		case "(":
			x := p.tupleRest(t.pos, true)
			p.expectOp(")")
			return x
		case "[":
			return &listExpr{at(t.pos), p.list()}
		case "{":
			return p.dict(t)
		}
	}
	p.fail(t.pos, "unexpected %s", t.describe())
	return nil
}

func nameOrConst(t token) expr {
	switch t.text {
	case "true", "True":
		return &constExpr{at(t.pos), true}
	case "false", "False":
		return &constExpr{at(t.pos), false}
	case "none", "None":
		return &constExpr{at(t.pos), nil}
	}
	return &nameExpr{at(t.pos), t.text}
}

func (p *parser) list() []expr {
	var items []expr
	for !p.isOp("]") {
		if len(items) > 0 {
			p.expectOp(",")
			if p.isOp("]") {
				break
			}
		}
		items = append(items, p.expression())
	}
	p.next()
	return items
}

func (p *parser) dict(t token) expr {
	d := &dictExpr{at: at(t.pos)}
	for !p.isOp("}") {
		if len(d.keys) > 0 {
			p.expectOp(",")
			if p.isOp("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.expectOp(":")
		d.vals = append(d.vals, p.expression())
	}
	p.next()
	return d
}
