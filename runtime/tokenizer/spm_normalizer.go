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

// spmRun is one use of a normalizer.
type spmRun struct {
	n     *spmNormalizer
	t     *text
	out   spmOutput
	space string // what a space becomes
}

// origin returns the original span of bytes [a, b) of the text.
func (r *spmRun) origin(a, b int) span {
	if a >= b || !r.t.track {
		return span{r.t.start, r.t.start}
	}
	return r.t.original(a, b)
}

func (n *spmNormalizer) normalize(t *text) error {
	r := &spmRun{n: n, t: t, out: spmOutput{track: t.track}, space: " "}
	if n.escapes {
		r.space = spmSpace
	}
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
	if at == len(t.s) {
		t.s, t.align = "", nil
		return nil
	}
	r.out.b.Grow(len(t.s) + len(t.s)/2 + 8)
	if n.dummyPrefix && !n.suffixSpace {
		first := r.origin(at, len(t.s)).start
		r.out.put(r.space, span{first, first})
	}
	if err := r.body(at); err != nil {
		return err
	}
	r.finish()
	return nil
}

// body rewrites the text from byte at on.
func (r *spmRun) body(at int) error {
	before := r.n.removeExtra // whether a space came last
	for s := r.t.s; at < len(s); {
		to, k := r.n.prefix(s[at:])
		if before {
			to = strings.TrimLeft(to, " ")
		}
		if to != "" {
			before = strings.HasSuffix(to, " ")
			if r.n.escapes && strings.Contains(to, " ") {
				to = strings.ReplaceAll(to, " ", spmSpace)
			}
			r.out.put(to, r.origin(at, at+k))
		}
		at += k
		before = before && r.n.removeExtra
		if err := r.t.mayGrow(r.out.b.Len()); err != nil {
			return err
		}
	}
	return nil
}

// finish takes the spaces from the end, or puts the one that belongs there, and changes the text.
func (r *spmRun) finish() {
	end := r.origin(0, len(r.t.s)).end
	s, align := r.out.b.String(), r.out.align
	if r.n.removeExtra {
		for strings.HasSuffix(s, r.space) {
			s = s[:len(s)-len(r.space)]
		}
	}
	if r.n.dummyPrefix && r.n.suffixSpace {
		s += r.space
	}
	if r.t.track {
		align = align[:min(len(s), len(align))]
		for len(align) < len(s) {
			align = append(align, span{end, end})
		}
		r.t.align = align
	}
	r.t.s = s
}
