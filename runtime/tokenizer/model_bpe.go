package tokenizer

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// mergeRule is what a pair of symbols turns into, and how early.
type mergeRule struct {
	rank int32 // lower goes first; noMerge where there is no rule
	id   int32
}

const noMerge = math.MaxInt32

// mergeTable maps pairs of ids to rules by open addressing.
type mergeTable struct {
	keys  []uint64 // pair + 1; 0 is empty
	rules []mergeRule
	size  int
}

func newMergeTable(capacity int) *mergeTable {
	n := 64
	for n < 2*capacity {
		n *= 2
	}
	return &mergeTable{keys: make([]uint64, n), rules: make([]mergeRule, n)}
}

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) + 1 }

func (t *mergeTable) slot(key uint64) int {
	mask := uint64(len(t.keys) - 1)
	h := key * 0x9E3779B97F4A7C15
	h = (h ^ h>>32) & mask
	for t.keys[h] != 0 && t.keys[h] != key {
		h = (h + 1) & mask
	}
	return int(h)
}

// set adds a rule; a later rule for the same pair replaces the former.
func (t *mergeTable) set(a, b int32, r mergeRule) {
	if 2*(t.size+1) > len(t.keys) {
		old := *t
		*t = *newMergeTable(2 * len(old.keys))
		for i, k := range old.keys {
			if k != 0 {
				h := t.slot(k)
				t.keys[h], t.rules[h] = k, old.rules[i]
			}
		}
		t.size = old.size
	}
	key := pairKey(a, b)
	h := t.slot(key)
	if t.keys[h] == 0 {
		t.keys[h] = key
		t.size++
	}
	t.rules[h] = r
}

func (t *mergeTable) get(a, b int32) mergeRule {
	if h := t.slot(pairKey(a, b)); t.keys[h] != 0 {
		return t.rules[h]
	}
	return mergeRule{rank: noMerge}
}

// bpe is byte-pair encoding: the symbols of a word are joined pair by pair, earliest rule first.
// Source: Sennrich et al. 2016, https://aclanthology.org/P16-1162/
type bpe struct {
	vocab        *vocab
	merges       *mergeTable
	pairs        [][2]int32 // the rules in order of rank, to write them back
	unk          int32      // -1 where there is none
	unkToken     *string
	fuseUnk      bool
	byteFallback bool
	ignoreMerges bool
	prefix       string     // of symbols that do not begin a word
	suffix       string     // of the symbol that ends a word
	dropout      float64    // probability of leaving a merge out, which makes encoding random
	bytes        [256]int32 // ids of <0x00> ... <0xFF>, -1 where missing
	raw          bool       // words are bytes still to be read as byte-level runes
	rawIDs       [256]int32 // with raw: the id of every byte's symbol, -1 where missing

	// for sentencepiece models
	unused map[int32]bool   // results that are split again in the end
	others map[string]int32 // ids of runes that are no pieces
}

func (m *bpe) vocabulary() *vocab { return m.vocab }

// link finishes a model whose vocabulary and options are set.
func (m *bpe) link() error {
	for b := range m.bytes {
		m.bytes[b] = -1
		if id, ok := m.vocab.lookup(fmt.Sprintf("<0x%02X>", b)); ok {
			m.bytes[b] = id
		}
		m.rawIDs[b] = -1
		if id, ok := m.vocab.lookup(string(byteLevel.runes[b])); ok {
			m.rawIDs[b] = id
		}
	}
	m.unk = -1
	if m.unkToken != nil {
		if id, ok := m.vocab.lookup(*m.unkToken); ok {
			m.unk = id
		}
	}
	if m.dropout < 0 || m.dropout > 1 {
		return fmt.Errorf("dropout is %v, wanted 0 to 1", m.dropout)
	}
	return nil
}

// symbol is a node of the list that a word becomes.
type symbol struct {
	id         int32
	start, end int32
	prev, next int32
}

func (m *bpe) tokenize(word string, w *work, out []token) ([]token, error) {
	if m.ignoreMerges {
		if id, ok := m.whole(word, w); ok {
			return append(out, token{id: id, end: len(word)}), nil
		}
	}
	if len(word) > math.MaxInt32-1 {
		return nil, fmt.Errorf("a word has %d bytes, the limit is %d", len(word), math.MaxInt32-1)
	}
	if m.raw {
		m.rawSymbols(word, w)
	} else {
		m.symbols(word, w)
	}
	if w.missing {
		return nil, errUnknown("BPE", *m.unkToken)
	}
	if len(w.syms) <= 32 && m.prefix == "" && m.dropout == 0 {
		m.mergeShort(w)
	} else {
		m.mergeLong(w)
	}
	for i := int32(0); i >= 0 && int(i) < len(w.syms); i = w.syms[i].next {
		s := &w.syms[i]
		out = append(out, token{id: s.id, start: int(s.start), end: int(s.end)})
	}
	return out, nil
}

// whole looks the word up as it is.
func (m *bpe) whole(word string, w *work) (int32, bool) {
	if !m.raw {
		return m.vocab.lookup(word)
	}
	w.buf = appendByteLevel(w.buf[:0], word)
	return m.vocab.lookupBytes(w.buf)
}

func (w *work) push(id int32, start, n int) int {
	i := int32(len(w.syms))
	w.syms = append(w.syms, symbol{id, int32(start), int32(start + n), i - 1, i + 1})
	return start + n
}

// rawSymbols fills w.syms with a symbol a byte. Bytes without a symbol take the unknown token.
func (m *bpe) rawSymbols(word string, w *work) {
	w.syms, w.missing = w.syms[:0], false
	unknown := 0 // length of the unknown run not yet pushed
	flush := func(end int) {
		if unknown > 0 {
			w.push(m.unk, end-unknown, unknown)
			unknown = 0
		}
	}
	for i := 0; i < len(word); i++ {
		id := m.rawIDs[word[i]]
		switch {
		case id >= 0:
			flush(i)
			w.push(id, i, 1)
		case m.unk >= 0:
			if !m.fuseUnk {
				flush(i)
			}
			unknown++
		default:
			w.missing = m.unkToken != nil
		}
	}
	flush(len(word))
	w.endSymbols()
}

func (w *work) endSymbols() {
	if n := len(w.syms); n > 0 {
		w.syms[n-1].next = -1
	}
}

// symbols fills w.syms with the symbols of the word's runes. An unknown rune that waits to be fused
// comes after the byte tokens that follow it, as in the reference.
func (m *bpe) symbols(word string, w *work) {
	w.syms, w.missing = w.syms[:0], false
	pos, unknown := 0, 0
	for i, r := range word {
		n := utf8.RuneLen(r)
		key := word[i : i+n]
		if i > 0 && m.prefix != "" {
			key = m.prefix + key
		}
		if i+n == len(word) && m.suffix != "" {
			key += m.suffix
		}
		id, ok := m.vocab.lookup(key)
		switch {
		case ok:
			if unknown > 0 {
				pos = w.push(m.unk, pos, unknown)
				unknown = 0
			}
			pos = w.push(id, pos, n)
		case m.byteFallback && m.hasBytes(key):
			for k := 0; k < len(key); k++ {
				pos = w.push(m.bytes[key[k]], pos, 1)
			}
		case m.unk >= 0:
			if unknown > 0 && !m.fuseUnk {
				pos = w.push(m.unk, pos, unknown)
				unknown = 0
			}
			unknown += n
		default:
			w.missing = m.unkToken != nil
		}
	}
	if unknown > 0 {
		w.push(m.unk, pos, unknown)
	}
	w.endSymbols()
}

func (m *bpe) hasBytes(s string) bool {
	for i := 0; i < len(s); i++ {
		if m.bytes[s[i]] < 0 {
			return false
		}
	}
	return true
}

// mergeShort joins the pair of lowest rank again and again by looking at all of them.
// Time: quadratic in the number of symbols, which is what is fastest for the usual word.
func (m *bpe) mergeShort(w *work) {
	s := w.syms
	if len(s) < 2 {
		return
	}
	r := w.ranks[:0]
	for i := 0; i+1 < len(s); i++ {
		r = append(r, m.merges.get(s[i].id, s[i+1].id))
	}
	for {
		best, at := int32(noMerge), -1
		for i := range r {
			if r[i].rank < best {
				best, at = r[i].rank, i
			}
		}
		if at < 0 {
			break
		}
		s[at].id, s[at].end = r[at].id, s[at+1].end
		s = append(s[:at+1], s[at+2:]...)
		r = append(r[:at], r[at+1:]...)
		if at > 0 {
			r[at-1] = m.merges.get(s[at-1].id, s[at].id)
		}
		if at < len(r) {
			r[at] = m.merges.get(s[at].id, s[at+1].id)
		}
	}
	for i := range s {
		s[i].next = int32(i + 1)
	}
	s[len(s)-1].next = -1
	w.syms, w.ranks = s, r
}
