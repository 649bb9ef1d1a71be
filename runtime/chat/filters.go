package chat

import (
	"strings"
	"unicode"
)

// filterTable lists the filters. Jinja's random, urlize, xmlattr, wordwrap, striptags and pprint are
// not here: no chat template can use them sensibly, and the parser says so.
func filterTable() map[string]filterFunc {
	t := map[string]filterFunc{
		"tojson": filterToJSON, "default": filterDefault, "d": filterDefault, "length": filterLength,
		"count": filterLength, "join": filterJoin, "replace": filterReplace, "trim": filterTrim,
		"upper": text("upper", pyUpper), "lower": text("lower", pyLower),
		"capitalize": text("capitalize", pyCapitalize), "title": text("title", filterTitle),
		"string": filterString, "safe": filterSafe, "escape": filterEscape, "e": filterEscape,
		"forceescape": filterForceEscape, "indent": filterIndent, "int": filterInt, "float": filterFloat,
		"abs": filterAbs, "round": filterRound, "format": filterFormat, "center": filterCenter,
		"truncate": filterTruncate, "wordcount": filterWordCount, "urlencode": filterURLEncode,
		"filesizeformat": filterFileSize, "attr": filterAttr, "items": filterItems,
	}
	addSeqFilters(t)
	return t
}

// text makes a filter without arguments out of a function on text.
func text(name string, f func(string) string) filterFunc {
	return func(in *interp, v Value, a args) Value {
		in.bind(name, a, 0)
		return like(v, in.made(f(in.str(v))))
	}
}

func filterDefault(in *interp, v Value, a args) Value {
	p := in.bind("default", a, 0, "default_value", "boolean")
	if p[0] == (missing{}) {
		p[0] = ""
	}
	if isUndefined(v) || in.optTruth(p[1], false) && !in.truth(v) {
		return p[0]
	}
	return v
}

func filterLength(in *interp, v Value, a args) Value {
	in.bind("length", a, 0)
	n, ok := in.length(v)
	if !ok {
		in.typeErr("object of type '%s' has no len()", typeName(v))
	}
	return n
}

func filterJoin(in *interp, v Value, a args) Value {
	p := in.bind("join", a, 0, "d", "attribute")
	sep := ""
	if p[0] != (missing{}) {
		sep = in.str(p[0])
	}
	get := in.attrGetter(p[1], nil, false)
	var b strings.Builder
	next := in.iter(v)
	first := true
	for x, ok := next(); ok; x, ok = next() {
		if !first {
			b.WriteString(sep)
		}
		first = false
		b.WriteString(in.str(get(x)))
		in.checkSize(int64(b.Len()))
	}
	return in.made(b.String())
}

func filterReplace(in *interp, v Value, a args) Value {
	p := in.bind("replace", a, 2, "old", "new", "count")
	return in.replace(in.str(v), in.str(p[0]), in.str(p[1]), in.optInt(p[2], -1, "count"))
}

func filterTrim(in *interp, v Value, a args) Value {
	p := in.bind("trim", a, 0, "chars")
	return strip("trim", true, true)(in, in.str(v), v, args{pos: p})
}

// filterTitle is Jinja's own: words start after white space, "-" and opening brackets.
func filterTitle(s string) string {
	var b strings.Builder
	start := true
	for _, r := range s {
		switch {
		case isSpace(r) || strings.ContainsRune("-({[<", r):
			b.WriteRune(r)
			start = true
			continue
		case start:
			b.WriteString(pyUpper(string(r)))
		default:
			b.WriteString(pyLower(string(r)))
		}
		start = false
	}
	return b.String()
}

func filterString(in *interp, v Value, a args) Value {
	in.bind("string", a, 0)
	return like(v, in.str(v))
}

func filterSafe(in *interp, v Value, a args) Value {
	in.bind("safe", a, 0)
	return markup(in.str(v))
}

func filterEscape(in *interp, v Value, a args) Value {
	in.bind("escape", a, 0)
	if m, ok := v.(markup); ok {
		return m
	}
	return markup(in.made(escapeHTML(in.str(v))))
}

func filterForceEscape(in *interp, v Value, a args) Value {
	in.bind("forceescape", a, 0)
	return markup(in.made(escapeHTML(in.str(v))))
}

func filterIndent(in *interp, v Value, a args) Value {
	p := in.bind("indent", a, 0, "width", "first", "blank")
	s := in.wantStr(v, "indent input")
	pad, isStr := textOf(p[0])
	if !isStr {
		n := max(in.optInt(p[0], 4, "width"), 0)
		in.checkProduct(n, 1)
		pad = strings.Repeat(" ", int(n))
	}
	lines := in.list(strSplitlines(in, s+"\n", "", args{}))
	in.checkProduct(int64(len(lines)), int64(len(pad)))
	blank := in.optTruth(p[2], false)
	var b strings.Builder
	for i, x := range lines {
		line := x.(string)
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && in.optTruth(p[1], false) || i > 0 && (blank || line != "") {
			b.WriteString(pad)
		}
		b.WriteString(line)
	}
	return like(v, in.made(b.String()))
}

func filterFormat(in *interp, v Value, a args) Value {
	if len(a.pos) > 0 && len(a.kw) > 0 {
		in.fail(KindRuntime, "format: can't handle positional and keyword arguments at the same time")
	}
	if len(a.kw) == 0 {
		return like(v, in.percent(in.str(v), Tuple(a.pos)))
	}
	d := &Dict{}
	for _, kw := range a.kw {
		d.Set(kw.name, kw.val)
	}
	return like(v, in.percent(in.str(v), d))
}

func filterCenter(in *interp, v Value, a args) Value {
	width := in.optInt(in.bind("center", a, 0, "width")[0], 80, "width")
	return like(v, in.justify(in.str(v), width, " ", "center"))
}

func filterTruncate(in *interp, v Value, a args) Value {
	p := in.bind("truncate", a, 0, "length", "killwords", "end", "leeway")
	n, ok := in.length(v)
	if !ok {
		in.typeErr("object of type '%s' has no len()", typeName(v))
	}
	end := in.optStr(p[2], "...", "end")
	length, leeway := in.optInt(p[0], 255, "length"), in.optInt(p[3], 5, "leeway")
	if length < runeLen(end) || leeway < 0 {
		in.fail(KindRuntime, "AssertionError: truncate: expected length >= %d and leeway >= 0", runeLen(end))
	}
	if n <= length+leeway {
		return v
	}
	s := firstRunes(in.wantStr(v, "truncate input"), length-runeLen(end))
	if i := strings.LastIndexByte(s, ' '); i >= 0 && !in.optTruth(p[1], false) {
		s = s[:i]
	}
	return like(v, s+end)
}

func filterWordCount(in *interp, v Value, a args) Value {
	in.bind("wordcount", a, 0)
	n, inside := int64(0), false
	for _, r := range in.scan(v) {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if word && !inside {
			n++
		}
		inside = word
	}
	return n
}

func filterURLEncode(in *interp, v Value, a args) Value {
	in.bind("urlencode", a, 0)
	var pairs []Value
	switch x := v.(type) {
	case *Dict:
		pairs = in.viewItems(&dictView{x, 'i'})
	case string, markup:
		return in.made(quoteURL(in.str(v), false))
	default:
		if !isIterable(v) {
			return in.made(quoteURL(in.str(v), false))
		}
		pairs = in.list(v)
	}
	var parts []string
	for _, pair := range pairs {
		kv := in.list(pair)
		if len(kv) != 2 {
			in.valueErr("urlencode wants pairs, got %d values", len(kv))
		}
		parts = append(parts, quoteURL(in.str(kv[0]), true)+"="+quoteURL(in.str(kv[1]), true))
	}
	return in.made(strings.Join(parts, "&"))
}

func quoteURL(s string, query bool) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c < 0x80 && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))),
			strings.IndexByte("_.-~", c) >= 0, c == '/' && !query:
			b.WriteByte(c)
		case c == ' ' && query:
			b.WriteByte('+')
		default:
			b.WriteString("%" + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
		}
	}
	return b.String()
}

// filterAttr looks up an attribute, never an item.
func filterAttr(in *interp, v Value, a args) Value {
	name := in.wantStr(in.bind("attr", a, 1, "name")[0], "attribute name")
	if x, ok := in.attr(v, name); ok {
		return x
	}
	return in.noItem(v, name)
}

func filterItems(in *interp, v Value, a args) Value {
	in.bind("items", a, 0)
	return in.generator(func() func() (Value, bool) {
		if isUndefined(v) {
			return in.sliceIter(nil)
		}
		d, ok := v.(*Dict)
		if !ok {
			in.typeErr("Can only get item pairs from a mapping.")
		}
		return in.iter(&dictView{d, 'i'})
	})
}

// generator makes an iterator that starts its work at the first item, like a Python generator.
func (in *interp) generator(start func() func() (Value, bool)) *iterator {
	var next func() (Value, bool)
	return &iterator{next: func() (Value, bool) {
		if next == nil {
			next = start()
		}
		return next()
	}}
}
