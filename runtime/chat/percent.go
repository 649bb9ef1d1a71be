package chat

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// spec is a conversion of % formatting or of str.format.
type spec struct {
	minus, plus, space, alt, zero bool
	fill                          string // str.format only
	align                         byte   // '<', '>', '^', '=' or 0
	sep                           byte   // ',' or '_' between thousands, or 0
	width                         int64
	prec                          int64 // -1: none
	verb                          byte
}

// percent is Python's s % arg.
func (in *interp) percent(s string, arg Value) string {
	f := &percentFormat{in: in, s: s, arg: arg, args: []Value{arg}}
	if t, ok := arg.(Tuple); ok {
		f.args = t
	}
	f.dict, _ = arg.(*Dict)
	var b strings.Builder
	for f.i < len(f.s) {
		j := strings.IndexByte(f.s[f.i:], '%')
		if j < 0 {
			b.WriteString(f.s[f.i:])
			break
		}
		b.WriteString(f.s[f.i : f.i+j])
		f.i += j + 1
		b.WriteString(f.conversion())
		in.checkSize(int64(b.Len()))
	}
	subscriptable := false // such an argument may go unused, as a mapping may
	switch arg.(type) {
	case *List, *Dict, rangeValue, *undefined:
		subscriptable = true
	}
	if f.used < len(f.args) && !f.named && !subscriptable {
		in.typeErr("not all arguments converted during string formatting")
	}
	return in.made(b.String())
}

type percentFormat struct {
	in    *interp
	s     string
	i     int
	arg   Value
	args  []Value
	used  int
	dict  *Dict
	named bool
	key   *string
}

func (f *percentFormat) peek() byte {
	if f.i >= len(f.s) {
		f.in.valueErr("incomplete format")
	}
	return f.s[f.i]
}

func (f *percentFormat) take() Value {
	if f.key != nil {
		v, ok := f.dict.Get(*f.key)
		if !ok {
			f.in.fail(KindRuntime, "KeyError: %s", strRepr(*f.key))
		}
		return v
	}
	if f.used >= len(f.args) {
		f.in.typeErr("not enough arguments for format string")
	}
	f.used++
	return f.args[f.used-1]
}

func (f *percentFormat) conversion() string {
	f.key = nil
	if f.peek() == '%' {
		f.i++
		return "%"
	}
	if f.peek() == '(' {
		end := strings.IndexByte(f.s[f.i:], ')')
		if end < 0 {
			f.in.valueErr("incomplete format key")
		}
		if f.dict == nil {
			f.in.typeErr("format requires a mapping")
		}
		key := f.s[f.i+1 : f.i+end]
		f.key, f.named = &key, true
		f.i += end + 1
	}
	sp := spec{prec: -1}
	f.flags(&sp)
	sp.width = f.number(&sp.minus)
	if f.peek() == '.' {
		f.i++
		var neg bool
		sp.prec = f.number(&neg)
		if neg {
			sp.prec = 0
		}
	}
	for strings.IndexByte("hlL", f.peek()) >= 0 {
		f.i++
	}
	sp.verb = f.peek()
	f.i++
	f.in.checkSize(sp.width)
	f.in.checkSize(sp.prec)
	return f.convert(sp)
}

func (f *percentFormat) flags(sp *spec) {
	for {
		switch f.peek() {
		case '-':
			sp.minus = true
		case '+':
			sp.plus = true
		case ' ':
			sp.space = true
		case '#':
			sp.alt = true
		case '0':
			sp.zero = true
		default:
			return
		}
		f.i++
	}
}

// number reads digits or "*".
func (f *percentFormat) number(neg *bool) int64 {
	if f.peek() == '*' {
		f.i++
		n := f.in.wantInt(f.take(), "* width or precision")
		if n < 0 {
			*neg = true
			n = -max(n, -1<<40)
		}
		return n
	}
	n := int64(0)
	for f.peek() >= '0' && f.peek() <= '9' {
		n = min(n*10+int64(f.peek()-'0'), 1<<40)
		f.i++
	}
	return n
}

func (f *percentFormat) convert(sp spec) string {
	in := f.in
	v := f.take()
	switch sp.verb {
	case 's', 'r', 'a':
		s := in.str(v)
		if sp.verb != 's' {
			s = in.repr(v)
		}
		if sp.verb == 'a' {
			s = asciiEscape(s)
		}
		if sp.prec >= 0 {
			s = firstRunes(s, sp.prec)
		}
		return in.padSpec(s, sp)
	case 'c':
		return in.padSpec(in.percentChar(v), sp)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return in.formatInt(in.percentInt(v, sp.verb), sp)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		x, ok := numOf(v)
		if !ok {
			in.undefFail(v)
			in.typeErr("must be real number, not %s", typeName(v))
		}
		return in.formatFloat(in.toFloat(x), sp)
	}
	in.valueErr("unsupported format character '%c'", sp.verb)
	return ""
}

func (in *interp) percentChar(v Value) string {
	if s, ok := textOf(v); ok && runeLen(s) == 1 {
		return s
	}
	n, ok := in.asInt(v)
	if !ok {
		in.typeErr("%%c requires int or char")
	}
	if n < 0 || n > 0x10ffff || n >= 0xd800 && n <= 0xdfff {
		in.fail(KindRuntime, "OverflowError: %%c arg not a character")
	}
	return string(rune(n))
}

func (in *interp) percentInt(v Value, verb byte) *big.Int {
	x, ok := numOf(v)
	f, isFloat := x.(float64)
	if !ok || isFloat && strings.IndexByte("xXo", verb) >= 0 {
		in.undefFail(v)
		in.typeErr("%%%c format: a real number is required, not %s", verb, typeName(v))
	}
	if !isFloat {
		return toBig(x)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		in.valueErr("cannot convert float %s to integer", floatRepr(f))
	}
	n, _ := big.NewFloat(f).Int(nil)
	return n
}

func firstRunes(s string, n int64) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func asciiEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			b.WriteString(escapeRune(r))
		}
	}
	return b.String()
}

// sign gives the sign text of a number.
func (sp spec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case sp.plus:
		return "+"
	case sp.space:
		return " "
	}
	return ""
}

func (in *interp) formatInt(n *big.Int, sp spec) string {
	base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'b': 2}[sp.verb]
	if base == 0 {
		base = 10
	}
	digits := new(big.Int).Abs(n).Text(base)
	if sp.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if d := sp.prec - int64(len(digits)); d > 0 {
		digits = strings.Repeat("0", int(d)) + digits
	}
	prefix := sp.sign(n.Sign() < 0)
	if sp.alt && base != 10 {
		prefix += "0" + string(sp.verb)
	}
	return in.padNumber(prefix, digits, sp)
}

func (in *interp) formatFloat(f float64, sp spec) string {
	prec := int(sp.prec)
	if prec < 0 {
		prec = 6
	}
	verb := sp.verb | 0x20
	digits := ""
	switch {
	case math.IsNaN(f):
		digits, sp.zero = "nan", false
	case math.IsInf(f, 0):
		digits, sp.zero = "inf", false
	case verb == 'g':
		digits = formatG(math.Abs(f), max(prec, 1), sp.alt)
	default:
		digits = strconv.FormatFloat(math.Abs(f), verb, prec, 64)
	}
	if sp.verb < 'a' {
		digits = strings.ToUpper(digits)
	}
	return in.padNumber(sp.sign(math.Signbit(f) && !math.IsNaN(f)), digits, sp)
}

// formatG is C's %g: prec significant digits, trailing zeros dropped unless alt.
func formatG(f float64, prec int, alt bool) string {
	e := strconv.FormatFloat(f, 'e', prec-1, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if exp < -4 || exp >= prec {
		mant, tail, _ := strings.Cut(e, "e")
		if !alt && strings.Contains(mant, ".") {
			mant = strings.TrimRight(strings.TrimRight(mant, "0"), ".")
		}
		return mant + "e" + tail
	}
	s := strconv.FormatFloat(f, 'f', prec-1-exp, 64)
	if !alt && strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// padNumber puts zeros between sign and digits where asked, then pads to the width.
func (in *interp) padNumber(prefix, digits string, sp spec) string {
	if n := sp.width - runeLen(prefix) - runeLen(digits); sp.zero && !sp.minus && n > 0 {
		in.checkProduct(n, 1)
		digits = strings.Repeat("0", int(n)) + digits
	}
	return in.padSpec(prefix+digits, sp)
}

func (in *interp) padSpec(s string, sp spec) string {
	if sp.minus {
		return in.justify(s, sp.width, " ", "ljust")
	}
	return in.justify(s, sp.width, " ", "rjust")
}
