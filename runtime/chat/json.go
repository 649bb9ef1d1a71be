package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth bounds nested arrays and objects (Python's own decoder ends near 1,000).
const maxJSONDepth = 900

// DecodeJSON reads one JSON text as Python's json.loads does: objects become *Dict and keep the order
// of their keys (a repeated key keeps its first place and its last value), integers of any size stay
// integers. Text that is not UTF-8, or has an unpaired surrogate escape, is an error.
func DecodeJSON(data []byte) (Value, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("chat: JSON is not valid UTF-8")
	}
	if i := loneSurrogate(data); i >= 0 {
		return nil, fmt.Errorf("chat: JSON has an unpaired surrogate escape at byte %d; "+
			"want a pair or a character", i)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return nil, fmt.Errorf("chat: JSON at byte %d: %w", dec.InputOffset(), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("chat: JSON has more text after the value at byte %d", dec.InputOffset())
	}
	return v, nil
}

func decodeValue(dec *json.Decoder, depth int) (Value, error) {
	tok, err := dec.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t := tok.(type) {
	case json.Number:
		return decodeNumber(t.String())
	case json.Delim:
		if depth >= maxJSONDepth {
			return nil, fmt.Errorf("nested deeper than %d", maxJSONDepth)
		}
		if t == '[' {
			return decodeList(dec, depth)
		}
		return decodeDict(dec, depth)
	}
	return tok, nil
}

func decodeNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !strings.Contains(err.Error(), "range") {
			return nil, err
		}
		return f, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if len(s) > 4300 {
		return nil, fmt.Errorf("integer of %d digits; the limit is 4300", len(s))
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("bad number %q", s)
	}
	return n, nil
}

func decodeList(dec *json.Decoder, depth int) (Value, error) {
	l := &List{}
	for dec.More() {
		v, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	_, err := dec.Token()
	return l, err
}

func decodeDict(dec *json.Decoder, depth int) (Value, error) {
	d := &Dict{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("object key is %v; want a string", key)
		}
		v, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		d.Set(name, v)
	}
	_, err := dec.Token()
	return d, err
}

// loneSurrogate finds a \uD8xx escape without its partner, which no UTF-8 text can hold.
func loneSurrogate(data []byte) int {
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if data[i+1] != 'u' {
			i++
			continue
		}
		hi, ok := hex4(data, i+2)
		if !ok || hi < 0xD800 || hi > 0xDFFF {
			i += 5
			continue
		}
		lo, ok := hex4(data, i+8)
		if hi > 0xDBFF || !ok || data[i+6] != '\\' || data[i+7] != 'u' || lo < 0xDC00 || lo > 0xDFFF {
			return i
		}
		i += 11
	}
	return -1
}

func hex4(data []byte, i int) (uint64, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[i:i+4]), 16, 32)
	return n, err == nil
}

// FromGo converts plain Go data to a Value: nil, booleans, integers, floats, strings, json.Number,
// slices, maps with string keys (sorted by key, as Go maps have no order: use Dict or DecodeJSON where
// order matters), and Values themselves. Other types are errors.
func FromGo(x any) (Value, error) { return fromGo(x, 0) }

func fromGo(x any, depth int) (Value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("chat: value nested deeper than %d", maxJSONDepth)
	}
	switch x := x.(type) {
	case nil, bool, int64, float64, *big.Int:
		return x, nil
	case string:
		if !utf8.ValidString(x) {
			return nil, fmt.Errorf("chat: string %q is not valid UTF-8", x)
		}
		return x, nil
	case json.Number:
		return decodeNumber(x.String())
	case json.RawMessage:
		return DecodeJSON(x)
	case *List:
		if x == nil {
			return nil, nil
		}
		return fromSlice(reflect.ValueOf(x.Items), depth)
	case Tuple:
		l, err := fromSlice(reflect.ValueOf([]Value(x)), depth)
		if err != nil {
			return nil, err
		}
		return Tuple(l.Items), nil
	case *Dict:
		if x == nil {
			return nil, nil
		}
		return fromDict(x, depth)
	case Message:
		return fromDict(x.dict(), depth)
	}
	return fromReflect(reflect.ValueOf(x), depth)
}

func fromDict(d *Dict, depth int) (Value, error) {
	out := &Dict{}
	for i, k := range d.keys {
		v, err := fromGo(d.vals[i], depth+1)
		if err != nil {
			return nil, err
		}
		h, ok := hashKey(k, 0)
		if !ok {
			return nil, fmt.Errorf("chat: a dict key is a %T", k)
		}
		out.setHashed(h, k, v)
	}
	return out, nil
}

func fromSlice(r reflect.Value, depth int) (*List, error) {
	l := &List{Items: make([]Value, 0, r.Len())}
	for i := range r.Len() {
		v, err := fromGo(r.Index(i).Interface(), depth+1)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	return l, nil
}

func fromReflect(r reflect.Value, depth int) (Value, error) {
	switch r.Kind() {
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return normInt(new(big.Int).SetUint64(r.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return r.Float(), nil
	case reflect.String:
		return fromGo(r.String(), depth)
	case reflect.Slice, reflect.Array:
		return fromSlice(r, depth)
	case reflect.Map:
		if r.Type().Key().Kind() != reflect.String {
			break
		}
		keys := r.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		d := &Dict{}
		for _, k := range keys {
			v, err := fromGo(r.MapIndex(k).Interface(), depth+1)
			if err != nil {
				return nil, err
			}
			d.Set(k.String(), v)
		}
		return d, nil
	}
	return nil, fmt.Errorf("chat: a template cannot take a %s; want JSON-like data", r.Type())
}
