package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// span is a range of bytes of the original text.
type span struct{ start, end int }

// text is a piece of the input on its way through normalizers and pre-tokenizers: the string as it is
// now and, where offsets were asked for, the original bytes that every byte of it came from.
// Source of the alignment rules: NormalizedString of the Hugging Face tokenizers library.
type text struct {
	s     string
	base  int    // original offset of s[0], while align is nil
	align []span // per byte of s; nil means that s is unchanged
	track bool   // whether align is kept up
	start int    // original offset at which this piece begins
	whole int    // bytes of the whole original text
}

// The normalized text may have growthBase bytes and growthFactor times those of the original.
const (
	growthBase   = 1 << 20
	growthFactor = 128
)

// mayGrow fails where a piece of n bytes is far beyond what any sensible normalizer makes of the text.
func (t *text) mayGrow(n int) error {
	if n > growthBase+growthFactor*t.whole {
		return fmt.Errorf("the normalizer makes %d bytes out of %d: the limit is %d and %d for each byte",
			n, t.whole, growthBase, growthFactor)
	}
	return nil
}

// change is one rune of a rewritten string. n is 0 where it stands for one old rune, -k where k further
// old runes vanish behind it, 1 where it is new.
type change struct {
	r rune
	n int
}

// at returns the original span of byte i.
func (t *text) at(i int) span {
	if t.align != nil {
		return t.align[i]
	}
	a := i
	for a > 0 && !utf8.RuneStart(t.s[a]) {
		a--
	}
	_, n := utf8.DecodeRuneInString(t.s[a:])
	return span{t.base + a, t.base + a + n}
}

// original returns the original span of bytes [a, b), a < b.
func (t *text) original(a, b int) span {
	return span{t.at(a).start, t.at(b - 1).end}
}

// slice returns the piece [a, b).
func (t *text) slice(a, b int) text {
	p := text{s: t.s[a:b], base: t.base + a, track: t.track, start: t.base + a, whole: t.whole}
	if t.align != nil {
		p.align = t.align[a:b:b]
		if a < b {
			p.start = t.align[a].start
		}
	}
	return p
}

// materialize makes align explicit.
func (t *text) materialize() {
	if t.align != nil || !t.track {
		return
	}
	t.align = make([]span, 0, len(t.s))
	for i, r := range t.s {
		n := utf8.RuneLen(r)
		for range n {
			t.align = append(t.align, span{t.base + i, t.base + i + n})
		}
	}
}

// transform replaces bytes [from, to) by the changes; the first skip old runes of the range vanish.
func (t *text) transform(from, to int, changes []change, skip int) {
	var b strings.Builder
	b.Grow(len(t.s) + 16)
	b.WriteString(t.s[:from])
	for _, c := range changes {
		b.WriteRune(c.r)
	}
	b.WriteString(t.s[to:])
	if t.track {
		t.materialize()
		t.align = t.realign(from, to, changes, skip)
	}
	t.s = b.String()
}

func (t *text) realign(from, to int, changes []change, skip int) []span {
	out := make([]span, 0, len(t.align)+16)
	out = append(out, t.align[:from]...)
	at := from
	next := func() {
		if at < to {
			_, n := utf8.DecodeRuneInString(t.s[at:to])
			at += n
		}
	}
	for range skip {
		next()
	}
	for _, c := range changes {
		var al span
		switch {
		case c.n > 0 && at == 0:
			al = span{t.start, t.start}
		case c.n > 0:
			al = t.align[at-1]
		case at < len(t.align):
			al = t.align[at]
		}
		if c.n <= 0 {
			next()
		}
		for range -c.n {
			next()
		}
		for range utf8.RuneLen(c.r) {
			out = append(out, al)
		}
	}
	return append(out, t.align[to:]...)
}

// rewrite replaces the whole string.
func (t *text) rewrite(changes []change, skip int) { t.transform(0, len(t.s), changes, skip) }

// filter drops the runes that keep refuses.
func (t *text) filter(keep func(rune) bool) {
	all := true
	for _, r := range t.s {
		if !keep(r) {
			all = false
			break
		}
	}
	if all {
		return
	}
	if !t.track {
		t.s = strings.Map(func(r rune) rune {
			if keep(r) {
				return r
			}
			return -1
		}, t.s)
		return
	}
	var out []change
	skip, removed := 0, 0
	for _, r := range t.s {
		switch {
		case !keep(r):
			removed++
			continue
		case len(out) > 0:
			out[len(out)-1].n = -removed
		default:
			skip = removed
		}
		out = append(out, change{r: r})
		removed = 0
	}
	if len(out) > 0 {
		out[len(out)-1].n = -removed
	}
	t.rewrite(out, skip)
}

// expand replaces every rune by the runes that f returns for it, at least one.
func (t *text) expand(f func(r rune, buf []rune) []rune) {
	var buf [4]rune
	same := true
	for _, r := range t.s {
		if out := f(r, buf[:0]); len(out) != 1 || out[0] != r {
			same = false
			break
		}
	}
	if same {
		return
	}
	if !t.track {
		var b strings.Builder
		b.Grow(len(t.s) + 8)
		for _, r := range t.s {
			for _, o := range f(r, buf[:0]) {
				b.WriteRune(o)
			}
		}
		t.s = b.String()
		return
	}
	out := make([]change, 0, len(t.s))
	for _, r := range t.s {
		for i, o := range f(r, buf[:0]) {
			out = append(out, change{r: o, n: min(i, 1)})
		}
	}
	t.rewrite(out, 0)
}

// prepend puts prefix before a text that is not empty.
func (t *text) prepend(prefix string) {
	if t.s == "" || prefix == "" {
		return
	}
	if !t.track {
		t.s = prefix + t.s
		return
	}
	r, n := utf8.DecodeRuneInString(t.s)
	var out []change
	for _, p := range prefix {
		out = append(out, change{r: p, n: min(len(out), 1)})
	}
	t.transform(0, n, append(out, change{r: r, n: 1}), 0)
}

// replace puts content in the place of every match.
func (t *text) replace(matches []span, content string) {
	if len(matches) == 0 {
		return
	}
	if t.track {
		t.materialize()
		out := make([]span, 0, len(t.align))
		last := 0
		for _, m := range matches {
			out = append(out, t.align[last:m.start]...)
			al := span{t.start, t.start}
			if m.end > 0 {
				al = t.align[m.end-1]
			}
			for range len(content) {
				out = append(out, al)
			}
			last = m.end
		}
		t.align = append(out, t.align[last:]...)
	}
	var b strings.Builder
	b.Grow(len(t.s) + len(matches)*max(0, len(content)-1))
	last := 0
	for _, m := range matches {
		b.WriteString(t.s[last:m.start])
		b.WriteString(content)
		last = m.end
	}
	b.WriteString(t.s[last:])
	t.s = b.String()
}

// strip removes white space at the ends.
func (t *text) strip(left, right bool) {
	a, b := 0, len(t.s)
	if left {
		a = b - len(strings.TrimLeftFunc(t.s, isSpace))
	}
	if right {
		b = a + len(strings.TrimRightFunc(t.s[a:], isSpace))
	}
	if a == 0 && b == len(t.s) {
		return
	}
	if t.track {
		t.materialize()
		t.align = t.align[a:b:b]
	}
	t.s = t.s[a:b]
}

// literalMatches finds the places of lit, which do not overlap.
func literalMatches(s, lit string) []span {
	var out []span
	if lit == "" {
		return nil
	}
	for at := 0; ; {
		i := strings.Index(s[at:], lit)
		if i < 0 {
			return out
		}
		out = append(out, span{at + i, at + i + len(lit)})
		at += i + len(lit)
	}
}

// runeMatches finds the runes that f accepts.
func runeMatches(s string, f func(rune) bool) []span {
	var out []span
	for i, r := range s {
		if f(r) {
			out = append(out, span{i, i + utf8.RuneLen(r)})
		}
	}
	return out
}
