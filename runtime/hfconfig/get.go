package hfconfig

import (
	"fmt"
	"strings"
)

// get returns the value of the first key present, read by conv. Without any key: def, or an error when need
// is set.
func get[T any](f *File, need bool, def T, want string, keys []string, conv func(*node) (T, bool)) T {
	key, n := f.first(keys)
	if n == nil {
		if need && f.root != nil {
			f.noteKeys(keys, "missing", want)
		}
		return def
	}
	v, ok := conv(n)
	if !ok {
		f.note(key, n.describe(), want)
		return def
	}
	return v
}

const (
	aWhole = "a whole number"
	aFloat = "a number"
	aBool  = "true or false"
	aText  = "a string"
)

func boolean(n *node) (bool, bool) { return n.flag, n.kind == boolKind }
func text(n *node) (string, bool)  { return n.text, n.kind == stringKind }

// list reads a list; one value alone counts as a list of one, as configurations write both.
func list[T any](conv func(*node) (T, bool)) func(*node) ([]T, bool) {
	return func(n *node) ([]T, bool) {
		if n.kind != listKind {
			v, ok := conv(n)
			return []T{v}, ok
		}
		out := make([]T, len(n.list))
		for i, e := range n.list {
			v, ok := conv(e)
			if !ok {
				return nil, false
			}
			out[i] = v
		}
		return out, true
	}
}

// Int returns a whole number that must be there.
func (f *File) Int(keys ...string) int { return get(f, true, 0, aWhole, keys, (*node).integer) }

// IntOr returns a whole number, or def when no key is there.
func (f *File) IntOr(def int, keys ...string) int {
	return get(f, false, def, aWhole, keys, (*node).integer)
}

// Float returns a number that must be there.
func (f *File) Float(keys ...string) float64 { return get(f, true, 0, aFloat, keys, (*node).float) }

// FloatOr returns a number, or def when no key is there.
func (f *File) FloatOr(def float64, keys ...string) float64 {
	return get(f, false, def, aFloat, keys, (*node).float)
}

// Bool returns a truth value that must be there.
func (f *File) Bool(keys ...string) bool { return get(f, true, false, aBool, keys, boolean) }

// BoolOr returns a truth value, or def when no key is there.
func (f *File) BoolOr(def bool, keys ...string) bool { return get(f, false, def, aBool, keys, boolean) }

// String returns a string that must be there.
func (f *File) String(keys ...string) string { return get(f, true, "", aText, keys, text) }

// StringOr returns a string, or def when no key is there.
func (f *File) StringOr(def string, keys ...string) string {
	return get(f, false, def, aText, keys, text)
}

// Ints returns a list of whole numbers that must be there; one number alone is a list of one.
func (f *File) Ints(keys ...string) []int {
	return get(f, true, nil, "a list of whole numbers", keys, list((*node).integer))
}

// IntsOr is Ints with a default.
// A key such as layers.*.size is read for every element: layers.0.size and so on, where a null counts as 0 and an element
// without it takes size itself.
func (f *File) IntsOr(def []int, keys ...string) []int {
	for _, k := range keys {
		if head, tail, ok := strings.Cut(k, ".*."); ok && f.find(head) != nil {
			out := make([]int, len(def))
			for i := range out {
				one := fmt.Sprintf("%s.%d.%s", head, i, tail)
				if out[i] = f.IntOr(f.IntOr(0, tail), one); f.Null(one) {
					out[i] = 0
				}
			}
			return out
		}
	}
	return get(f, false, def, "a list of whole numbers", keys, list((*node).integer))
}

// Floats returns a list of numbers that must be there; one number alone is a list of one.
func (f *File) Floats(keys ...string) []float64 {
	return get(f, true, nil, "a list of numbers", keys, list((*node).float))
}

// FloatsOr is Floats with a default.
func (f *File) FloatsOr(def []float64, keys ...string) []float64 {
	return get(f, false, def, "a list of numbers", keys, list((*node).float))
}

// Strings returns a list of strings that must be there; one string alone is a list of one.
func (f *File) Strings(keys ...string) []string {
	return get(f, true, nil, "a list of strings", keys, list(text))
}

// StringsOr is Strings with a default.
func (f *File) StringsOr(def []string, keys ...string) []string {
	return get(f, false, def, "a list of strings", keys, list(text))
}

// Bools returns a list of truth values, or def when no key is there.
func (f *File) BoolsOr(def []bool, keys ...string) []bool {
	return get(f, false, def, "a list of true and false", keys, list(boolean))
}

// OneOf returns a string that must be one of the allowed ones, or def when no key is there: an activation, a
// layer type. Any other value is noted with the whole list.
func (f *File) OneOf(def string, allowed []string, keys ...string) string {
	key, _ := f.first(keys)
	v := f.StringOr(def, keys...)
	for _, a := range allowed {
		if v == a {
			return v
		}
	}
	if key != "" {
		f.note(key, fmt.Sprintf("%q", v), "one of "+strings.Join(allowed, ", "))
	}
	return def
}

// Any returns a value as Go data (map[string]any, []any, string, bool, int, float64), nil when no key is
// there.
func (f *File) Any(keys ...string) any {
	_, n := f.first(keys)
	if n == nil {
		return nil
	}
	return n.any()
}
