package hfconfig

import (
	"fmt"
	"runtime"
)

// Object returns the first of the keyed objects that is present and not null, as decoded JSON; nil when there is none. A
// value that is no object is an error.
func (f *File) Object(keys ...string) map[string]any {
	v := f.Any(keys...)
	if v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		f.Fail(keys[0], "a value of another kind", "an object")
	}
	return m
}

// Refuse records that the configuration asks for what the graph does not do: condition is what must hold, why tells what
// breaks.
func (f *File) Refuse(condition, why string) { f.Fail(condition, "not so", why) }

// Positive reports whether v is above zero; the keys, by which something is divided, are noted as wrong when it is not.
func (f *File) Positive(v int, keys ...string) bool {
	if v > 0 {
		return true
	}
	if f.Err() == nil { // else the key itself was reported
		f.Fail(keys[0], fmt.Sprint(v), "a number above 0")
	}
	return false
}

// Recover turns a run-time fault in the evaluation of a configuration, such as a list that is shorter than the layers it
// describes, into an error. Other panics go on.
func (f *File) Recover(err *error) {
	p := recover()
	if p == nil {
		return
	}
	fault, ok := p.(runtime.Error)
	if !ok {
		panic(p)
	}
	*err = fmt.Errorf("%s: the configuration contradicts itself (a list may be shorter than the layers it describes): %w", f.Name(), fault)
}
