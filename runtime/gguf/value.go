package gguf

import (
	"errors"
	"fmt"
	"math"
)

// ErrNoKey is wrapped by the getters of a Value whose key the file does not have.
var ErrNoKey = errors.New("no such key")

// ValueType is the type of a metadata value, with the format's numbering.
type ValueType uint32

// The metadata value types.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

// valueSize is the fewest bytes that one value of the type takes in the file; 0 for an unknown type.
func (t ValueType) valueSize() uint64 {
	switch t {
	case Uint8, Int8, Bool:
		return 1
	case Uint16, Int16:
		return 2
	case Uint32, Int32, Float32:
		return 4
	case Uint64, Int64, Float64, String:
		return 8
	case Array:
		return 12
	}
	return 0
}

// String returns the type's name in the format's documentation, in lower case.
func (t ValueType) String() string {
	names := [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string",
		"array", "uint64", "int64", "float64"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("value type %d", uint32(t))
}

// Value is one metadata value. Its getters fail, naming key and types, where the file has another type.
type Value struct {
	Key  string
	Type ValueType
	Elem ValueType // element type, for Type Array only
	path string
	any  any // nil: no such key; a scalar, or a slice of scalars, or []Value for arrays of arrays
}

// Exists reports whether the file has the key.
func (v Value) Exists() bool { return v.any != nil }

// Any returns the value as the Go type of the same name (uint8 ... float64, bool, string), a slice of it
// for an array, []Value for an array of arrays, or nil where the key is missing. The caller must not
// change slices.
func (v Value) Any() any { return v.any }

func (v Value) mismatch(want string) error {
	if v.any == nil {
		return fmt.Errorf("%s: key %q: %w", v.path, v.Key, ErrNoKey)
	}
	got := v.Type.String()
	if v.Type == Array {
		got = "array of " + v.Elem.String()
	}
	return fmt.Errorf("%s: key %q is %s, want %s", v.path, v.Key, got, want)
}

// Uint returns an integer of any width and sign that is not negative.
func (v Value) Uint() (uint64, error) {
	if u, ok := v.any.(uint64); ok {
		return u, nil
	}
	i, err := v.Int()
	if err != nil {
		return 0, err
	}
	if i < 0 {
		return 0, fmt.Errorf("%s: key %q is %d, want no negative number", v.path, v.Key, i)
	}
	return uint64(i), nil
}

// Int returns an integer of any width and sign that fits in int64.
func (v Value) Int() (int64, error) {
	switch x := v.any.(type) {
	case uint8:
		return int64(x), nil
	case int8:
		return int64(x), nil
	case uint16:
		return int64(x), nil
	case int16:
		return int64(x), nil
	case uint32:
		return int64(x), nil
	case int32:
		return int64(x), nil
	case int64:
		return x, nil
	case uint64:
		if x > math.MaxInt64 {
			return 0, fmt.Errorf("%s: key %q is %d, want at most %d", v.path, v.Key, x, int64(math.MaxInt64))
		}
		return int64(x), nil
	}
	return 0, v.mismatch("an integer")
}

// Float returns a float32 or float64; an integer is no float.
func (v Value) Float() (float64, error) {
	switch x := v.any.(type) {
	case float32:
		return float64(x), nil
	case float64:
		return x, nil
	}
	return 0, v.mismatch("a float")
}

// Bool returns a bool.
func (v Value) Bool() (bool, error) {
	if x, ok := v.any.(bool); ok {
		return x, nil
	}
	return false, v.mismatch("a bool")
}

// Text returns a string.
func (v Value) Text() (string, error) {
	if x, ok := v.any.(string); ok {
		return x, nil
	}
	return "", v.mismatch("a string")
}

// Texts returns an array of strings.
func (v Value) Texts() ([]string, error) {
	if x, ok := v.any.([]string); ok {
		return x, nil
	}
	return nil, v.mismatch("an array of string")
}

// Bools returns an array of bools.
func (v Value) Bools() ([]bool, error) {
	if x, ok := v.any.([]bool); ok {
		return x, nil
	}
	return nil, v.mismatch("an array of bool")
}

// Ints returns an array of integers of any width that fit in int64.
func (v Value) Ints() ([]int64, error) {
	switch x := v.any.(type) {
	case []uint8:
		return widen(x), nil
	case []int8:
		return widen(x), nil
	case []uint16:
		return widen(x), nil
	case []int16:
		return widen(x), nil
	case []uint32:
		return widen(x), nil
	case []int32:
		return widen(x), nil
	case []int64:
		return x, nil
	case []uint64:
		for i, u := range x {
			if u > math.MaxInt64 {
				return nil, fmt.Errorf("%s: key %q: element %d is %d, want at most %d",
					v.path, v.Key, i, u, int64(math.MaxInt64))
			}
		}
		return widen(x), nil
	}
	return nil, v.mismatch("an array of integers")
}

// Floats returns an array of float32 or float64.
func (v Value) Floats() ([]float64, error) {
	switch x := v.any.(type) {
	case []float64:
		return x, nil
	case []float32:
		out := make([]float64, len(x))
		for i, f := range x {
			out[i] = float64(f)
		}
		return out, nil
	}
	return nil, v.mismatch("an array of floats")
}

func widen[T uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64](in []T) []int64 {
	out := make([]int64, len(in))
	for i, x := range in {
		out[i] = int64(x)
	}
	return out
}
