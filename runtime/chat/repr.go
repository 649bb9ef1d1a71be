package chat

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// maxReprDepth bounds nested containers when printing, comparing and writing JSON.
const maxReprDepth = 900

// str is Python's str(v).
func (in *interp) str(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case markup:
		return string(v)
	case *undefined:
		return ""
	}
	return in.repr(v)
}

// repr is Python's repr(v).
func (in *interp) repr(v Value) string {
	var b strings.Builder
	in.writeRepr(&b, v, 0)
	return b.String()
}

func (in *interp) writeRepr(b *strings.Builder, v Value, depth int) {
	in.step(1)
	if depth > maxReprDepth {
		in.fail(KindLimit, "value nested deeper than %d", maxReprDepth)
	}
	in.checkSize(int64(b.Len()))
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(pyBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		in.work(v.BitLen()) // decimal conversion is slower than linear
		b.WriteString(v.String())
	case float64:
		b.WriteString(floatRepr(v))
	case string:
		b.WriteString(strRepr(v))
	case markup:
		b.WriteString("Markup(" + strRepr(string(v)) + ")")
	case *List:
		b.WriteByte('[')
		in.reprItems(b, v.Items, depth)
		b.WriteByte(']')
	case Tuple:
		b.WriteByte('(')
		in.reprItems(b, v, depth)
		if len(v) == 1 {
			b.WriteByte(',')
		}
		b.WriteByte(')')
	case *Dict:
		in.reprDict(b, v, depth)
	default:
		in.reprOther(b, v, depth)
	}
}

func (in *interp) reprItems(b *strings.Builder, items []Value, depth int) {
	for i, x := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		in.writeRepr(b, x, depth+1)
	}
}

func (in *interp) reprDict(b *strings.Builder, d *Dict, depth int) {
	b.WriteByte('{')
	for i, k := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		in.writeRepr(b, k, depth+1)
		b.WriteString(": ")
		in.writeRepr(b, d.vals[i], depth+1)
	}
	b.WriteByte('}')
}

func (in *interp) reprOther(b *strings.Builder, v Value, depth int) {
	switch v := v.(type) {
	case *groupTuple:
		in.writeRepr(b, v.Tuple, depth)
	case *undefined:
		b.WriteString("Undefined")
	case *namespace:
		b.WriteString("<Namespace ")
		in.reprDict(b, v.attrs, depth+1)
		b.WriteByte('>')
	case *dictView:
		b.WriteString(typeName(v) + "([")
		in.reprItems(b, in.viewItems(v), depth)
		b.WriteString("])")
	case rangeValue:
		fmt.Fprintf(b, "range(%d, %d", v.start, v.stop)
		if v.step != 1 {
			fmt.Fprintf(b, ", %d", v.step)
		}
		b.WriteByte(')')
	case *macro:
		if v.def.name == "" {
			b.WriteString("<Macro anonymous>")
			return
		}
		b.WriteString("<Macro " + strRepr(v.def.name) + ">")
	case *loopContext:
		fmt.Fprintf(b, "<LoopContext %d/%d>", v.index+1, len(v.items))
	case *builtin:
		b.WriteString("<built-in method " + v.name + ">")
	default:
		b.WriteString("<" + typeName(v) + " object>")
	}
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// floatRepr is Python's repr of a float: shortest digits that read back, exponent outside 1e-4..1e16.
func floatRepr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// strRepr is Python's repr of a str: single quotes unless only they occur inside.
func strRepr(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x7f || isPrintable(r):
			b.WriteRune(r)
		default:
			b.WriteString(escapeRune(r))
		}
	}
	b.WriteByte(quote)
	return b.String()
}

func escapeRune(r rune) string {
	switch {
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// isPrintable follows Python's str.isprintable: everything but Other and Separator, and the space.
func isPrintable(r rune) bool {
	if r == ' ' {
		return true
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}
