package tokenizer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func hexRune(s string) (rune, error) {
	v, err := strconv.ParseUint(s, 16, 32)
	if err != nil || v > unicode.MaxRune || v >= 0xD800 && v < 0xE000 {
		return 0, fmt.Errorf("%q is not the number of a character", s)
	}
	return rune(v), nil
}

// hexDigits reads up to n hexadecimal digits.
func (t *translator) hexDigits(n int) (rune, error) {
	end := t.pos
	for end < len(t.src) && end < t.pos+n && strings.IndexByte("0123456789abcdefABCDEF", t.src[end]) >= 0 {
		end++
	}
	s := t.src[t.pos:end]
	t.pos = end
	return hexRune(s)
}

// octal reads up to two more octal digits.
func (t *translator) octal(v rune) (rune, error) {
	for n := 0; n < 2 && t.pos < len(t.src) && t.src[t.pos] >= '0' && t.src[t.pos] <= '7'; n++ {
		v = v*8 + rune(t.src[t.pos]-'0')
		t.pos++
	}
	return v, nil
}

// classBuilder collects a character class. While it is a union of ranges and named sets it is written
// as such; otherwise its ranges are worked out.
type classBuilder struct {
	negated bool
	items   runeRanges // all runes since the last &&, in any order
	texts   []string   // the same as items, written out
	limit   runeRanges // what stands before the last &&
	limited bool
}

func (c *classBuilder) addRange(lo, hi rune) {
	c.items = append(c.items, [2]rune{lo, hi})
	s := quoteRune(lo)
	if hi > lo {
		s += "-" + quoteRune(hi)
	}
	c.texts = append(c.texts, s)
}

// addSet adds a set or its complement. name is how regexp2 writes it, or "".
func (c *classBuilder) addSet(set runeRanges, negated bool, name string) {
	if negated {
		set = set.complement()
	}
	c.items = append(c.items, set...)
	switch {
	case name == "" || negated:
		c.texts = append(c.texts, set.text())
	default:
		c.texts = append(c.texts, name)
	}
}

// intersect begins the right side of an &&.
func (c *classBuilder) intersect() {
	left := c.items.normal()
	if c.limited {
		left = c.limit.intersect(left)
	}
	c.limit, c.limited = left, true
	c.items, c.texts = nil, nil
}

func (c *classBuilder) close() {
	if c.limited {
		c.items = c.limit.intersect(c.items.normal())
		c.texts = []string{c.items.text()}
		c.limited = false
	}
}

// set returns the runes of the class.
func (c *classBuilder) set() runeRanges {
	s := c.items.normal()
	if c.negated {
		s = s.complement()
	}
	return s
}

// String writes the class for regexp2.
func (c *classBuilder) String() string {
	body := strings.Join(c.texts, "")
	switch {
	case body == "" && c.negated:
		return `[\s\S]`
	case body == "":
		return `(?!)`
	case c.negated:
		return "[^" + body + "]"
	}
	return "[" + body + "]"
}

// quoteRune writes a rune so that it means itself inside and outside of classes.
func quoteRune(r rune) string {
	switch {
	case r >= utf8.RuneSelf:
		return string(r)
	case r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
		return string(r)
	}
	return fmt.Sprintf(`\x%02x`, r)
}

func (t runeRanges) text() string {
	var b strings.Builder
	for _, x := range t {
		b.WriteString(quoteRune(x[0]))
		if x[1] > x[0] {
			b.WriteString("-" + quoteRune(x[1]))
		}
	}
	return b.String()
}

// normal sorts the ranges and joins those that touch.
func (t runeRanges) normal() runeRanges {
	s := slices.Clone(t)
	slices.SortFunc(s, func(a, b [2]rune) int { return cmp.Compare(a[0], b[0]) })
	out := s[:0]
	for _, x := range s {
		if n := len(out); n > 0 && x[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], x[1])
		} else {
			out = append(out, x)
		}
	}
	return out
}

// complement returns all other characters; surrogates are none.
func (t runeRanges) complement() runeRanges {
	var out runeRanges
	next := rune(0)
	for _, x := range append(t, [2]rune{0xD800, 0xDFFF}).normal() {
		if x[0] > next {
			out = append(out, [2]rune{next, x[0] - 1})
		}
		next = x[1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, [2]rune{next, unicode.MaxRune})
	}
	return out
}

// intersect returns what is in both; both are normal.
func (t runeRanges) intersect(o runeRanges) runeRanges {
	var out runeRanges
	for i, j := 0, 0; i < len(t) && j < len(o); {
		if lo, hi := max(t[i][0], o[j][0]), min(t[i][1], o[j][1]); lo <= hi {
			out = append(out, [2]rune{lo, hi})
		}
		if t[i][1] < o[j][1] {
			i++
		} else {
			j++
		}
	}
	return out
}
