package chat

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Number literals, as Jinja's lexer has them.
var (
	floatLit = regexp.MustCompile(`^[0-9]+(_[0-9]+)*((\.[0-9]+(_[0-9]+)*)?[eE][+-]?[0-9]+(_[0-9]+)*` +
		`|\.[0-9]+(_[0-9]+)*)`)
	intLit = regexp.MustCompile(`^(?i:0b(_?[01])+|0o(_?[0-7])+|0x(_?[0-9a-f])+` +
		`|[1-9](_?[0-9])*|0(_?0)*)`)
)

func (lx *lexer) number() {
	rest, pos := lx.src[lx.pos:], lx.pos
	afterDot := pos > 0 && lx.src[pos-1] == '.'
	if m := floatLit.FindString(rest); m != "" && !afterDot {
		f, err := strconv.ParseFloat(strings.ReplaceAll(m, "_", ""), 64)
		if err != nil && !strings.Contains(err.Error(), "range") {
			lx.fail(pos, "bad number %q", m)
		}
		lx.emit(token{kind: tokFloat, text: m, val: f, pos: pos})
		lx.pos += len(m)
		return
	}
	m := intLit.FindString(rest)
	if len(m) > 4300 {
		lx.fail(pos, "integer of %d digits; the limit is 4300", len(m))
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(strings.ToLower(m), "_", ""), 0)
	if strings.Trim(m, "0_") == "" {
		n, ok = new(big.Int), true
	}
	if !ok {
		lx.fail(pos, "bad number %q", m)
	}
	lx.emit(token{kind: tokInt, text: m, val: normInt(n), pos: pos})
	lx.pos += len(m)
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) ||
		unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nl, unicode.Pc)
}

func (lx *lexer) name() {
	pos := lx.pos
	for lx.pos < len(lx.src) {
		r, n := utf8.DecodeRuneInString(lx.src[lx.pos:])
		if !isWord(r) {
			break
		}
		lx.pos += n
	}
	lx.emit(token{kind: tokName, text: lx.src[pos:lx.pos], pos: pos})
}

// operators, longest first.
var operators = []string{
	"//", "**", "==", "!=", ">=", "<=",
	"+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";",
}

var closers = map[string]byte{"(": ')', "[": ']', "{": '}'}

func (lx *lexer) operator(open []byte) []byte {
	rest, pos := lx.src[lx.pos:], lx.pos
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		if c, ok := closers[op]; ok {
			open = append(open, c)
		} else if op == ")" || op == "]" || op == "}" {
			if len(open) == 0 {
				lx.fail(pos, "unexpected '%s'", op)
			}
			if want := open[len(open)-1]; want != op[0] {
				lx.fail(pos, "unexpected '%s', expected '%c'", op, want)
			}
			open = open[:len(open)-1]
		}
		lx.emit(token{kind: tokOp, text: op, pos: pos})
		lx.pos += len(op)
		return open
	}
	r, _ := utf8.DecodeRuneInString(rest)
	lx.fail(pos, "unexpected character %q", r)
	return nil
}

func (lx *lexer) str(quote byte) {
	pos := lx.pos
	i := pos + 1
	for ; i < len(lx.src) && lx.src[i] != quote; i++ {
		if lx.src[i] == '\\' {
			i++
		}
	}
	if i >= len(lx.src) {
		lx.fail(pos, "string without closing %c", quote)
	}
	s, err := unescape(lx.src[pos+1 : i])
	if err != nil {
		lx.fail(pos, "%v", err)
	}
	lx.emit(token{kind: tokString, text: s, pos: pos})
	lx.pos = i + 1
}

var simpleEscapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", '\\': "\\", '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f",
	'v': "\v", '\n': "",
}

// unescape applies the escapes of a Python str literal. An unknown one stays as it is.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if r, ok := simpleEscapes[s[i]]; ok {
			b.WriteString(r)
			continue
		}
		n, err := numericEscape(&b, s[i:])
		if err != nil {
			return "", err
		}
		if n == 0 {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r < utf8.RuneSelf {
				b.WriteByte('\\')
				b.WriteRune(r)
			} else { // Jinja escapes such characters first, so that the backslashes pair up
				b.WriteString(escapeRune(r))
			}
			i += size - 1
			continue
		}
		i += n - 1
	}
	return b.String(), nil
}

// numericEscape handles \ooo, \xhh, \uhhhh and \Uhhhhhhhh (s starts after the backslash) and returns
// how many bytes it took; 0 means it is none of these.
func numericEscape(b *strings.Builder, s string) (int, error) {
	if s[0] >= '0' && s[0] <= '7' {
		n := 1
		for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(s[:n], 8, 32)
		b.WriteRune(rune(v))
		return n, nil
	}
	width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if s[0] == 'N' {
		return 0, fmt.Errorf(`\N{...} escapes are not supported; write the character or \uXXXX`)
	}
	if width == 0 {
		return 0, nil
	}
	if len(s) < 1+width {
		return 0, fmt.Errorf(`truncated \%c escape in string`, s[0])
	}
	v, err := strconv.ParseUint(s[1:1+width], 16, 32)
	if err != nil {
		return 0, fmt.Errorf(`bad \%c escape in string`, s[0])
	}
	if v > unicode.MaxRune || v >= 0xD800 && v <= 0xDFFF {
		return 0, fmt.Errorf(`\%s is no character that UTF-8 text can hold`, s[:1+width])
	}
	b.WriteRune(rune(v))
	return 1 + width, nil
}
