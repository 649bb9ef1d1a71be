package tokenizer

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Encoding is everything known about the tokens of a text. All slices have one element a token.
type Encoding struct {
	IDs         []int32
	TypeIDs     []int32  // 0 for the first text, 1 for the second, or what the post-processor says
	Tokens      []string // vocabulary strings
	Words       []int32  // index of the pre-tokenized word, -1 for special tokens and padding
	Offsets     [][2]int // bytes [from, to) of the text given, 0 0 for special tokens and padding
	SpecialMask []int32  // 1 where the post-processor or padding put the token
	Attention   []int32  // 0 for padding
	Sequences   []int32  // 0 or 1: the text that the token comes from, -1 where none
	Overflowing []Encoding
	source      string // the text, for trimming offsets by characters
}

// Len returns the number of tokens.
func (e *Encoding) Len() int { return len(e.IDs) }

// CharOffsets returns the offsets counted in characters (runes) of the text they belong to, as the
// Python library gives them. texts are the one or two texts that were encoded.
func (e *Encoding) CharOffsets(texts ...string) [][2]int {
	counts := make([][]int, len(texts))
	for i, s := range texts {
		s = clean(s)
		counts[i] = make([]int, len(s)+1)
		n := 0
		for b := range len(s) {
			counts[i][b] = n
			if b+1 == len(s) || utf8.RuneStart(s[b+1]) {
				n++
			}
		}
		counts[i][len(s)] = n
	}
	out := make([][2]int, len(e.Offsets))
	for i, o := range e.Offsets {
		if q := int(e.Sequences[i]); q >= 0 && q < len(texts) {
			last := len(counts[q]) - 1
			out[i] = [2]int{counts[q][min(o[0], last)], counts[q][min(o[1], last)]}
		}
	}
	return out
}

func (e *Encoding) slice(a, b int) Encoding {
	return Encoding{
		IDs: slices.Clone(e.IDs[a:b]), TypeIDs: slices.Clone(e.TypeIDs[a:b]),
		Tokens: slices.Clone(e.Tokens[a:b]), Words: slices.Clone(e.Words[a:b]),
		Offsets: slices.Clone(e.Offsets[a:b]), SpecialMask: slices.Clone(e.SpecialMask[a:b]),
		Attention: slices.Clone(e.Attention[a:b]), Sequences: slices.Clone(e.Sequences[a:b]), source: e.source,
	}
}

func (e *Encoding) clone() Encoding {
	c := e.slice(0, e.Len())
	c.Overflowing = slices.Clone(e.Overflowing)
	return c
}

// add appends one token.
func (e *Encoding) add(id, typeID int32, tok string, word int32, o [2]int, special, attention, seq int32) {
	e.IDs = append(e.IDs, id)
	e.TypeIDs = append(e.TypeIDs, typeID)
	e.Tokens = append(e.Tokens, tok)
	e.Words = append(e.Words, word)
	e.Offsets = append(e.Offsets, o)
	e.SpecialMask = append(e.SpecialMask, special)
	e.Attention = append(e.Attention, attention)
	e.Sequences = append(e.Sequences, seq)
}

// join appends the tokens of o, and combines the overflowing parts of both.
func (e *Encoding) join(o Encoding) {
	var over []Encoding
	with := func(a, b Encoding) {
		a, b = a.clone(), b.clone()
		a.Overflowing, b.Overflowing = nil, nil
		a.join(b)
		over = append(over, a)
	}
	for _, mine := range e.Overflowing {
		with(mine, o)
		for _, theirs := range o.Overflowing {
			with(mine, theirs)
		}
	}
	for _, theirs := range o.Overflowing {
		with(*e, theirs)
	}
	e.IDs = append(e.IDs, o.IDs...)
	e.TypeIDs = append(e.TypeIDs, o.TypeIDs...)
	e.Tokens = append(e.Tokens, o.Tokens...)
	e.Words = append(e.Words, o.Words...)
	e.Offsets = append(e.Offsets, o.Offsets...)
	e.SpecialMask = append(e.SpecialMask, o.SpecialMask...)
	e.Attention = append(e.Attention, o.Attention...)
	e.Sequences = append(e.Sequences, o.Sequences...)
	e.Overflowing = over
}

// truncate keeps limit tokens and puts the others into overflowing parts, which overlap by stride.
func (e *Encoding) truncate(limit, stride int, left bool) error {
	n := e.Len()
	if limit >= n {
		return nil
	}
	if limit == 0 {
		*e = Encoding{Overflowing: []Encoding{*e}}
		return nil
	}
	if stride >= limit {
		return fmt.Errorf("truncation: stride is %d, wanted less than the %d tokens that remain", stride, limit)
	}
	var parts []Encoding
	for k, done := 0, false; !done && k < n; k += limit - stride {
		from, to := k, min(k+limit, n)
		if done = to == n; left {
			to = n - k
			from = max(to-limit, 0)
			done = from == 0
		}
		parts = append(parts, e.slice(from, to))
	}
	parts[0].Overflowing = parts[1:]
	*e = parts[0]
	return nil
}

// pad brings the encoding and its overflowing parts to n tokens.
func (e *Encoding) pad(n int, p *Padding) {
	for i := range e.Overflowing {
		e.Overflowing[i].pad(n, p)
	}
	more := n - e.Len()
	if more <= 0 {
		return
	}
	var fill Encoding
	for range more {
		fill.add(p.ID, p.TypeID, p.Token, -1, [2]int{}, 1, 0, -1)
	}
	over := e.Overflowing
	e.Overflowing = nil
	if p.Left {
		fill.join(*e)
		*e = fill
	} else {
		e.join(fill)
	}
	e.Overflowing = over
}
