package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// runeRanges is a sorted list of {first, last}.
type runeRanges [][2]rune

func (t runeRanges) has(r rune) bool {
	if len(t) == 0 || r < t[0][0] || r > t[len(t)-1][1] {
		return false
	}
	_, found := slices.BinarySearchFunc(t, r, func(x [2]rune, r rune) int {
		switch {
		case x[1] < r:
			return -1
		case x[0] > r:
			return 1
		}
		return 0
	})
	return found
}

// isSpace is the property White_Space, which has been the same since Unicode 6.3.
func isSpace(r rune) bool { return unicode.IsSpace(r) }

// isLetter is \p{L} of Unicode 16.0, as regular expressions use it.
func isLetter(r rune) bool {
	return unicode.IsLetter(r) || r > 0x897 && (newLo.has(r) || newLu.has(r) || newLl.has(r) || newLm.has(r))
}

// isNumber is \p{N} of Unicode 16.0, as regular expressions use it.
func isNumber(r rune) bool { return unicode.IsNumber(r) || newNd.has(r) }

// isNumeric is the categories N* of Unicode 17.0, which the pre-tokenizer Digits uses.
func isNumeric(r rune) bool { return unicode.IsNumber(r) || newNumeric.has(r) }

// isPunctuation is the definition of BERT: the ASCII symbols and the categories P* of Unicode 8.0.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z')
	}
	return unicode.Is(unicode.P, r) && !laterPunct.has(r) || r == 0x166D || r == 0x111C9
}

// isWord is \w of Unicode TS 18, version 16.0: letters, marks, decimal digits, connectors and joiners.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.Nl, unicode.M, unicode.Nd, unicode.Pc,
		unicode.Other_Alphabetic, unicode.Join_Control) || newWord.has(r)
}

// lower appends the lower case of r. Only U+0130 has two runes.
// Source: Unicode SpecialCasing.txt, the unconditional mappings.
func lower(r rune, buf []rune) []rune {
	if r < 0x130 {
		return append(buf, unicode.ToLower(r))
	}
	if r == 0x130 {
		return append(buf, 'i', 0x307)
	}
	for _, x := range newLower {
		if r >= x[0] && r <= x[1] {
			return append(buf, r+x[2])
		}
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

// isCombining is the categories M* of Unicode 9.0.
func isCombining(r rune) bool {
	return unicode.Is(unicode.M, r) && !laterMarks.has(r) || r == 0x1CF2 || r == 0x1CF3
}

// isNonspacing is the category Mn of Unicode 8.0.
func isNonspacing(r rune) bool {
	return unicode.Is(unicode.Mn, r) && !laterMn.has(r) || r == 0x1734
}

// isBertControl is the categories Cc, Cf and Co of Unicode 8.0, but for tab and newlines.
func isBertControl(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return false
	case r == 0x890 || r == 0x891 || r == 0x8E2 || r == 0x110CD || r >= 0x13430 && r <= 0x1343F:
		return false // later ones
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}
