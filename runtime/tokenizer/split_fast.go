package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Hand-written splitters for the patterns that most models use. They give the same pieces as the
// regular expression (a property test compares them) several times faster.

// cl100kPattern is the splitting pattern of the cl100k vocabulary and its successors; some have \p{N} in
// the place of \p{N}{1,3}. Source: https://github.com/openai/tiktoken, openai_public.py
const cl100kPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|` +
	` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// splitterFor returns the splitter that equals the pattern, or nil.
func splitterFor(source string) splitter {
	switch source {
	case byteLevelPattern:
		return splitByteLevel
	case cl100kPattern:
		return func(s string, piece func(a, b int)) { splitCL100k(s, 3, piece) }
	case strings.Replace(cl100kPattern, "{1,3}", "", 1):
		return func(s string, piece func(a, b int)) { splitCL100k(s, 1, piece) }
	}
	return nil
}

// class of a rune, as far as the patterns tell runes apart.
type class uint8

const (
	classOther class = iota
	classLetter
	classNumber
	classSpace
	classNewline // \r and \n, which are spaces as well
)

func (c class) space() bool { return c >= classSpace }

// asciiClass is classOf for the first 128 runes.
var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range t {
		t[r] = classOf(rune(r))
	}
	return t
}()

func classOf(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return classNewline
	case isLetter(r):
		return classLetter
	case isNumber(r):
		return classNumber
	case isSpace(r):
		return classSpace
	}
	return classOther
}

// classAt returns the class and the length of the rune at byte i.
func classAt(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return classOf(r), n
}

// runOf returns the end of the run of class c that goes on at i.
func runOf(s string, i int, c class) int {
	for i < len(s) {
		k, n := classAt(s, i)
		if k != c {
			break
		}
		i += n
	}
	return i
}

// contraction returns the length of 's, 't, 're, 've, 'm, 'll or 'd at i, or 0. With fold, letters of
// either case count, and the long s (U+017F) as an s.
func contraction(s string, i int, fold bool) int {
	if s[i] != '\'' || i+1 >= len(s) {
		return 0
	}
	c := s[i+1]
	if fold && c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	switch c {
	case 's', 't', 'm', 'd':
		return 2
	}
	if fold && strings.HasPrefix(s[i+1:], "ſ") {
		return 3
	}
	if i+2 >= len(s) {
		return 0
	}
	d := s[i+2]
	if fold && d >= 'A' && d <= 'Z' {
		d |= 0x20
	}
	if c == 'r' && d == 'e' || c == 'v' && d == 'e' || c == 'l' && d == 'l' {
		return 3
	}
	return 0
}

// spaces matches \s+(?!\S)|\s+ at i, where a space stands, and returns the end.
func spaces(s string, i int) int {
	j, last := i, i
	for j < len(s) {
		k, n := classAt(s, j)
		if !k.space() {
			break
		}
		last = j
		j += n
	}
	if j < len(s) && last > i {
		return last
	}
	return j
}

func splitByteLevel(s string, piece func(a, b int)) {
	for i := 0; i < len(s); {
		end := byteLevelPiece(s, i)
		piece(i, end)
		i = end
	}
}

func byteLevelPiece(s string, i int) int {
	if n := contraction(s, i, false); n > 0 {
		return i + n
	}
	j := i
	if s[j] == ' ' && j+1 < len(s) {
		j++
	}
	k, n := classAt(s, j)
	if k.space() {
		return spaces(s, i)
	}
	return runOf(s, j+n, k)
}

func splitCL100k(s string, digits int, piece func(a, b int)) {
	for i := 0; i < len(s); {
		end := cl100kPiece(s, i, digits)
		piece(i, end)
		i = end
	}
}

func cl100kPiece(s string, i, digits int) int {
	if n := contraction(s, i, true); n > 0 {
		return i + n
	}
	k, n := classAt(s, i)
	switch {
	case k == classLetter:
		return runOf(s, i+n, classLetter)
	case k == classNumber:
		return digitRun(s, i+n, digits-1)
	case k != classNewline && i+n < len(s):
		if q, m := classAt(s, i+n); q == classLetter {
			return runOf(s, i+n+m, classLetter)
		}
	}
	j := i
	if s[j] == ' ' {
		j++
	}
	if j < len(s) {
		if q, m := classAt(s, j); q == classOther {
			j = runOf(s, j+m, classOther)
			for j < len(s) && (s[j] == '\r' || s[j] == '\n') {
				j++
			}
			return j
		}
	}
	return spacesToNewline(s, i)
}

// digitRun takes up to more further numbers.
func digitRun(s string, i, more int) int {
	for ; more > 0 && i < len(s); more-- {
		k, n := classAt(s, i)
		if k != classNumber {
			break
		}
		i += n
	}
	return i
}

// spacesToNewline matches \s*[\r\n]+|\s+(?!\S)|\s+ at i, where a space stands.
func spacesToNewline(s string, i int) int {
	newline := -1
	for j := i; j < len(s); {
		k, n := classAt(s, j)
		if !k.space() {
			break
		}
		j += n
		if k == classNewline {
			newline = j
		}
	}
	if newline >= 0 {
		return newline
	}
	return spaces(s, i)
}
