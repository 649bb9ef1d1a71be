package chat

import (
	"math/big"
	"strings"
)

// globals are the names every template has; the caller's own come over them.
func globals() map[string]Value {
	return map[string]Value{
		"range":           &builtin{"range", makeRange},
		"dict":            &builtin{"dict", makeDict},
		"namespace":       &builtin{"namespace", makeNamespace},
		"cycler":          &builtin{"cycler", makeCycler},
		"joiner":          &builtin{"joiner", makeJoiner},
		"lipsum":          &builtin{"lipsum", noLipsum},
		"raise_exception": &builtin{"raise_exception", raiseException},
		"strftime_now":    &builtin{"strftime_now", strftimeNow},
	}
}

func raiseException(in *interp, a args) Value {
	p := in.bind("raise_exception", a, 1, "message")
	in.fail(KindRaised, "%s", in.str(p[0]))
	return nil
}

func strftimeNow(in *interp, a args) Value {
	p := in.bind("strftime_now", a, 1, "format")
	return in.made(in.strftime(in.now, in.wantStr(p[0], "strftime format")))
}

func noLipsum(in *interp, _ args) Value {
	in.fail(KindRuntime, "lipsum is not supported: its text is random")
	return nil
}

func makeRange(in *interp, a args) Value {
	if len(a.kw) > 0 {
		in.typeErr("range() takes no keyword arguments")
	}
	if len(a.pos) < 1 || len(a.pos) > 3 {
		in.typeErr("range expected 1 to 3 arguments, got %d", len(a.pos))
	}
	n := [3]int64{0, 0, 1}
	for i, x := range a.pos {
		if _, ok := x.(*big.Int); ok {
			in.fail(KindLimit, "OverflowError: range bound of more than 64 bits")
		}
		n[i] = in.wantInt(x, "range argument")
	}
	if len(a.pos) == 1 {
		n[0], n[1] = 0, n[0]
	}
	r := rangeValue{start: n[0], stop: n[1], step: n[2]}
	if r.step == 0 {
		in.valueErr("range() arg 3 must not be zero")
	}
	r.n = in.rangeLen(r)
	return r
}

func (in *interp) rangeLen(r rangeValue) int64 {
	span := new(big.Int).Sub(big.NewInt(r.stop), big.NewInt(r.start))
	step := big.NewInt(r.step)
	if span.Sign() != step.Sign() {
		return 0
	}
	n := span.Add(span.Abs(span), step.Abs(step))
	n.Sub(n, big.NewInt(1)).Quo(n, step)
	if !n.IsInt64() || n.Int64() > in.lim.MaxRange {
		in.fail(KindLimit, "OverflowError: Range too big. The sandbox blocks ranges larger than %d",
			in.lim.MaxRange)
	}
	return n.Int64()
}

func makeDict(in *interp, a args) Value {
	d := &Dict{}
	if len(a.pos) > 1 {
		in.typeErr("dict expected at most 1 argument, got %d", len(a.pos))
	}
	if len(a.pos) == 1 {
		in.fillDict(d, a.pos[0])
	}
	for _, kw := range a.kw {
		d.Set(kw.name, kw.val)
	}
	in.alloc(int64(d.Len()) * 64)
	return d
}

func (in *interp) fillDict(d *Dict, from Value) {
	switch src := from.(type) {
	case *Dict:
		for i, k := range src.keys {
			d.setHashed(in.hash(k), k, src.vals[i])
		}
		in.step(int64(src.Len()))
		return
	case *namespace:
		in.typeErr("'Namespace' object is not iterable")
	case *undefined:
		in.undefFail(src)
	}
	for i, pair := range in.list(from) {
		kv := in.list(pair)
		if len(kv) != 2 {
			in.valueErr("dictionary update sequence element #%d has length %d; 2 is required", i, len(kv))
		}
		d.setHashed(in.hash(kv[0]), kv[0], kv[1])
	}
}

func makeNamespace(in *interp, a args) Value {
	d := makeDict(in, a).(*Dict)
	for _, k := range d.keys {
		if name, ok := textOf(k); ok {
			in.checkNSName(name)
		}
	}
	return &namespace{attrs: d}
}

// checkNSName refuses names that start with an underscore, as transformers does.
func (in *interp) checkNSName(name string) {
	if strings.HasPrefix(name, "_") {
		in.fail(KindSecurity, "chat templates cannot store underscore-prefixed attributes on a namespace, "+
			"but got '%s'; rename the attribute", name)
	}
}

// cycler is Jinja's cycler(...).
type cycler struct {
	items []Value
	pos   int
}

func makeCycler(in *interp, a args) Value {
	if len(a.pos) == 0 {
		in.typeErr("at least one item has to be provided")
	}
	return &cycler{items: a.pos}
}

func (c *cycler) attr(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.pos], true
	case "next":
		return &builtin{name, func(*interp, args) Value {
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v
		}}, true
	case "reset":
		return &builtin{name, func(*interp, args) Value {
			c.pos = 0
			return nil
		}}, true
	}
	return nil, false
}

// joiner is Jinja's joiner(sep): empty at the first call, the separator afterwards.
type joiner struct {
	sep  Value
	used bool
}

func makeJoiner(in *interp, a args) Value {
	p := in.bind("joiner", a, 0, "sep")
	if p[0] == (missing{}) {
		p[0] = ", "
	}
	return &joiner{sep: p[0]}
}

func (j *joiner) join(in *interp, a args) Value {
	in.bind("joiner", a, 0)
	if !j.used {
		j.used = true
		return ""
	}
	return j.sep
}
