package chat

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatValue is Python's format(v, spec).
func (in *interp) formatValue(v Value, text string) string {
	if text == "" {
		return in.str(v)
	}
	sp := in.parseSpec(text)
	in.checkSize(sp.width)
	in.checkSize(sp.prec)
	if s, ok := textOf(v); ok {
		return in.specString(s, sp)
	}
	switch x := v.(type) {
	case float64:
		return in.specFloat(x, sp)
	case int64, *big.Int, bool:
		n, _ := numOf(x)
		if sp.verb != 0 && strings.IndexByte("eEfFgG%", sp.verb) >= 0 {
			return in.specFloat(in.toFloat(n), sp)
		}
		return in.specInt(toBig(n), sp)
	}
	in.undefFail(v)
	in.typeErr("unsupported format string passed to %s.__format__", typeName(v))
	return ""
}

// parseSpec reads [[fill]align][sign][#][0][width][,_][.precision][type].
func (in *interp) parseSpec(s string) spec {
	sp := spec{prec: -1, fill: " "}
	_, n := utf8.DecodeRuneInString(s)
	if n < len(s) && strings.IndexByte("<>^=", s[n]) >= 0 {
		sp.fill, sp.align, s = s[:n], s[n], s[n+1:]
	} else if strings.IndexByte("<>^=", s[0]) >= 0 {
		sp.align, s = s[0], s[1:]
	}
	flag := func(chars string) byte {
		if s != "" && strings.IndexByte(chars, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	switch flag("+- ") {
	case '+':
		sp.plus = true
	case ' ':
		sp.space = true
	}
	sp.alt = flag("#") != 0
	if flag("0") != 0 && sp.align == 0 {
		sp.zero, sp.fill, sp.align = true, "0", '='
	}
	s, sp.width = digits(s, 0)
	sp.sep = flag(",_")
	if flag(".") != 0 {
		before := s
		if s, sp.prec = digits(s, 0); s == before {
			in.valueErr("Format specifier missing precision")
		}
	}
	sp.verb = flag("bcdeEfFgGnosxX%")
	if s != "" {
		in.valueErr("Invalid format specifier")
	}
	return sp
}

func digits(s string, n int64) (string, int64) {
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		n = min(n*10+int64(s[0]-'0'), 1<<40)
		s = s[1:]
	}
	return s, n
}

func (in *interp) specString(s string, sp spec) string {
	if sp.verb != 0 && sp.verb != 's' {
		in.valueErr("Unknown format code '%c' for object of type 'str'", sp.verb)
	}
	if sp.align == '=' && !sp.zero {
		in.valueErr("'=' alignment not allowed in string format specifier")
	}
	if sp.align == '=' || sp.align == 0 {
		sp.align = '<'
	}
	if sp.prec >= 0 {
		s = firstRunes(s, sp.prec)
	}
	return in.align(s, "", sp)
}

func (in *interp) specInt(n *big.Int, sp spec) string {
	if sp.prec >= 0 {
		in.valueErr("Precision not allowed in integer format specifier")
	}
	base := map[byte]int{0: 10, 'd': 10, 'n': 10, 'x': 16, 'X': 16, 'o': 8, 'b': 2}[sp.verb]
	if sp.verb == 'c' {
		return in.align(in.percentChar(normInt(n)), "", sp)
	}
	if base == 0 {
		in.valueErr("Unknown format code '%c' for object of type 'int'", sp.verb)
	}
	text := new(big.Int).Abs(n).Text(base)
	if sp.verb == 'X' {
		text = strings.ToUpper(text)
	}
	group := 3
	if base != 10 {
		group = 4
	}
	prefix := sp.sign(n.Sign() < 0)
	if sp.alt && base != 10 {
		prefix += "0" + string(sp.verb)
	}
	return in.alignNumber(prefix, text, "", group, sp)
}

func (in *interp) specFloat(f float64, sp spec) string {
	a := math.Abs(f)
	prec := int(sp.prec)
	if prec < 0 {
		prec = 6
	}
	var text string
	switch verb := sp.verb | 0x20; {
	case math.IsNaN(f):
		text = "nan"
	case math.IsInf(f, 0):
		text = "inf"
	case sp.verb == 0 && sp.prec < 0:
		text = floatRepr(a)
	case sp.verb == 0:
		text = generalFloat(a, max(prec, 1))
	case sp.verb == '%':
		text = strconv.FormatFloat(a*100, 'f', prec, 64) + "%"
	case verb == 'g' || verb == 'n':
		text = formatG(a, max(prec, 1), sp.alt)
	case verb == 'e' || verb == 'f':
		text = strconv.FormatFloat(a, verb, prec, 64)
	default:
		in.valueErr("Unknown format code '%c' for object of type 'float'", sp.verb)
	}
	if sp.verb >= 'A' && sp.verb <= 'Z' {
		text = strings.ToUpper(text)
	}
	whole, tail := text, ""
	if i := strings.IndexAny(text, ".e%"); i >= 0 {
		whole, tail = text[:i], text[i:]
	}
	return in.alignNumber(sp.sign(math.Signbit(f) && !math.IsNaN(f)), whole, tail, 3, sp)
}

// generalFloat is the format without a type: like g, but with at least one digit after the point.
func generalFloat(f float64, prec int) string {
	s := formatG(f, prec, false)
	if strings.ContainsAny(s, ".e") {
		return s
	}
	if runeLen(s) >= int64(prec) && s != "0" {
		return formatE(f, prec)
	}
	return s + ".0"
}

func formatE(f float64, prec int) string {
	mant, tail, _ := strings.Cut(strconv.FormatFloat(f, 'e', prec-1, 64), "e")
	if strings.Contains(mant, ".") {
		mant = strings.TrimRight(strings.TrimRight(mant, "0"), ".")
	}
	return mant + "e" + tail
}

// alignNumber groups thousands, fills zeros inside where "=" asks, and aligns.
func (in *interp) alignNumber(prefix, whole, tail string, group int, sp spec) string {
	if sp.align == 0 {
		sp.align = '>'
	}
	if sp.sep != 0 {
		if zeros := 0; sp.zero {
			room := sp.width - int64(len(prefix)+len(tail))
			in.checkSize(room)
			for n := int64(len(whole)); n+(n-1)/int64(group) < room; n++ {
				zeros++
			}
			whole = strings.Repeat("0", zeros) + whole
		}
		whole = grouped(whole, group, sp.sep)
	}
	return in.align(whole+tail, prefix, sp)
}

func grouped(s string, n int, sep byte) string {
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%n == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (in *interp) align(s, prefix string, sp spec) string {
	n := sp.width - runeLen(s) - runeLen(prefix)
	if n <= 0 {
		return prefix + s
	}
	in.checkProduct(n, int64(len(sp.fill)))
	fill := func(k int64) string { return strings.Repeat(sp.fill, int(k)) }
	switch sp.align {
	case '<':
		return prefix + s + fill(n)
	case '^':
		return fill(n/2) + prefix + s + fill(n-n/2)
	case '=':
		return prefix + fill(n) + s
	}
	return fill(n) + prefix + s
}
