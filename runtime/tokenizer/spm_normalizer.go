package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// spmSpace is what sentencepiece writes for a space.
const spmSpace = "▁"

// spmNormalizer rewrites text by a charsmap and marks spaces.
// Source: https://github.com/google/sentencepiece/blob/master/src/normalizer.cc, Normalizer::Normalize
type spmNormalizer struct {
	spmRules
	table       *charsmap
	symbols     *trie // user-defined symbols, which stay as they are; nil where there are none
	suffixSpace bool  // the space goes behind a word
}

func newSPMNormalizer(r spmRules) (*spmNormalizer, error) {
	table, err := parseCharsmap(r.charsmap)
	return &spmNormalizer{spmRules: r, table: table}, err
}

// prefix returns what the beginning of s becomes, and how many bytes that takes.
func (n *spmNormalizer) prefix(s string) (string, int) {
	if n.symbols != nil {
		if k, _ := n.symbols.longest(s); k > 0 {
			return s[:k], k
		}
	}
	if n.table != nil {
		size, value := 0, 0
		n.table.prefixes(s, func(k, v int) bool {
			size, value = k, v
			return true
		})
		if size > 0 {
			return n.table.value(value), size
		}
	}
	_, k := utf8.DecodeRuneInString(s)
	return s[:k], k
}

// spmOutput collects normalized text with its origin.
type spmOutput struct {
	b     strings.Builder
	align []span
	track bool
}

func (o *spmOutput) put(s string, from span) {
	o.b.WriteString(s)
	if o.track {
		for range len(s) {
			o.align = append(o.align, from)
		}
	}
}

func (n *spmNormalizer) normalize(t *text) error {
	at := 0
	if n.removeExtra {
		for at < len(t.s) {
			s, k := n.prefix(t.s[at:])
			if s != " " {
				break
			}
			at += k
		}
	}
	out := spmOutput{track: t.track}
	out.b.Grow(len(t.s) + len(t.s)/2 + 8)
	origin := func(a, b int) span {
		if a >= b || !t.track {
			return span{t.start, t.start}
		}
		return t.original(a, b)
	}
	space := " "
	if n.escapes {
		space = spmSpace
	}
	empty := at == len(t.s)
	if n.dummyPrefix && !n.suffixSpace && !empty {
		out.put(space, span{origin(at, len(t.s)).start, origin(at, len(t.s)).start})
	}
	before := n.removeExtra // whether a space came last
	for at < len(t.s) {
		s, k := n.prefix(t.s[at:])
		if before {
			s = strings.TrimLeft(s, " ")
		}
		if s != "" {
			before = strings.HasSuffix(s, " ")
			if n.escapes && strings.Contains(s, " ") {
				s = strings.ReplaceAll(s, " ", spmSpace)
			}
			out.put(s, origin(at, at+k))
		}
		at += k
		before = before && n.removeExtra
	}
	end := origin(0, len(t.s)).end
	s := out.b.String()
	if n.removeExtra {
		for strings.HasSuffix(s, space) {
			s = s[:len(s)-len(space)]
		}
	}
	if n.dummyPrefix && n.suffixSpace && !empty {
		s += space
	}
	if t.track {
		out.align = out.align[:min(len(s), len(out.align))]
		for len(out.align) < len(s) {
			out.align = append(out.align, span{end, end})
		}
		t.align = out.align
	}
	t.s = s
	return nil
}
