package chat

import (
	"fmt"
	"strings"
)

// parser builds the tree by recursive descent over the tokens.
type parser struct {
	toks   []token
	tables *tables
	i      int
	lim    Limits
	depth  int
	loops  int  // loops open in this function, for break and continue
	fors   int  // loops open at all
	soft   bool // inside an if: unknown filters and tests fail only if they run
	absent []absentName
	open   []token // tags not closed yet, for messages
	src    string
	links  int // operators parsed so far, see chain
}

func (p *parser) cur() token { return p.toks[p.i] }

func (p *parser) look() token { return p.toks[min(p.i+1, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if p.i < len(p.toks)-1 {
		p.i++
	}
	if bad := p.toks[p.i]; bad.kind == tokBad {
		p.fail(bad.pos, "%s", bad.text)
	}
	return t
}

// start fails if the very first token is bad.
func (p *parser) start() {
	if t := p.toks[0]; t.kind == tokBad {
		p.fail(t.pos, "%s", t.text)
	}
}

func (p *parser) fail(pos int, format string, a ...any) {
	panic(bail{kind: KindSyntax, msg: fmt.Sprintf(format, a...), pos: pos})
}

func (p *parser) isOp(op string) bool { return p.cur().kind == tokOp && p.cur().text == op }

func (p *parser) isName(name string) bool { return p.cur().kind == tokName && p.cur().text == name }

func (p *parser) skipOp(op string) bool {
	if p.isOp(op) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectOp(op string) token {
	if !p.isOp(op) {
		p.fail(p.cur().pos, "expected '%s', got %s", op, p.cur().describe())
	}
	return p.next()
}

func (p *parser) expect(kind tokKind) token {
	if p.cur().kind != kind {
		p.fail(p.cur().pos, "expected %s, got %s", token{kind: kind, text: "name"}.describe(), p.cur().describe())
	}
	return p.next()
}

// nest counts one level of nesting; the result undoes it.
func (p *parser) nest() func() {
	p.depth++
	if p.depth > p.lim.MaxNesting {
		p.fail(p.cur().pos, "nested deeper than %d; the limit is Limits.MaxNesting", p.lim.MaxNesting)
	}
	return func() { p.depth-- }
}

// block parses statements up to a tag that is one of ends (not consumed: its name is current).
func (p *parser) block(ends ...string) []stmt {
	defer p.nest()()
	var out []stmt
	for {
		switch t := p.next(); t.kind {
		case tokEOF:
			if len(ends) > 0 {
				p.fail(t.pos, "unexpected end of template; looking for %s to close %s", quoted(ends), p.openTag(0))
			}
			return out
		case tokData:
			out = append(out, &textStmt{at(t.pos), t.text})
		case tokVarBegin:
			x := p.tuple(true)
			p.expect(tokVarEnd)
			out = append(out, &outStmt{at(t.pos), x})
		case tokBlockBegin:
			if p.cur().kind == tokName && indexOf(ends, p.cur().text) >= 0 {
				return out
			}
			out = append(out, p.statement()...)
			p.expect(tokBlockEnd)
		default:
			p.fail(t.pos, "unexpected %s", t.describe())
		}
	}
}

// openTag names the i-th open tag, counted from the innermost, and its line.
func (p *parser) openTag(i int) string {
	t := p.open[len(p.open)-1-i]
	line, _ := lineCol(p.src, t.pos)
	return fmt.Sprintf("'%s' of line %d", t.text, line)
}

func quoted(names []string) string { return "'" + strings.Join(names, "' or '") + "'" }

// absentName is an unknown filter or test.
type absentName struct {
	what string
	pos  int
	soft bool
}

// unknown notes a filter or test that does not exist. Jinja lets templates guard them with an if (as in
// "if 'x' is filter"), so the error waits: see checkAbsent.
func (p *parser) unknown(what string, pos int) {
	p.absent = append(p.absent, absentName{what, pos, p.soft})
}

// checkAbsent reports unknown filters and tests that no if guards.
func (p *parser) checkAbsent() {
	for _, a := range p.absent {
		if !a.soft {
			p.fail(a.pos, "%s is not supported", a.what)
		}
	}
}

// body is the rest of an opening tag and its statements; the closing name is current afterwards.
func (p *parser) body(ends ...string) []stmt { return p.softBody(false, ends...) }

func (p *parser) softBody(soft bool, ends ...string) []stmt {
	defer p.soften(soft)()
	p.skipOp(":")
	p.expect(tokBlockEnd)
	return p.block(ends...)
}

// soften sets soft until the result is called.
func (p *parser) soften(soft bool) func() {
	saved := p.soft
	p.soft = soft
	return func() { p.soft = saved }
}

// unsupportedTags are Jinja's tags that need several templates or escaping, which chat templates lack.
var unsupportedTags = []string{
	"extends", "block", "include", "import", "from", "autoescape", "trans", "debug",
}

func (p *parser) statement() []stmt {
	t := p.cur()
	if t.kind != tokName {
		p.fail(t.pos, "tag name expected, got %s", t.describe())
	}
	p.open = append(p.open, t)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	p.next()
	switch t.text {
	case "for":
		return []stmt{p.forStmt(t)}
	case "if":
		return []stmt{p.ifStmt(t)}
	case "set":
		return []stmt{p.setStmt(t)}
	case "macro":
		return []stmt{p.macroStmt(t)}
	case "call":
		return []stmt{p.callStmt(t)}
	case "filter":
		return []stmt{p.filterStmt(t)}
	case "with":
		return []stmt{p.withStmt(t)}
	case "generation":
		return []stmt{&genBlock{at(t.pos), p.function(&macroDef{at: at(t.pos)}, "endgeneration")}}
	case "print":
		return p.printStmt()
	case "do":
		return []stmt{&doStmt{at(t.pos), p.tuple(true)}}
	case "break", "continue":
		if p.loops == 0 {
			p.fail(t.pos, "'%s' outside a loop", t.text)
		}
		return []stmt{&loopCtl{at(t.pos), t.text == "break"}}
	}
	p.unknownTag(t)
	return nil
}

func (p *parser) unknownTag(t token) {
	if indexOf(unsupportedTags, t.text) >= 0 {
		p.fail(t.pos, "tag '%s' is not supported in chat templates", t.text)
	}
	msg := fmt.Sprintf("unknown tag '%s'", t.text)
	if len(p.open) > 1 {
		msg += "; the innermost open block is " + p.openTag(1)
	}
	p.fail(t.pos, "%s", msg)
}

func (p *parser) printStmt() []stmt {
	var out []stmt
	for p.cur().kind != tokBlockEnd {
		if len(out) > 0 {
			p.expectOp(",")
		}
		x := p.expression()
		out = append(out, &outStmt{at(x.where()), x})
	}
	return out
}

func (p *parser) forStmt(t token) stmt {
	p.fors++
	defer func() { p.fors-- }()
	f := &forStmt{at: at(t.pos), target: p.target(false)}
	p.checkLoopName(f.target)
	if !p.skipName("in") {
		p.fail(p.cur().pos, "expected 'in', got %s", p.cur().describe())
	}
	f.iter = p.tuple(false)
	if p.skipName("if") {
		f.test = p.expression()
	}
	f.recursive = p.skipName("recursive")
	p.loops++
	f.body = p.body("endfor", "else")
	p.loops--
	if p.next().text == "else" {
		if f.recursive {
			defer func(n int) { p.loops = n }(p.loops)
			p.loops = 0
		}
		f.other = p.body("endfor")
		p.next()
	}
	return f
}

func (p *parser) ifStmt(t token) stmt {
	f := &ifStmt{at: at(t.pos)}
	defer p.soften(true)()
	for {
		f.tests = append(f.tests, p.tuple(false))
		f.bodies = append(f.bodies, p.softBody(true, "elif", "else", "endif"))
		switch p.next().text {
		case "elif":
			continue
		case "else":
			f.other = p.softBody(true, "endif")
			p.next()
		}
		return f
	}
}

// checkLoopName refuses assignments to loop inside loops.
func (p *parser) checkLoopName(target expr) {
	switch x := target.(type) {
	case *nameExpr:
		if x.name == "loop" && p.fors > 0 {
			p.fail(x.where(), "cannot assign to the special variable 'loop' inside a for loop")
		}
	case *tupleExpr:
		for _, item := range x.items {
			p.checkLoopName(item)
		}
	}
}

func (p *parser) setStmt(t token) stmt {
	target := p.target(true)
	p.checkLoopName(target)
	if p.skipOp("=") {
		return &setStmt{at(t.pos), target, p.tuple(true)}
	}
	s := &setBlock{at: at(t.pos), target: target}
	defer p.soften(false)()
	if p.isOp("|") {
		s.filter = p.filters(nil).(*filterExpr)
	}
	s.body = p.body("endset")
	p.next()
	return s
}

// function parses the body of a macro-like block up to end.
func (p *parser) function(def *macroDef, end string) *macroDef {
	loops := p.loops
	p.loops = 0
	def.body = p.body(end)
	p.next()
	p.loops = loops
	return def
}

func (p *parser) macroStmt(t token) stmt {
	def := &macroDef{at: at(t.pos), name: p.expect(tokName).text}
	p.signature(def)
	return &macroStmt{at(t.pos), p.function(def, "endmacro")}
}

func (p *parser) signature(def *macroDef) {
	defer p.soften(false)()
	p.expectOp("(")
	for !p.isOp(")") {
		if len(def.params) > 0 {
			p.expectOp(",")
		}
		name := p.expect(tokName)
		p.checkTarget(&nameExpr{at(name.pos), name.text})
		if indexOf(def.params, name.text) >= 0 {
			p.fail(name.pos, "parameter '%s' occurs twice", name.text)
		}
		def.params = append(def.params, name.text)
		if p.skipOp("=") {
			def.defaults = append(def.defaults, p.expression())
		} else if len(def.defaults) > 0 {
			p.fail(p.cur().pos, "non-default argument follows default argument")
		}
	}
	p.next()
}

func (p *parser) callStmt(t token) stmt {
	def := &macroDef{at: at(t.pos)}
	if p.isOp("(") {
		p.signature(def)
	}
	call, ok := p.expression().(*callExpr)
	if !ok {
		p.fail(t.pos, "'call' wants a call, as in {%% call macro() %%}")
	}
	return &callBlock{at(t.pos), call, p.function(def, "endcall")}
}

func (p *parser) filterStmt(t token) stmt {
	defer p.soften(false)()
	f := &filterBlock{at: at(t.pos), filter: p.filters(nil, true).(*filterExpr)}
	f.body = p.body("endfilter")
	p.next()
	return f
}

func (p *parser) withStmt(t token) stmt {
	w := &withStmt{at: at(t.pos)}
	for p.cur().kind != tokBlockEnd {
		if len(w.targets) > 0 {
			p.expectOp(",")
		}
		w.targets = append(w.targets, p.target(false))
		p.expectOp("=")
		w.vals = append(w.vals, p.expression())
	}
	w.body = p.body("endwith")
	p.next()
	return w
}
