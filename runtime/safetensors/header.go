package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// maxHeader is the largest header that readers of the format accept, in bytes.
//
// Source: huggingface/safetensors, safetensors/src/tensor.rs, MAX_HEADER_SIZE.
const maxHeader = 100_000_000

// Info describes one tensor of a file.
type Info struct {
	Name  string
	DType DType
	Shape []int
	File  string // path of the file that holds it
	Begin int64  // first byte, from the start of the file
	End   int64  // one past the last byte
}

// Len returns the number of elements.
func (i Info) Len() int {
	n := 1
	for _, d := range i.Shape {
		n *= d
	}
	return n
}

// header is what the first bytes of a file say: tensors in the order of the text, and the free-form metadata.
type header struct {
	tensors  []Info
	metadata map[string]string // nil when the file has none
}

// parseHeader reads and checks the header of a file of the given size.
//
// prefix holds at least the 8 length bytes and the header when the file has that many. Offsets of the result
// count from the start of the file. The tensors must tile the rest of the file: no overlap, no hole, no rest.
func parseHeader(file string, prefix []byte, size int64) (*header, error) {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%s: %s", file, fmt.Sprintf(format, a...))
	}
	if size < 8 || len(prefix) < 8 {
		return nil, bad("%d bytes, too short for a safetensors file (8 bytes of header length come first)",
			size)
	}
	n := binary.LittleEndian.Uint64(prefix)
	if n > maxHeader {
		return nil, bad("header length is %d bytes, more than the %d that the format allows "+
			"(not a safetensors file, or damaged)", n, maxHeader)
	}
	if int64(n) > size-8 || int64(n) > int64(len(prefix)-8) {
		return nil, bad("header length is %d bytes but only %d follow (cut short?)", n, size-8)
	}
	text := prefix[8 : 8+n]
	if !utf8.Valid(text) {
		return nil, bad("header is not UTF-8")
	}
	h, err := decodeHeader(text)
	if err != nil {
		return nil, bad("%v", err)
	}
	for i := range h.tensors {
		t := &h.tensors[i]
		t.File = file
		if err := checkSize(t); err != nil {
			return nil, bad("tensor %q: %v", t.Name, err)
		}
	}
	if err := checkTiling(h.tensors, size-8-int64(n)); err != nil {
		return nil, bad("%v", err)
	}
	for i := range h.tensors {
		h.tensors[i].Begin += 8 + int64(n)
		h.tensors[i].End += 8 + int64(n)
	}
	return h, nil
}

// checkSize compares a tensor's byte range with its type and shape.
func checkSize(t *Info) error {
	want, err := sizeOf(t.DType, t.Shape)
	if err != nil {
		return err
	}
	if t.Begin < 0 || t.End < t.Begin {
		return fmt.Errorf("data_offsets [%d,%d] are not a range", t.Begin, t.End)
	}
	if t.End-t.Begin != want {
		return fmt.Errorf("%s %v takes %d bytes but data_offsets [%d,%d] span %d",
			t.DType, t.Shape, want, t.Begin, t.End, t.End-t.Begin)
	}
	return nil
}

// sizeOf returns the bytes of a tensor.
func sizeOf(t DType, shape []int) (int64, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d != 0 && n > (int64(1)<<62)/int64(d) {
			return 0, fmt.Errorf("shape %v overflows", shape)
		}
		n *= int64(d)
	}
	return t.Bytes(n)
}

// checkTiling wants the tensors to cover [0,size) exactly once.
func checkTiling(tensors []Info, size int64) error {
	order := make([]int, len(tensors))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool {
		x, y := tensors[order[a]], tensors[order[b]]
		if x.Begin != y.Begin {
			return x.Begin < y.Begin
		}
		return x.End < y.End
	})
	at, last := int64(0), ""
	for _, i := range order {
		t := tensors[i]
		switch {
		case t.Begin < at:
			return fmt.Errorf("tensor %q starts at byte %d, inside tensor %q that ends at %d", t.Name,
				t.Begin, last, at)
		case t.Begin > at:
			return fmt.Errorf("bytes %d to %d, before tensor %q, belong to no tensor", at, t.Begin, t.Name)
		case t.End > size:
			return fmt.Errorf("tensor %q ends at byte %d but the file has %d bytes of data (cut short?)",
				t.Name, t.End, size)
		}
		at, last = t.End, t.Name
	}
	if at != size {
		return fmt.Errorf("%d bytes follow the last tensor and belong to none", size-at)
	}
	return nil
}

// decodeHeader reads the JSON text. Written on tokens, as decoding into a map would hide repeated names.
func decodeHeader(text []byte) (*header, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, fmt.Errorf("header does not start with '{'")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	h := &header{}
	seen := map[string]bool{}
	err := object(dec, "header", func(name string) error {
		if seen[name] {
			return fmt.Errorf("name %q stands twice in the header", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			return decodeMetadata(dec, h)
		}
		t, err := decodeTensor(dec, name)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		h.tensors = append(h.tensors, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if rest := strings.Trim(string(text[dec.InputOffset():]), " \x00"); rest != "" {
		return nil, fmt.Errorf("header has text after its closing brace: %.20q", rest)
	}
	return h, nil
}

func decodeMetadata(dec *json.Decoder, h *header) error {
	h.metadata = map[string]string{}
	return object(dec, "__metadata__", func(key string) error {
		if _, twice := h.metadata[key]; twice {
			return fmt.Errorf("__metadata__: key %q stands twice", key)
		}
		tok, err := dec.Token()
		if err != nil {
			return fmt.Errorf("__metadata__: %w", err)
		}
		value, ok := tok.(string)
		if !ok {
			return fmt.Errorf("__metadata__: %q is %v, want a string", key, tok)
		}
		h.metadata[key] = value
		return nil
	})
}

func decodeTensor(dec *json.Decoder, name string) (Info, error) {
	t := Info{Name: name, Shape: []int{}}
	seen := map[string]bool{}
	err := object(dec, "entry", func(key string) error {
		if seen[key] {
			return fmt.Errorf("%q stands twice", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			tok, err := dec.Token()
			if err != nil {
				return err
			}
			s, ok := tok.(string)
			if !ok || !DType(s).Known() {
				return fmt.Errorf("dtype is %v, not one of the format", tok)
			}
			t.DType = DType(s)
			return nil
		case "shape":
			list, err := integers(dec, key)
			for _, d := range list {
				t.Shape = append(t.Shape, int(d))
			}
			return err
		case "data_offsets":
			list, err := integers(dec, key)
			if err == nil && len(list) != 2 {
				err = fmt.Errorf("data_offsets has %d numbers, want 2", len(list))
			}
			if err == nil {
				t.Begin, t.End = list[0], list[1]
			}
			return err
		}
		var skip json.RawMessage // a key of a later version of the format
		return dec.Decode(&skip)
	})
	if err != nil {
		return t, err
	}
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !seen[key] {
			return t, fmt.Errorf("no %q", key)
		}
	}
	return t, nil
}

// object reads '{', calls member after each key with the decoder at its value, and reads '}'.
func object(dec *json.Decoder, what string, member func(key string) error) error {
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if tok != json.Delim('{') {
		return fmt.Errorf("%s is %v, want an object", what, tok)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := member(key.(string)); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// integers reads a list of whole numbers that are not negative.
func integers(dec *json.Decoder, key string) ([]int64, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if tok != json.Delim('[') {
		return nil, fmt.Errorf("%s is %v, want a list", key, tok)
	}
	var list []int64
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		num, ok := tok.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s holds %v, want whole numbers", key, tok)
		}
		n, err := num.Int64()
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s holds %v, want whole numbers from 0 to 2^63-1", key, num)
		}
		list = append(list, n)
	}
	_, err = dec.Token()
	return list, err
}
