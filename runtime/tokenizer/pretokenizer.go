package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// preTokenizer cuts a piece of text into smaller ones, appending them to out. Empty pieces are left out.
type preTokenizer interface {
	split(t text, out []text) ([]text, error)
}

func parsePreTokenizer(raw json.RawMessage) (preTokenizer, error) {
	if isNull(raw) {
		return nil, nil
	}
	kind, err := typeOf(raw)
	if err != nil {
		return nil, err
	}
	var p preTokenizer
	switch kind {
	case "Sequence":
		members, err := sequence(raw, "pretokenizers", parsePreTokenizer)
		return preSequence(members), err
	case "ByteLevel":
		p = &preByteLevel{AddPrefixSpace: true, UseRegex: true}
	case "Metaspace":
		return parseMetaspace(raw)
	case "Split":
		p = &preSplit{Behavior: isolated}
	case "Punctuation":
		p = &prePunctuation{Behavior: isolated}
	case "Digits":
		p = &preDigits{}
	case "Whitespace":
		return preWhitespace{}, nil
	case "WhitespaceSplit":
		return preWhitespaceSplit{}, nil
	case "BertPreTokenizer":
		return preBert{}, nil
	case "UnicodeScripts":
		return preScripts{}, nil
	case "CharDelimiterSplit":
		p = &preDelimiter{}
	case "FixedLength":
		p = &preFixedLength{Length: 5}
	default:
		return nil, fmt.Errorf("pre-tokenizer type %q is not known", kind)
	}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("pre-tokenizer %s: %w", kind, err)
	}
	if f, ok := p.(*preFixedLength); ok && f.Length < 1 {
		return nil, fmt.Errorf("pre-tokenizer FixedLength: length is %d, wanted at least 1", f.Length)
	}
	return p, nil
}

// behavior says what becomes of the matches of a split.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

func (b *behavior) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	switch behavior(s) {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
		*b = behavior(s)
		return nil
	}
	return fmt.Errorf("split behavior %q is not known", s)
}

type part struct {
	span
	match bool
}

// partition covers [0, n) with the matches and the gaps between them.
func partition(n int, matches []span, invert bool) []part {
	out := make([]part, 0, 2*len(matches)+1)
	last := 0
	for _, m := range matches {
		if m.start > last {
			out = append(out, part{span{last, m.start}, invert})
		}
		out = append(out, part{m, !invert})
		last = m.end
	}
	if last < n {
		out = append(out, part{span{last, n}, invert})
	}
	return out
}

// merge joins neighbouring parts as the behavior says. parts is overwritten.
func (b behavior) merge(parts []part) []part {
	out := parts[:0]
	before := false
	switch b {
	case removed:
		for _, p := range parts {
			if !p.match {
				out = append(out, p)
			}
		}
	case mergedWithPrevious:
		for _, p := range parts {
			if p.match && !before && len(out) > 0 {
				out[len(out)-1].end = p.end
			} else {
				out = append(out, p)
			}
			before = p.match
		}
	case contiguous:
		for _, p := range parts {
			if p.match == before && len(out) > 0 {
				out[len(out)-1].end = p.end
			} else {
				out = append(out, p)
			}
			before = p.match
		}
	case mergedWithNext:
		k := len(parts)
		for i := len(parts) - 1; i >= 0; i-- {
			p := parts[i]
			if p.match && !before && k < len(parts) {
				parts[k].start = p.start
			} else {
				k--
				parts[k] = p
			}
			before = p.match
		}
		out = parts[k:]
	default:
		out = parts
	}
	return out
}

func (b behavior) cut(t text, matches []span, invert bool, out []text) []text {
	for _, p := range b.merge(partition(len(t.s), matches, invert)) {
		if p.end > p.start {
			out = append(out, t.slice(p.start, p.end))
		}
	}
	return out
}

type preSequence []preTokenizer

func (q preSequence) split(t text, out []text) ([]text, error) {
	now := []text{t}
	for _, p := range q {
		var next []text
		for _, x := range now {
			var err error
			if next, err = p.split(x, next); err != nil {
				return nil, err
			}
		}
		now = next
	}
	return append(out, now...), nil
}

type preSplit struct {
	Pattern  pattern
	Behavior behavior
	Invert   bool
}

func (p *preSplit) split(t text, out []text) ([]text, error) {
	m, err := p.Pattern.matches(t.s)
	if err != nil {
		return nil, err
	}
	return p.Behavior.cut(t, m, p.Invert, out), nil
}

// preByteLevel turns the bytes of every piece into byte-level runes. With raw set, which is the case
// where it comes last before a BPE model, the model does that and the pieces stay as they are.
type preByteLevel struct {
	AddPrefixSpace bool `json:"add_prefix_space"`
	UseRegex       bool `json:"use_regex"`
	raw            bool
}

func (p *preByteLevel) split(t text, out []text) ([]text, error) {
	if p.AddPrefixSpace && !strings.HasPrefix(t.s, " ") {
		t.prepend(" ")
	}
	if !p.UseRegex {
		if t.s != "" {
			out = append(out, t)
			p.rewrite(out[len(out)-1:])
		}
		return out, nil
	}
	n := len(out)
	splitByteLevel(t.s, func(a, b int) { out = append(out, t.slice(a, b)) })
	p.rewrite(out[n:])
	return out, nil
}

func (p *preByteLevel) rewrite(pieces []text) {
	if p.raw {
		return
	}
	for i := range pieces {
		pieces[i].toByteLevel()
	}
}

// toByteLevel replaces every byte by its byte-level rune.
func (t *text) toByteLevel() {
	s := string(appendByteLevel(nil, t.s))
	if t.track {
		var align []span
		for i := 0; i < len(t.s); i++ {
			al := t.at(i)
			for range utf8.RuneLen(byteLevel.runes[t.s[i]]) {
				align = append(align, al)
			}
		}
		t.align = align
	}
	t.s = s
}

type preDigits struct {
	Individual bool `json:"individual_digits"`
}

func (p *preDigits) split(t text, out []text) ([]text, error) {
	b := contiguous
	if p.Individual {
		b = isolated
	}
	return b.cut(t, runeMatches(t.s, isNumeric), false, out), nil
}

type prePunctuation struct{ Behavior behavior }

func (p *prePunctuation) split(t text, out []text) ([]text, error) {
	return p.Behavior.cut(t, runeMatches(t.s, isPunctuation), false, out), nil
}

type preWhitespaceSplit struct{}

func (preWhitespaceSplit) split(t text, out []text) ([]text, error) {
	return removed.cut(t, runeMatches(t.s, isSpace), false, out), nil
}

// preWhitespace keeps the matches of \w+|[^\w\s]+.
type preWhitespace struct{}

func (preWhitespace) split(t text, out []text) ([]text, error) {
	kind := func(r rune) int {
		switch {
		case isWord(r):
			return 1
		case isSpace(r):
			return 0
		}
		return 2
	}
	start, last := 0, 0
	for i, r := range t.s {
		k := kind(r)
		if k != last && last != 0 {
			out = append(out, t.slice(start, i))
		}
		if k != last {
			start, last = i, k
		}
	}
	if last != 0 {
		out = append(out, t.slice(start, len(t.s)))
	}
	return out, nil
}

type preBert struct{}

func (preBert) split(t text, out []text) ([]text, error) {
	for _, w := range removed.cut(t, runeMatches(t.s, isSpace), false, nil) {
		out = isolated.cut(w, runeMatches(w.s, isPunctuation), false, out)
	}
	return out, nil
}

type preDelimiter struct{ Delimiter runeValue }

func (p *preDelimiter) split(t text, out []text) ([]text, error) {
	return removed.cut(t, literalMatches(t.s, string(rune(p.Delimiter))), false, out), nil
}

type preFixedLength struct{ Length int }

func (p *preFixedLength) split(t text, out []text) ([]text, error) {
	start, n := 0, 0
	for i := range t.s {
		if n == p.Length {
			out = append(out, t.slice(start, i))
			start, n = i, 0
		}
		n++
	}
	if n > 0 {
		out = append(out, t.slice(start, len(t.s)))
	}
	return out, nil
}
