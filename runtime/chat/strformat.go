package chat

import (
	"strconv"
	"strings"
)

// strFormat is str.format.
func strFormat(in *interp, s string, self Value, a args) Value {
	f := &braceFormat{in: in, args: a, auto: 0}
	return like(self, in.made(f.format(s, 0)))
}

func strFormatMap(in *interp, s string, self Value, a args) Value {
	p := in.bind("format_map", a, 1, "mapping")
	d, ok := p[0].(*Dict)
	if !ok {
		in.typeErr("format_map() wants a mapping, not %s", typeName(p[0]))
	}
	var named args
	in.spread(&named, d)
	f := &braceFormat{in: in, args: named}
	return like(self, in.made(f.format(s, 0)))
}

// braceFormat is one run of str.format. auto counts {} fields; -1 once {0} was used.
type braceFormat struct {
	in   *interp
	args args
	auto int
}

// format replaces the fields of s; depth counts format specs around s.
func (f *braceFormat) format(s string, depth int) string {
	if depth > 2 {
		f.in.valueErr("Max string recursion exceeded")
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '{' && i+1 < len(s) && s[i+1] == '{', c == '}' && i+1 < len(s) && s[i+1] == '}':
			b.WriteByte(c)
			i += 2
		case c == '}':
			f.in.valueErr("Single '}' encountered in format string")
		case c == '{':
			end := f.fieldEnd(s, i+1)
			b.WriteString(f.field(s[i+1:end], depth))
			f.in.checkSize(int64(b.Len()))
			i = end + 1
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

func (f *braceFormat) fieldEnd(s string, i int) int {
	level := 1
	for ; i < len(s); i++ {
		switch s[i] {
		case '{':
			level++
		case '}':
			if level--; level == 0 {
				return i
			}
		}
	}
	f.in.valueErr("expected '}' before end of string")
	return 0
}

func (f *braceFormat) field(s string, depth int) string {
	in := f.in
	name, fspec := s, ""
	conv := byte(0)
	if i := fieldNameEnd(s); i < len(s) {
		name = s[:i]
		if s[i] == '!' {
			if i+1 >= len(s) || i+2 < len(s) && s[i+2] != ':' {
				in.valueErr("expected ':' after conversion specifier")
			}
			conv = s[i+1]
			i += 2
		}
		if i < len(s) {
			fspec = s[i+1:]
		}
	}
	v := f.lookup(name)
	switch conv {
	case 0:
	case 's':
		v = in.str(v)
	case 'r':
		v = in.repr(v)
	case 'a':
		v = asciiEscape(in.repr(v))
	default:
		in.valueErr("Unknown conversion specifier %c", conv)
	}
	return in.formatValue(v, f.format(fspec, depth+1))
}

// fieldNameEnd finds the "!" or ":" that ends a field's name, outside brackets.
func fieldNameEnd(s string) int {
	inside := false
	for i := range len(s) {
		switch {
		case s[i] == '[':
			inside = true
		case s[i] == ']':
			inside = false
		case !inside && (s[i] == '!' || s[i] == ':'):
			return i
		}
	}
	return len(s)
}

// lookup resolves name, 0, a.b or a[c].
func (f *braceFormat) lookup(name string) Value {
	first := name
	if i := strings.IndexAny(name, ".["); i >= 0 {
		first = name[:i]
	}
	if first == "" && name != "" {
		f.in.fail(KindRuntime, "KeyError: '' (a field of str.format starts with %q)", name[:1])
	}
	v := f.first(first)
	rest := name[len(first):]
	for rest != "" {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				f.in.valueErr("Empty attribute in format string")
			}
			v = f.in.getattr(v, rest[1:end+1])
			rest = rest[end+1:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			f.in.valueErr("Missing ']' in format string")
		}
		key := rest[1:end]
		if n, err := strconv.ParseInt(key, 10, 64); err == nil {
			v = f.in.getitem(v, n)
		} else {
			v = f.in.getitem(v, key)
		}
		rest = rest[end+1:]
	}
	return v
}

func (f *braceFormat) first(name string) Value {
	n, err := strconv.Atoi(name)
	switch {
	case name == "":
		if f.auto < 0 {
			f.in.valueErr("cannot switch from manual field specification to automatic field numbering")
		}
		n = f.auto
		f.auto++
	case err == nil && n >= 0:
		if f.auto > 0 {
			f.in.valueErr("cannot switch from automatic field numbering to manual field specification")
		}
		f.auto = -1
	default:
		for _, kw := range f.args.kw {
			if kw.name == name {
				return kw.val
			}
		}
		f.in.fail(KindRuntime, "KeyError: %s", strRepr(name))
	}
	if n >= len(f.args.pos) {
		f.in.fail(KindRuntime, "IndexError: Replacement index %d out of range for positional args tuple", n)
	}
	return f.args.pos[n]
}
