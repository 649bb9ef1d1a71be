package chat

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// pyUpper is str.upper with the full mappings of Unicode (ß becomes SS).
func pyUpper(s string) string {
	if isPlain(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func pyLower(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func pyCasefold(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	return cases.Fold().String(s)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// isCased tells whether a character has case, as str.title sees it.
func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

// pyTitle is str.title: a cased character after an uncased one goes to title case.
func pyTitle(s string) string {
	var b strings.Builder
	prev := false
	for _, r := range s {
		if prev {
			b.WriteString(pyLower(string(r)))
		} else {
			b.WriteString(titleRune(r))
		}
		prev = isCased(r)
	}
	return b.String()
}

func titleRune(r rune) string {
	if r < 0x80 || unicode.ToTitle(r) != r {
		return string(unicode.ToTitle(r))
	}
	up := []rune(pyUpper(string(r)))
	return string(up[:1]) + pyLower(string(up[1:]))
}

func pyCapitalize(s string) string {
	for i, r := range s {
		if i == 0 {
			rest := s[len(string(r)):]
			return titleRune(r) + pyLower(rest)
		}
	}
	return s
}

func pySwapcase(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			b.WriteString(pyLower(string(r)))
		case unicode.IsLower(r):
			b.WriteString(pyUpper(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func pyIsUpper(s string) bool {
	cased := false
	for _, r := range s {
		if unicode.IsLower(r) || unicode.IsTitle(r) {
			return false
		}
		cased = cased || unicode.IsUpper(r)
	}
	return cased
}

func pyIsLower(s string) bool {
	cased := false
	for _, r := range s {
		if unicode.IsUpper(r) || unicode.IsTitle(r) {
			return false
		}
		cased = cased || unicode.IsLower(r)
	}
	return cased
}

func pyIsTitle(s string) bool {
	cased, prev := false, false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if prev {
				return false
			}
			prev, cased = true, true
		case unicode.IsLower(r):
			if !prev {
				return false
			}
			cased = true
		default:
			prev = false
		}
	}
	return cased
}
