package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// strMethod is one method of str: s is the text, self the receiver (str or Markup).
type strMethod func(in *interp, s string, self Value, a args) Value

// noBytes stands for methods that make or need bytes or tables, which templates have no use for.
func noBytes(name string) strMethod {
	return func(in *interp, _ string, _ Value, _ args) Value {
		in.fail(KindRuntime, "str.%s is not supported in chat templates", name)
		return nil
	}
}

// plain makes a method without arguments out of a function from text to text.
func plain(name string, f func(string) string) strMethod {
	return func(in *interp, s string, self Value, a args) Value {
		in.bind(name, a, 0)
		return like(self, in.made(f(s)))
	}
}

// check makes a method without arguments out of a test of text.
func check(name string, f func(string) bool) strMethod {
	return func(in *interp, s string, _ Value, a args) Value {
		in.bind(name, a, 0)
		in.work(len(s))
		return f(s)
	}
}

// strip makes strip, lstrip and rstrip.
func strip(name string, left, right bool) strMethod {
	return func(in *interp, s string, self Value, a args) Value {
		p := in.bind(name, a, 0, "chars")
		f := isPySpace
		if p[0] != nil && p[0] != (missing{}) {
			set := in.wantStr(p[0], name+" arg")
			f = func(r rune) bool { return strings.ContainsRune(set, r) }
			in.work(len(s) * (1 + len(set)>>3))
		}
		in.work(len(s))
		if left {
			s = strings.TrimLeftFunc(s, f)
		}
		if right {
			s = strings.TrimRightFunc(s, f)
		}
		return like(self, s)
	}
}

// isPySpace is Python's str.isspace for one character.
func isPySpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// affix makes startswith and endswith.
func affix(name string, f func(s, x string) bool) strMethod {
	return func(in *interp, s string, _ Value, a args) Value {
		p := in.bind(name, a, 1, "prefix", "start", "end")
		sub, inside := in.window(s, p[1], p[2])
		options := []Value{p[0]}
		if t, ok := p[0].(Tuple); ok {
			options = t
		}
		for _, o := range options {
			x := in.wantStr(o, name+" first arg")
			if inside && f(sub, x) {
				return true
			}
		}
		return false
	}
}

// window cuts s to the code points start..end; false where start lies past the end.
func (in *interp) window(s string, start, end Value) (string, bool) {
	if absent(start) && absent(end) {
		return s, true
	}
	n := runeLen(s)
	from, to := in.optInt(start, 0, "start"), in.optInt(end, n, "end")
	if from < 0 {
		from = max(from+n, 0)
	}
	if to < 0 {
		to = max(to+n, 0)
	}
	to = min(to, n)
	if from > to {
		return "", false
	}
	in.work(len(s))
	return string([]rune(s)[from:to]), true
}

func absent(v Value) bool { return v == nil || v == (missing{}) }

// find makes find, rfind, index and rindex.
func find(name string, f func(s, x string) int, strict bool) strMethod {
	return func(in *interp, s string, _ Value, a args) Value {
		p := in.bind(name, a, 1, "sub", "start", "end")
		sub := in.wantStr(p[0], name+" arg")
		w, inside := in.window(s, p[1], p[2])
		in.work(len(s))
		i := -1
		if inside {
			i = f(w, sub)
		}
		if i < 0 {
			if strict {
				in.valueErr("substring not found")
			}
			return int64(-1)
		}
		from := int64(0)
		if !absent(p[1]) {
			if from = in.wantInt(p[1], "start"); from < 0 {
				from = max(from+runeLen(s), 0)
			}
		}
		return from + runeLen(w[:i])
	}
}

func strCount(in *interp, s string, _ Value, a args) Value {
	p := in.bind("count", a, 1, "sub", "start", "end")
	sub := in.wantStr(p[0], "count arg")
	w, inside := in.window(s, p[1], p[2])
	in.work(len(s))
	if !inside {
		return int64(0)
	}
	return int64(strings.Count(w, sub))
}

func strReplace(in *interp, s string, self Value, a args) Value {
	p := in.bind("replace", a, 2, "old", "new", "count")
	from, to := in.wantStr(p[0], "replace argument 1"), in.wantStr(p[1], "replace argument 2")
	return like(self, in.replace(s, from, to, in.optInt(p[2], -1, "count")))
}

func (in *interp) replace(s, from, to string, count int64) string {
	n := int64(strings.Count(s, from))
	if count >= 0 {
		n = min(n, count)
	}
	in.work(len(s))
	in.checkSize(int64(len(s)))
	in.checkProduct(n, int64(len(to)))
	return in.made(strings.Replace(s, from, to, int(n)))
}

func strJoin(in *interp, s string, self Value, a args) Value {
	p := in.bind("join", a, 1, "iterable")
	var b strings.Builder
	next := in.iter(p[0])
	i := 0
	for x, ok := next(); ok; x, ok = next() {
		t, isStr := textOf(x)
		if !isStr {
			in.typeErr("sequence item %d: expected str instance, %s found", i, typeName(x))
		}
		if i > 0 {
			b.WriteString(s)
		}
		b.WriteString(t)
		in.checkSize(int64(b.Len()))
		i++
	}
	return like(self, in.made(b.String()))
}

func strPartition(name string, last bool) strMethod {
	return func(in *interp, s string, self Value, a args) Value {
		sep := in.wantStr(in.bind(name, a, 1, "sep")[0], "partition arg")
		if sep == "" {
			in.valueErr("empty separator")
		}
		in.work(len(s))
		i := strings.Index(s, sep)
		if last {
			i = strings.LastIndex(s, sep)
		}
		if i < 0 {
			if last {
				return Tuple{"", "", s}
			}
			return Tuple{s, "", ""}
		}
		return Tuple{s[:i], sep, s[i+len(sep):]}
	}
}

// pad makes center, ljust and rjust.
func pad(name string) strMethod {
	return func(in *interp, s string, self Value, a args) Value {
		p := in.bind(name, a, 1, "width", "fillchar")
		fill := in.optStr(p[1], " ", "fill character")
		if utf8.RuneCountInString(fill) != 1 {
			in.typeErr("the fill character must be exactly one character long")
		}
		width := in.wantInt(p[0], "width")
		return like(self, in.justify(s, width, fill, name))
	}
}

func (in *interp) justify(s string, width int64, fill, how string) string {
	n := width - runeLen(s)
	if n <= 0 {
		return s
	}
	in.checkProduct(n, int64(len(fill)))
	left := int64(0)
	switch how {
	case "rjust":
		left = n
	case "center":
		left = n/2 + n&width&1
	}
	return in.made(strings.Repeat(fill, int(left)) + s + strings.Repeat(fill, int(n-left)))
}

func strZfill(in *interp, s string, self Value, a args) Value {
	width := in.wantInt(in.bind("zfill", a, 1, "width")[0], "width")
	n := width - runeLen(s)
	if n <= 0 {
		return s
	}
	in.checkProduct(n, 1)
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	return like(self, in.made(sign+strings.Repeat("0", int(n))+s))
}

func strAffixCut(name string, f func(s, x string) string) strMethod {
	return func(in *interp, s string, self Value, a args) Value {
		return like(self, f(s, in.wantStr(in.bind(name, a, 1, "affix")[0], name+" argument")))
	}
}

func strExpandtabs(in *interp, s string, self Value, a args) Value {
	size := in.optInt(in.bind("expandtabs", a, 0, "tabsize")[0], 8, "tabsize")
	in.checkProduct(int64(strings.Count(s, "\t")), max(size, 0))
	var b strings.Builder
	col := int64(0)
	for _, r := range s {
		switch {
		case r == '\t' && size > 0:
			n := size - col%size
			b.WriteString(strings.Repeat(" ", int(n)))
			col += n
		case r == '\t':
		case r == '\n' || r == '\r':
			b.WriteRune(r)
			col = 0
		default:
			b.WriteRune(r)
			col++
		}
	}
	return like(self, in.made(b.String()))
}
