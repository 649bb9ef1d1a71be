package chat

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// interp is the state of one Render.
type interp struct {
	tmpl  *Template
	lim   Limits
	ctx   map[string]Value // what the caller passed, over the globals
	now   time.Time
	out   *strings.Builder // where statements write now
	root  *strings.Builder // the final text
	spans []genSpan
	pos   int // place in the source of the operation under way
	depth int // calls
	nest  int // expressions
	steps int64
	bytes int64
}

// genSpan is one run of a generation block: where the text was expected to go, and the text.
type genSpan struct {
	start int
	text  string
}

// fail ends the render with an error at the current place.
func (in *interp) fail(kind Kind, format string, a ...any) {
	panic(bail{kind: kind, msg: fmt.Sprintf(format, a...), pos: in.pos})
}

func (in *interp) typeErr(format string, a ...any) {
	in.fail(KindRuntime, "TypeError: "+format, a...)
}

func (in *interp) valueErr(format string, a ...any) {
	in.fail(KindRuntime, "ValueError: "+format, a...)
}

// undefFail fails if v is undefined; any operation but printing, testing and walking is an error.
func (in *interp) undefFail(v Value) {
	if u, ok := v.(*undefined); ok {
		in.fail(u.kind, "%s", u.msg)
	}
}

// step counts work of constant size.
func (in *interp) step(n int64) {
	in.steps += n
	if in.steps > in.lim.MaxSteps {
		in.fail(KindLimit, "more than %d steps; the template loops too much", in.lim.MaxSteps)
	}
}

// work counts the scanning of n bytes.
func (in *interp) work(n int) { in.step(int64(n) >> 4) }

// scan is str(v), counted as text that is looked through.
func (in *interp) scan(v Value) string {
	s := in.str(v)
	in.work(len(s))
	return s
}

// alloc counts memory made by the template.
func (in *interp) alloc(n int64) {
	in.bytes += n
	if in.bytes > in.lim.MaxBytes {
		in.fail(KindLimit, "more than %d bytes of values made", in.lim.MaxBytes)
	}
}

// made counts a fresh string and returns it.
func (in *interp) made(s string) string {
	in.checkSize(int64(len(s)))
	in.alloc(int64(len(s)))
	in.work(len(s))
	return s
}

// checkSize fails for a string or list that would be too large.
func (in *interp) checkSize(n int64) {
	if n > in.lim.MaxOutput {
		in.fail(KindLimit, "text of %d bytes or more; the limit is %d", n, in.lim.MaxOutput)
	}
}

// checkProduct is checkSize for n*m without overflow.
func (in *interp) checkProduct(n, m int64) {
	if m > 0 && n > in.lim.MaxOutput/m {
		in.fail(KindLimit, "%d repetitions of %d bytes; the limit is %d", n, m, in.lim.MaxOutput)
	}
	in.alloc(n * m)
}

func (in *interp) newList(items []Value) *List {
	in.checkSize(int64(len(items)))
	in.alloc(int64(len(items)) * 16)
	in.work(len(items))
	return &List{Items: items}
}

// write appends to the current output.
func (in *interp) write(s string) {
	in.checkSize(int64(in.out.Len() + len(s)))
	in.alloc(int64(len(s)))
	in.out.WriteString(s)
}

// capture runs body with its output collected.
func (in *interp) capture(body func()) string {
	saved := in.out
	var b strings.Builder
	in.out = &b
	body()
	in.out = saved
	return b.String()
}

// enter counts one level of calls; the result undoes it.
func (in *interp) enter() func() {
	in.depth++
	if in.depth > in.lim.MaxDepth {
		in.fail(KindLimit, "calls nested deeper than %d (RecursionError)", in.lim.MaxDepth)
	}
	return func() { in.depth-- }
}

// iter walks v as Python's iter(v) does.
func (in *interp) iter(v Value) func() (Value, bool) {
	switch v := v.(type) {
	case *iterator:
		return func() (Value, bool) {
			in.step(1)
			return v.next()
		}
	case string, markup:
		s, _ := textOf(v)
		return func() (Value, bool) {
			if s == "" {
				return nil, false
			}
			in.step(1)
			_, n := utf8.DecodeRuneInString(s)
			c := s[:n]
			s = s[n:]
			return c, true
		}
	case rangeValue:
		i := int64(0)
		return func() (Value, bool) {
			in.step(1)
			i++
			return v.at(i - 1), i <= v.n
		}
	}
	return in.sliceIter(in.items(v))
}

func (in *interp) sliceIter(items []Value) func() (Value, bool) {
	i := 0
	return func() (Value, bool) {
		if i >= len(items) {
			return nil, false
		}
		in.step(1)
		i++
		return items[i-1], true
	}
}

// items gives the elements of containers that are held in memory; other values are not iterable.
func (in *interp) items(v Value) []Value {
	switch v := v.(type) {
	case *List:
		return v.Items
	case Tuple:
		return v
	case *groupTuple:
		return v.Tuple
	case *Dict:
		return v.keys
	case *dictView:
		return in.viewItems(v)
	case *loopContext:
		var rest []Value
		for range v.items[min(v.index+1, len(v.items)):] {
			v.index++
			rest = append(rest, Tuple{v.items[v.index], v})
		}
		return rest
	case *undefined:
		if v.kind != KindSecurity {
			return nil
		}
		in.undefFail(v)
	}
	in.typeErr("'%s' object is not iterable", typeName(v))
	return nil
}

// list is Python's list(v) as a fresh or shared slice; callers must not write to it.
func (in *interp) list(v Value) []Value {
	switch v.(type) {
	case string, markup, rangeValue, *iterator:
		var out []Value
		next := in.iter(v)
		for x, ok := next(); ok; x, ok = next() {
			out = append(out, x)
		}
		in.alloc(int64(len(out)) * 16)
		return out
	}
	return in.items(v)
}

func (in *interp) viewItems(v *dictView) []Value {
	switch v.what {
	case 'k':
		return v.dict.keys
	case 'v':
		return v.dict.vals
	}
	in.alloc(int64(v.dict.Len()) * 48)
	out := make([]Value, v.dict.Len())
	for i, k := range v.dict.keys {
		out[i] = Tuple{k, v.dict.vals[i]}
	}
	return out
}

// length is Python's len(v); false where v has none.
func (in *interp) length(v Value) (int64, bool) {
	switch v := v.(type) {
	case string:
		in.work(len(v))
		return runeLen(v), true
	case markup:
		in.work(len(v))
		return runeLen(string(v)), true
	case *List:
		return int64(len(v.Items)), true
	case Tuple:
		return int64(len(v)), true
	case *groupTuple:
		return 2, true
	case *Dict:
		return int64(v.Len()), true
	case *dictView:
		return int64(v.dict.Len()), true
	case rangeValue:
		return v.n, true
	case *loopContext:
		return int64(len(v.items)), true
	case *undefined:
		return 0, true
	}
	return 0, false
}

// bind spreads call arguments over named parameters; absent ones are missing{}. The first required
// parameters must be there.
func (in *interp) bind(fn string, a args, required int, params ...string) []Value {
	out := make([]Value, len(params))
	for i := range out {
		out[i] = missing{}
	}
	if len(a.pos) > len(params) {
		in.typeErr("%s() takes at most %d argument(s), got %d", fn, len(params), len(a.pos))
	}
	copy(out, a.pos)
	for _, kw := range a.kw {
		i := indexOf(params, kw.name)
		if i < 0 {
			in.typeErr("%s() got an unexpected keyword argument '%s'", fn, kw.name)
		}
		if out[i] != (missing{}) {
			in.typeErr("%s() got multiple values for argument '%s'", fn, kw.name)
		}
		out[i] = kw.val
	}
	for i := range required {
		if out[i] == (missing{}) {
			in.typeErr("%s() missing required argument '%s'", fn, params[i])
		}
	}
	return out
}

func indexOf(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}

func (in *interp) optTruth(v Value, def bool) bool {
	if v == (missing{}) {
		return def
	}
	return in.truth(v)
}

func (in *interp) optStr(v Value, def, what string) string {
	if v == (missing{}) {
		return def
	}
	return in.wantStr(v, what)
}

func (in *interp) optInt(v Value, def int64, what string) int64 {
	if v == (missing{}) || v == nil {
		return def
	}
	return in.wantInt(v, what)
}

func (in *interp) wantStr(v Value, what string) string {
	s, ok := textOf(v)
	if !ok {
		in.undefFail(v)
		in.typeErr("%s must be str, not %s", what, typeName(v))
	}
	return s
}

func (in *interp) wantInt(v Value, what string) int64 {
	n, ok := in.asInt(v)
	if !ok {
		in.undefFail(v)
		in.typeErr("%s must be int, not %s", what, typeName(v))
	}
	return n
}

// asInt gives an int or bool of 64 bits.
func (in *interp) asInt(v Value) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
