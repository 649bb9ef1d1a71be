package chat

import (
	"strings"
	"unicode/utf8"
)

// getattr is obj.name: a method or attribute first, then an item.
func (in *interp) getattr(obj Value, name string) Value {
	if v, ok := in.attr(obj, name); ok {
		return v
	}
	if v, ok := in.item(obj, name); ok {
		return v
	}
	return in.noItem(obj, name)
}

// getitem is obj[key]: an item first, then, for a string key, a method or attribute.
func (in *interp) getitem(obj, key Value) Value {
	if v, ok := in.item(obj, key); ok {
		return v
	}
	if name, ok := textOf(key); ok {
		if v, ok := in.attr(obj, name); ok {
			return v
		}
	}
	return in.noItem(obj, key)
}

// noItem is the undefined value for a lookup that found nothing.
func (in *interp) noItem(obj, key Value) Value {
	in.undefFail(obj)
	what := typeName(obj) + " object"
	if obj == nil {
		what = "None"
	}
	if name, ok := key.(string); ok {
		return &undefined{"'" + what + "' has no attribute '" + name + "'", KindUndefined}
	}
	return &undefined{what + " has no element " + in.repr(key), KindUndefined}
}

// item looks key up in a container; false for Python's LookupError and TypeError.
func (in *interp) item(obj, key Value) (Value, bool) {
	switch o := obj.(type) {
	case *Dict:
		h, ok := hashKey(key, 0)
		if !ok {
			return nil, false
		}
		if i, ok := o.index[h]; ok {
			return o.vals[i], true
		}
		return nil, false
	case *undefined:
		in.undefFail(o)
	}
	i, ok := in.asInt(key)
	if !ok {
		return nil, false
	}
	switch o := obj.(type) {
	case *List:
		return at64(o.Items, i)
	case Tuple:
		return at64(o, i)
	case *groupTuple:
		return at64(o.Tuple, i)
	case rangeValue:
		if i < 0 {
			i += o.n
		}
		return o.at(i), i >= 0 && i < o.n
	case string, markup:
		s, _ := textOf(o)
		c, ok := runeAt(s, i)
		in.work(len(s))
		return like(o, c), ok
	}
	return nil, false
}

func at64(items []Value, i int64) (Value, bool) {
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return nil, false
	}
	return items[i], true
}

// runeAt gives the i-th code point, from the end if i is negative.
func runeAt(s string, i int64) (string, bool) {
	if i < 0 {
		for ; s != ""; i++ {
			_, n := utf8.DecodeLastRuneInString(s)
			if i == -1 {
				return s[len(s)-n:], true
			}
			s = s[:len(s)-n]
		}
		return "", false
	}
	for ; s != ""; i-- {
		_, n := utf8.DecodeRuneInString(s)
		if i == 0 {
			return s[:n], true
		}
		s = s[n:]
	}
	return "", false
}

// Methods that would change a value; the immutable sandbox hides them.
var (
	listMutators = []string{"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"}
	dictMutators = []string{"clear", "pop", "popitem", "setdefault", "update"}
)

// attr finds a Python attribute; false for AttributeError.
func (in *interp) attr(obj Value, name string) (Value, bool) {
	if u, ok := obj.(*undefined); ok {
		in.undefFail(u)
	}
	if strings.HasPrefix(name, "__") && dunders[name] {
		return in.unsafe(obj, name), true
	}
	switch o := obj.(type) {
	case string, markup:
		s, _ := textOf(o)
		if m, ok := in.tmpl.tables.methods[name]; ok {
			return &builtin{name, func(in *interp, a args) Value { return m(in, s, o, a) }}, true
		}
	case *List:
		if indexOf(listMutators, name) >= 0 {
			return in.unsafe(obj, name), true
		}
		return seqMethod(o.Items, name, o)
	case Tuple:
		return seqMethod(o, name, o)
	case *groupTuple:
		if i := indexOf([]string{"grouper", "list"}, name); i >= 0 {
			return o.Tuple[i], true
		}
		return seqMethod(o.Tuple, name, o)
	case rangeValue:
		return rangeAttr(in, o, name)
	case *Dict:
		if indexOf(dictMutators, name) >= 0 {
			return in.unsafe(obj, name), true
		}
		return dictMethod(o, name)
	case *namespace:
		return o.attrs.Get(name)
	case *loopContext:
		return o.attr(in, name)
	case *macro:
		return macroAttr(o, name)
	case *cycler:
		return o.attr(name)
	case *builtin:
		if name == "fromkeys" && o.name == "dict" {
			return &builtin{name, dictFromKeys}, true
		}
	}
	return numAttr(obj, name)
}

// dunders are the double-underscore attributes every Python object has. Others do not exist, so that a
// key of such a name can be found.
var dunders = map[string]bool{
	"__class__": true, "__doc__": true, "__dict__": false, "__init__": true, "__new__": true,
	"__repr__": true, "__str__": true, "__hash__": true, "__eq__": true, "__ne__": true, "__lt__": true,
	"__le__": true, "__gt__": true, "__ge__": true, "__dir__": true, "__format__": true,
	"__getattribute__": true, "__setattr__": true, "__delattr__": true, "__reduce__": true,
	"__reduce_ex__": true, "__sizeof__": true, "__subclasshook__": true, "__init_subclass__": true,
	"__getstate__": true,
}

// unsafe is the undefined value that stands for an attribute the sandbox hides.
func (in *interp) unsafe(obj Value, name string) Value {
	msg := "access to attribute '" + name + "' of '" + typeName(obj) + "' object is unsafe."
	return &undefined{msg, KindSecurity}
}

func macroAttr(m *macro, name string) (Value, bool) {
	switch name {
	case "name":
		return m.def.name, true
	case "arguments":
		t := Tuple{}
		for _, p := range m.def.params {
			t = append(t, p)
		}
		return t, true
	case "catch_kwargs":
		return m.def.usesKwargs, true
	case "catch_varargs":
		return m.def.usesVarargs, true
	case "caller":
		return m.def.usesCaller, true
	}
	return nil, false
}

// numAttr gives the few data attributes of numbers.
func numAttr(obj Value, name string) (Value, bool) {
	x, ok := numOf(obj)
	if !ok {
		return nil, false
	}
	f, isFloat := x.(float64)
	switch {
	case name == "real":
		return x, true
	case name == "imag" && isFloat:
		return 0.0, true
	case name == "imag":
		return int64(0), true
	case isFloat && name == "is_integer":
		return &builtin{name, func(*interp, args) Value { return f == float64(int64(f)) }}, true
	case !isFloat && name == "numerator":
		return x, true
	case !isFloat && name == "denominator":
		return int64(1), true
	case !isFloat && name == "bit_length":
		return &builtin{name, func(*interp, args) Value { return int64(toBig(x).BitLen()) }}, true
	}
	return nil, false
}
