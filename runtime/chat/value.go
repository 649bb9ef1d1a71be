package chat

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Value is a Python value as a template sees it. Its dynamic type is one of
//
//	nil       None
//	bool      bool
//	int64     int (*big.Int where 64 bits do not do)
//	float64   float
//	string    str, valid UTF-8
//	*List     list
//	Tuple     tuple
//	*Dict     dict, keys in order of insertion
//
// or a type private to this package (undefined values, macros, methods, iterators). Render also takes
// plain Go values and converts them with FromGo. Values handed to Render are never modified.
type Value any

// List is a Python list.
type List struct{ Items []Value }

// Tuple is a Python tuple.
type Tuple []Value

// Dict is a Python dict: it keeps the order in which keys were first set. The zero Dict is empty and
// ready for use.
type Dict struct {
	keys  []Value
	vals  []Value
	index map[string]int
}

// NewList makes a list of the given items.
func NewList(items ...Value) *List { return &List{Items: items} }

// NewDict makes a dict from alternating string keys and values, as in NewDict("role", "user").
// It panics when the arguments are not such pairs, which is a mistake in the program.
func NewDict(pairs ...Value) *Dict {
	d := &Dict{}
	for i := 0; i < len(pairs); i += 2 {
		d.Set(pairs[i].(string), pairs[i+1])
	}
	return d
}

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Get looks a string key up.
func (d *Dict) Get(key string) (Value, bool) {
	i, ok := d.index["s"+key]
	if !ok {
		return nil, false
	}
	return d.vals[i], true
}

// Set stores v under a string key, keeping the place of a key that is already there.
func (d *Dict) Set(key string, v Value) { d.setHashed("s"+key, key, v) }

// At gives the i-th key and value in order.
func (d *Dict) At(i int) (key, val Value) { return d.keys[i], d.vals[i] }

func (d *Dict) setHashed(hash string, key, v Value) {
	if i, ok := d.index[hash]; ok {
		d.vals[i] = v
		return
	}
	if d.index == nil {
		d.index = make(map[string]int)
	}
	d.index[hash] = len(d.keys)
	d.keys = append(d.keys, key)
	d.vals = append(d.vals, v)
}

// undefined is Jinja's Undefined: printable as "", false, empty to iterate, an error otherwise.
type undefined struct {
	msg  string
	kind Kind
}

// missing marks a name that has no value yet; templates never see it.
type missing struct{}

// markup is a str marked as safe by the safe and escape filters.
type markup string

// namespace is the one mutable object: {% set ns.x = 1 %}.
type namespace struct{ attrs *Dict }

// builtin is a function or a bound method.
type builtin struct {
	name string
	fn   func(in *interp, a args) Value
}

// iterator is a generator: it can be walked once.
type iterator struct {
	next func() (Value, bool)
}

// dictView is what keys(), values() and items() give.
type dictView struct {
	dict *Dict
	what byte // 'k', 'v' or 'i'
}

// rangeValue is a range object.
type rangeValue struct{ start, stop, step, n int64 }

func (r rangeValue) at(i int64) Value { return r.start + i*r.step }

// kwarg is one keyword argument, in the order given.
type kwarg struct {
	name string
	val  Value
}

// args are the arguments of one call.
type args struct {
	pos []Value
	kw  []kwarg
}

// hashKey gives a text that is equal for equal dict keys and false for values that cannot be keys.
func hashKey(v Value, depth int) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "N", true
	case string:
		return "s" + v, true
	case markup:
		return "s" + string(v), true
	case bool:
		if v {
			return "i1", true
		}
		return "i0", true
	case int64:
		return "i" + strconv.FormatInt(v, 10), true
	case *big.Int:
		return "i" + v.String(), true
	case float64:
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			n, _ := big.NewFloat(v).Int(nil)
			return "i" + n.String(), true
		}
		return "f" + strconv.FormatFloat(v, 'g', -1, 64), true
	case Tuple:
		return hashTuple(v, depth)
	case *undefined:
		return "u" + v.msg, true
	case *builtin, *macro, *namespace, *loopContext:
		return fmt.Sprintf("p%p", v), true
	}
	return "", false
}

// maxHashDepth bounds tuples inside tuples as keys.
const maxHashDepth = 50

func hashTuple(t Tuple, depth int) (string, bool) {
	if depth > maxHashDepth {
		return "", false
	}
	var b strings.Builder
	b.WriteByte('(')
	for _, x := range t {
		h, ok := hashKey(x, depth+1)
		if !ok {
			return "", false
		}
		b.WriteString(strconv.Itoa(len(h)))
		b.WriteByte(':')
		b.WriteString(h)
	}
	return b.String(), b.Len() < 1<<20
}

// typeName is Python's name of v's type.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case markup:
		return "Markup"
	case *List:
		return "list"
	case Tuple, *groupTuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *undefined:
		return "Undefined"
	case *iterator:
		return "generator"
	case *dictView:
		return map[byte]string{'k': "dict_keys", 'v': "dict_values", 'i': "dict_items"}[v.what]
	case rangeValue:
		return "range"
	case *namespace:
		return "Namespace"
	case *macro:
		return "Macro"
	case *loopContext:
		return "LoopContext"
	case *cycler:
		return "Cycler"
	case *joiner:
		return "Joiner"
	}
	return "builtin_function_or_method"
}
