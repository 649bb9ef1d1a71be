package chat

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
)

// jsonStyle holds the arguments of json.dumps that templates use.
type jsonStyle struct {
	ascii, sortKeys bool
	pretty          bool
	indent          string
	item, key       string
}

// filterToJSON is transformers' tojson: json.dumps with ensure_ascii off by default.
func filterToJSON(in *interp, v Value, a args) Value {
	p := in.bind("tojson", a, 0, "ensure_ascii", "indent", "separators", "sort_keys")
	st := jsonStyle{ascii: in.optTruth(p[0], false), sortKeys: in.optTruth(p[3], false), item: ", ", key: ": "}
	switch x := p[1].(type) {
	case nil, missing:
	case string:
		st.pretty, st.indent = true, x
	case int64, bool:
		n, _ := in.asInt(x)
		in.checkSize(n)
		st.pretty, st.indent = true, strings.Repeat(" ", int(max(n, 0)))
	default:
		in.typeErr("tojson: indent must be an int or a str, not %s", typeName(x))
	}
	if st.pretty {
		st.item = ","
	}
	if p[2] != nil && p[2] != (missing{}) {
		seps := in.list(p[2])
		if len(seps) != 2 {
			in.fail(KindRuntime, "ValueError: tojson: separators wants 2 strings, got %d", len(seps))
		}
		st.item, st.key = in.wantStr(seps[0], "separators"), in.wantStr(seps[1], "separators")
	}
	var b strings.Builder
	in.writeJSON(&b, v, st, 0)
	return in.made(b.String())
}

func (in *interp) writeJSON(b *strings.Builder, v Value, st jsonStyle, depth int) {
	in.step(1)
	in.checkSize(int64(b.Len()))
	if depth > maxReprDepth {
		in.fail(KindLimit, "tojson: value nested deeper than %d", maxReprDepth)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64, *big.Int:
		b.WriteString(in.repr(v))
	case float64:
		b.WriteString(jsonFloat(v))
	case string:
		writeJSONString(b, v, st.ascii)
	case markup:
		writeJSONString(b, string(v), st.ascii)
	case *List:
		in.jsonList(b, v.Items, st, depth)
	case Tuple:
		in.jsonList(b, v, st, depth)
	case *groupTuple:
		in.jsonList(b, v.Tuple, st, depth)
	case *Dict:
		in.jsonDict(b, v, st, depth)
	default:
		in.typeErr("Object of type %s is not JSON serializable", typeName(v))
	}
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return floatRepr(f)
}

func (st jsonStyle) newline(b *strings.Builder, depth int) {
	if st.pretty {
		b.WriteByte('\n')
		for range depth {
			b.WriteString(st.indent)
		}
	}
}

func (in *interp) jsonList(b *strings.Builder, items []Value, st jsonStyle, depth int) {
	if len(items) == 0 {
		b.WriteString("[]")
		return
	}
	b.WriteByte('[')
	for i, x := range items {
		if i > 0 {
			b.WriteString(st.item)
		}
		in.checkSize(int64(b.Len() + len(st.indent)*depth))
		st.newline(b, depth+1)
		in.writeJSON(b, x, st, depth+1)
	}
	st.newline(b, depth)
	b.WriteByte(']')
}

func (in *interp) jsonDict(b *strings.Builder, d *Dict, st jsonStyle, depth int) {
	if d.Len() == 0 {
		b.WriteString("{}")
		return
	}
	order := make([]int, d.Len())
	for i := range order {
		order[i] = i
	}
	if st.sortKeys {
		sort.SliceStable(order, func(i, j int) bool { return in.less(d.keys[order[i]], d.keys[order[j]]) })
	}
	b.WriteByte('{')
	for n, i := range order {
		if n > 0 {
			b.WriteString(st.item)
		}
		in.checkSize(int64(b.Len() + len(st.indent)*depth))
		st.newline(b, depth+1)
		writeJSONString(b, in.jsonKey(d.keys[i]), st.ascii)
		b.WriteString(st.key)
		in.writeJSON(b, d.vals[i], st, depth+1)
	}
	st.newline(b, depth)
	b.WriteByte('}')
}

func (in *interp) jsonKey(k Value) string {
	switch k := k.(type) {
	case string:
		return k
	case markup:
		return string(k)
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(k)
	case float64:
		return jsonFloat(k)
	case int64, *big.Int:
		return in.repr(k)
	}
	in.typeErr("keys must be str, int, float, bool or None, not %s", typeName(k))
	return ""
}

var jsonShort = map[rune]string{
	'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`,
}

func writeJSONString(b *strings.Builder, s string, ascii bool) {
	b.WriteByte('"')
	for _, r := range s {
		switch short, ok := jsonShort[r]; {
		case ok:
			b.WriteString(short)
		case r < ' ' || ascii && r > 0x7e && r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		case ascii && r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
