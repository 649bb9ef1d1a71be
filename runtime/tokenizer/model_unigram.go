package tokenizer

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// unkPenalty is how much worse than the worst token an unknown rune scores.
const unkPenalty = 10

// unigram picks the split of a word whose tokens have the highest sum of log probabilities.
// Source: Kudo 2018, https://aclanthology.org/P18-1007/; sentencepiece, unigram_model.cc, EncodeOptimized
type unigram struct {
	vocab        *vocab
	scores       []float64 // by id
	names        []string  // by id, since a string may occur twice
	unk          int32     // -1 where there is none
	byteFallback bool
	trie         *trie
	minScore     float64
	bytes        [256]int32
	single       bool // add up in single precision, as sentencepiece does
}

func (m *unigram) vocabulary() *vocab { return m.vocab }

// link finishes a model whose names, scores and options are set.
func (m *unigram) link() error {
	m.vocab = newVocab(len(m.names))
	keys := make([]trieKey, 0, len(m.names))
	m.minScore = math.Inf(1)
	for i, s := range m.names {
		m.vocab.add([]byte(s), int32(i))
		if s != "" {
			keys = append(keys, trieKey{s, int32(i)})
		}
		m.minScore = min(m.minScore, m.scores[i])
	}
	if int(m.unk) >= len(m.names) {
		return fmt.Errorf("unk_id is %d but the vocabulary has %d entries", m.unk, len(m.names))
	}
	m.trie = newTrie(keys)
	for b := range m.bytes {
		m.bytes[b] = -1
		if id, ok := m.vocab.lookup(fmt.Sprintf("<0x%02X>", b)); ok {
			m.bytes[b] = id
		}
	}
	return nil
}

// latticeNode is the best way to reach a byte of the word: by the token id that starts at from.
type latticeNode struct {
	score float64
	id    int32
	from  int32 // -1 while not reached
}

func (m *unigram) tokenize(word string, w *work, out []token) ([]token, error) {
	if err := m.lattice(word, w); err != nil {
		return nil, err
	}
	w.scratch = w.scratch[:0] // the pieces, last first; unknown neighbours are one
	fused := false
	for end := len(word); end > 0; {
		n := w.nodes[end]
		if n.id == m.unk && fused {
			w.scratch[len(w.scratch)-1].start = int(n.from)
		} else {
			w.scratch = append(w.scratch, span{int(n.from), end})
		}
		fused = n.id == m.unk
		end = int(n.from)
	}
	for i := len(w.scratch) - 1; i >= 0; i-- {
		var err error
		if out, err = m.emit(word, w.scratch[i], out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *unigram) emit(word string, p span, out []token) ([]token, error) {
	s := word[p.start:p.end]
	if id, ok := m.vocab.lookup(s); ok {
		return append(out, token{id: id, start: p.start, end: p.end}), nil
	}
	if m.byteFallback {
		n := len(out)
		for i := 0; i < len(s) && m.bytes[s[i]] >= 0; i++ {
			out = append(out, token{id: m.bytes[s[i]], start: p.start, end: p.end})
		}
		if len(out)-n == len(s) {
			return out, nil
		}
		out = out[:n]
	}
	if m.unk < 0 {
		return nil, fmt.Errorf("the Unigram model: %q is not in the vocabulary and the file has no unk_id", s)
	}
	return append(out, token{id: m.unk, start: p.start, end: p.end, text: s}), nil
}

func (m *unigram) lattice(word string, w *work) error {
	if cap(w.nodes) <= len(word) {
		w.nodes = make([]latticeNode, len(word)+1)
	}
	nodes := w.nodes[:len(word)+1]
	w.nodes = nodes
	for i := range nodes {
		nodes[i] = latticeNode{from: -1}
	}
	reach := func(at int, score float64, id int32, from int) {
		if n := &nodes[at]; n.from < 0 || score > n.score {
			if m.single {
				score = float64(float32(score))
			}
			*n = latticeNode{score, id, int32(from)}
		}
	}
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRuneInString(word[i:])
		base, single := nodes[i].score, false
		node := int32(0)
		for k := i; k < len(word); k++ {
			if node = m.trie.child(node, word[k]); node == 0 {
				break
			}
			if id := m.trie.values[node]; id >= 0 {
				reach(k+1, m.scores[id]+base, id, i)
				single = single || k+1-i == size
			}
		}
		if !single {
			if m.unk < 0 {
				return fmt.Errorf("the Unigram model: %q is not in the vocabulary and the file has no unk_id", word[i:i+size])
			}
			score := m.minScore - unkPenalty + base
			if m.single {
				score = float64(float32(m.minScore-unkPenalty) + float32(base))
			}
			reach(i+size, score, m.unk, i)
		}
		i += size
	}
	return nil
}
