package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func isSpace(r rune) bool  { return unicode.IsSpace(r) }
func isLetter(r rune) bool { return unicode.IsLetter(r) }
func isNumber(r rune) bool { return unicode.IsNumber(r) }

// isPunctuation is the definition of BERT: the ASCII symbols and everything in the categories P*.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z')
	}
	return unicode.Is(unicode.P, r)
}

// isWord is \w of Unicode TS 18: letters, marks, decimal digits, connectors and joiners.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.Nl, unicode.M, unicode.Nd, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control)
}

// lower appends the lower case of r. Only U+0130 has two runes.
// Source: Unicode SpecialCasing.txt, the unconditional mappings.
func lower(r rune, buf []rune) []rune {
	if r == 0x130 {
		return append(buf, 'i', 0x307)
	}
	return append(buf, unicode.ToLower(r))
}

// clean replaces every maximal invalid part of s by U+FFFD.
// Source: Unicode standard 3.9, "U+FFFD Substitution of Maximal Subparts".
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			n = badPart(s[i:])
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// badPart returns the length of the maximal invalid part at the start of s, at least 1.
func badPart(s string) int {
	need, lo, hi := 0, byte(0x80), byte(0xBF)
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		if c == 0xE0 {
			lo = 0xA0
		} else if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		if c == 0xF0 {
			lo = 0x90
		} else if c == 0xF4 {
			hi = 0x8F
		}
	}
	n := 1
	for need > 0 && n < len(s) && s[n] >= lo && s[n] <= hi {
		n, need = n+1, need-1
		lo, hi = 0x80, 0xBF
	}
	return n
}

func isNumeric(r rune) bool    { return unicode.IsNumber(r) }
func isCombining(r rune) bool  { return unicode.Is(unicode.M, r) }
func isNonspacing(r rune) bool { return unicode.Is(unicode.Mn, r) }

// isBertControl is the categories Cc, Cf and Co, but for tab and newlines.
func isBertControl(r rune) bool {
	return r != '\t' && r != '\n' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}
