package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deeply values may be nested, so that a hostile file cannot exhaust the stack.
const maxDepth = 128

// scanner reads JSON (RFC 8259) in one pass without building a tree: the vocabularies are far too large
// for a generic decoder. Errors carry the byte position.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", s.pos, fmt.Sprintf(format, args...))
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the first byte of the next token, or 0 at the end of the data.
func (s *scanner) peek() byte {
	s.space()
	if s.pos >= len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// found describes the next byte for error messages.
func (s *scanner) found() string {
	if c := s.peek(); c != 0 || s.pos < len(s.data) {
		return strconv.QuoteRune(rune(c))
	}
	return "the end of the file"
}

func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.errorf("found %s, wanted %q", s.found(), c)
	}
	s.pos++
	return nil
}

// object calls field for each key of an object; field must read the value.
func (s *scanner) object(field func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		var buf []byte
		key, err := s.str(buf)
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := field(string(key)); err != nil {
			return err
		}
		if s.peek() == ',' {
			s.pos++
			continue
		}
		return s.expect('}')
	}
}

// array calls item before each element of an array; item must read it.
func (s *scanner) array(item func() error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.peek() == ',' {
			s.pos++
			continue
		}
		return s.expect(']')
	}
}

// str reads a string. The result aliases the data, or buf where the string has escapes, and is valid
// until buf is used again.
func (s *scanner) str(buf []byte) ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	start := s.pos
	for i, c := range s.data[start:] {
		switch {
		case c == '"':
			s.pos = start + i + 1
			return s.valid(s.data[start:start+i], start)
		case c == '\\':
			s.pos = start + i
			return s.escaped(append(buf[:0], s.data[start:start+i]...), start)
		case c < ' ':
			s.pos = start + i
			return nil, s.errorf("control character 0x%02x inside a string", c)
		}
	}
	s.pos = len(s.data)
	return nil, s.errorf("the string that starts at byte %d has no end", start)
}

func (s *scanner) valid(b []byte, at int) ([]byte, error) {
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("byte %d: the string is not valid UTF-8", at)
	}
	return b, nil
}

// escaped continues str at the first backslash.
func (s *scanner) escaped(out []byte, start int) ([]byte, error) {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		switch {
		case c == '"':
			s.pos++
			return s.valid(out, start)
		case c < ' ':
			return nil, s.errorf("control character 0x%02x inside a string", c)
		case c != '\\':
			out = append(out, c)
			s.pos++
		default:
			var err error
			if out, err = s.escape(out); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.errorf("the string that starts at byte %d has no end", start)
}

func (s *scanner) escape(out []byte) ([]byte, error) {
	if s.pos+1 >= len(s.data) {
		return nil, s.errorf("the file ends inside an escape")
	}
	c := s.data[s.pos+1]
	if c != 'u' {
		i := bytes.IndexByte([]byte(`"\/bfnrt`), c)
		if i < 0 {
			return nil, s.errorf("unknown escape \\%c", c)
		}
		s.pos += 2
		return append(out, "\"\\/\b\f\n\r\t"[i]), nil
	}
	r, err := s.hex4()
	if err != nil {
		return nil, err
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r), nil
	}
	low, err := s.hex4()
	if err != nil {
		return nil, s.errorf("a surrogate \\u%04x stands alone", r)
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return nil, s.errorf("a wrong surrogate pair ends here")
	}
	return utf8.AppendRune(out, r), nil
}

// hex4 reads \uXXXX.
func (s *scanner) hex4() (rune, error) {
	if s.pos+6 > len(s.data) || s.data[s.pos] != '\\' || s.data[s.pos+1] != 'u' {
		return 0, s.errorf("wanted \\u and four hexadecimal digits")
	}
	v, err := strconv.ParseUint(string(s.data[s.pos+2:s.pos+6]), 16, 32)
	if err != nil {
		return 0, s.errorf("wanted four hexadecimal digits, found %q", s.data[s.pos+2:s.pos+6])
	}
	s.pos += 6
	return rune(v), nil
}

// id reads a token id: a whole number from 0 to 2^31-1.
func (s *scanner) id() (int32, error) {
	s.space()
	start, v := s.pos, int64(0)
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		if v = v*10 + int64(s.data[s.pos]-'0'); v > math.MaxInt32 {
			return 0, s.errorf("a token id is above 2147483647")
		}
		s.pos++
	}
	if s.pos == start {
		return 0, s.errorf("found %s, wanted a token id (a whole number, not negative)", s.found())
	}
	return int32(v), nil
}

// number reads any JSON number.
func (s *scanner) number() (float64, error) {
	s.space()
	start := s.pos
	for s.pos < len(s.data) && bytes.IndexByte([]byte("+-.0123456789eE"), s.data[s.pos]) >= 0 {
		s.pos++
	}
	v, err := strconv.ParseFloat(string(s.data[start:s.pos]), 64)
	if err != nil {
		s.pos = start
		return 0, s.errorf("found %s, wanted a number", s.found())
	}
	return v, nil
}

// raw skips one value of any kind and returns its bytes.
func (s *scanner) raw() (json.RawMessage, error) {
	s.space()
	start := s.pos
	if err := s.skip(0); err != nil {
		return nil, err
	}
	return s.data[start:s.pos], nil
}

func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.errorf("values are nested more than %d deep", maxDepth)
	}
	switch c := s.peek(); c {
	case '{':
		return s.object(func(string) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case '"':
		_, err := s.str(nil)
		return err
	case 't', 'f', 'n':
		for _, w := range []string{"true", "false", "null"} {
			if bytes.HasPrefix(s.data[s.pos:], []byte(w)) {
				s.pos += len(w)
				return nil
			}
		}
		return s.errorf("found %s, wanted a value", s.found())
	default:
		_, err := s.number()
		return err
	}
}

// decode reads one value into v with encoding/json and gives its errors a position.
func (s *scanner) decode(v any) error {
	raw, err := s.raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		at := s.pos - len(raw)
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			at += int(te.Offset)
		}
		return fmt.Errorf("byte %d: %w", at, err)
	}
	return nil
}
