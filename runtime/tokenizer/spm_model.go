package tokenizer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// spmModel is one of sentencepiece's four models. Ids are places in the list of pieces.
// Source: https://github.com/google/sentencepiece/tree/master/src (bpe_model.cc, unigram_model.cc,
// word_model.cc, char_model.cc, sentencepiece_processor.cc)
type spmModel struct {
	file    *spmFile
	vocab   *vocab
	unk     int32
	bytes   [256]int32 // ids of the byte pieces, unk where missing
	symbols *trie      // user-defined symbols, nil where there are none
	bpe     *bpe       // the merges, for BPE
	unigram *unigram
	frozen  int32 // base of the ids of user-defined symbols while merging
}

func (m *spmModel) vocabulary() *vocab { return m.vocab }

func newSPMModel(f *spmFile) (*spmModel, error) {
	m := &spmModel{file: f, vocab: newVocab(len(f.pieces)), unk: -1}
	var user []trieKey
	for i, p := range f.pieces {
		if _, dup := m.vocab.lookup(p.piece); dup {
			return nil, fmt.Errorf("piece %d: %q is there twice", i, p.piece)
		}
		m.vocab.add([]byte(p.piece), int32(i))
		switch p.kind {
		case pieceUser:
			user = append(user, trieKey{p.piece, int32(i)})
		case pieceUnknown:
			if m.unk >= 0 {
				return nil, fmt.Errorf("pieces %d and %d both are the unknown piece", m.unk, i)
			}
			m.unk = int32(i)
		}
	}
	if m.unk < 0 {
		return nil, fmt.Errorf("no piece is the unknown piece")
	}
	for b := range m.bytes {
		id, ok := m.vocab.lookup(fmt.Sprintf("<0x%02X>", b))
		if m.bytes[b] = id; f.trainer.byteFallback && (!ok || f.pieces[id].kind != pieceByte) {
			return nil, fmt.Errorf("byte_fallback is set but there is no byte piece <0x%02X>", b)
		}
	}
	if len(user) > 0 {
		m.symbols = newTrie(user)
	}
	switch f.trainer.kind {
	case spmBPE:
		m.linkBPE()
	case spmUnigram:
		m.linkUnigram()
	}
	return m, nil
}

// inText tells whether a piece can come out of text by itself.
func (p *spmPiece) inText() bool {
	return p.kind == pieceNormal || p.kind == pieceUser || p.kind == pieceUnused
}

// linkBPE writes the pieces as merges: every way to cut a piece into two symbols makes a rule whose rank
// is that of the piece's score. Runes that are no pieces get ids of their own.
func (m *spmModel) linkBPE() {
	b := &bpe{vocab: m.vocab, merges: newMergeTable(2 * len(m.file.pieces)), unk: m.unk}
	next := int32(len(m.file.pieces))
	other := map[string]int32{}
	symbol := func(s string) (int32, bool) {
		id, ok := m.vocab.lookup(s)
		_, n := utf8.DecodeRuneInString(s)
		if n < len(s) {
			return id, ok && m.file.pieces[id].inText()
		}
		if !ok {
			if id, ok = other[s]; !ok {
				id = next
				other[s] = id
				next++
			}
		}
		return id, true
	}
	ranks := m.scoreRanks()
	for i := range m.file.pieces {
		p := &m.file.pieces[i]
		if !p.inText() {
			continue
		}
		if p.kind == pieceUnused {
			if b.unused == nil {
				b.unused = map[int32]bool{}
			}
			b.unused[int32(i)] = true
		}
		for k := range p.piece {
			if k == 0 {
				continue
			}
			if left, ok := symbol(p.piece[:k]); ok {
				if right, ok := symbol(p.piece[k:]); ok {
					b.merges.set(left, right, mergeRule{ranks[i], int32(i)})
				}
			}
		}
	}
	b.others = other
	m.bpe, m.frozen = b, next
}

// scoreRanks numbers the scores from the highest on; equal scores share a rank.
func (m *spmModel) scoreRanks() []int32 {
	order := make([]int32, len(m.file.pieces))
	for i := range order {
		order[i] = int32(i)
	}
	score := func(i int32) float32 { return m.file.pieces[i].score }
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(score(b), score(a)) })
	ranks := make([]int32, len(order))
	rank := int32(0)
	for k, i := range order {
		if k > 0 && score(order[k-1]) != score(i) {
			rank++
		}
		ranks[i] = rank
	}
	return ranks
}

func (m *spmModel) linkUnigram() {
	low, high := float32(math.MaxFloat32), float32(0x1p-126)
	for i := range m.file.pieces {
		if p := &m.file.pieces[i]; p.kind == pieceNormal {
			low, high = min(low, p.score), max(high, p.score)
		}
	}
	u := &unigram{vocab: m.vocab, unk: m.unk, minScore: float64(low), single: true}
	var keys []trieKey
	for i := range m.file.pieces {
		p := &m.file.pieces[i]
		score := float64(p.score)
		if p.kind == pieceUser {
			score = float64(float32(len(p.piece))*high) - 0.1
		}
		u.scores = append(u.scores, score)
		if p.kind == pieceNormal || p.kind == pieceUser {
			keys = append(keys, trieKey{p.piece, int32(i)})
		}
	}
	u.trie = newTrie(keys)
	m.unigram = u
}

func (m *spmModel) tokenize(word string, w *work, out []token) ([]token, error) {
	n := len(out)
	switch m.file.trainer.kind {
	case spmBPE:
		m.runBPE(word, w)
		for i := int32(0); i >= 0 && int(i) < len(w.syms); i = w.syms[i].next {
			out = m.resegment(word, w, w.syms[i].id, int(w.syms[i].start), out)
		}
	case spmUnigram:
		if err := m.unigram.lattice(word, w); err != nil {
			return nil, err
		}
		for end := len(word); end > 0; end = int(w.nodes[end].from) {
			out = append(out, token{id: w.nodes[end].id, start: int(w.nodes[end].from), end: end})
		}
		slices.Reverse(out[n:])
	case spmWord:
		m.words(word, func(a, b int) { out = append(out, m.piece(word, a, b)) })
	default:
		for a := 0; a < len(word); {
			k, _ := m.symbolAt(word[a:])
			out = append(out, m.piece(word, a, a+k))
			a += k
		}
	}
	for _, k := range out[n:] {
		if m.file.pieces[k.id].kind == pieceControl {
			return nil, fmt.Errorf("the text has the control piece %q as a word", m.file.pieces[k.id].piece)
		}
	}
	return m.unknowns(word, out, n), nil
}

func (m *spmModel) piece(word string, a, b int) token {
	id, ok := m.vocab.lookup(word[a:b])
	if !ok {
		id = m.unk
	}
	return token{id: id, start: a, end: b}
}

// symbolAt returns the length of the user-defined symbol or rune that s begins with.
func (m *spmModel) symbolAt(s string) (n int, id int32) {
	if m.symbols != nil {
		if n, id = m.symbols.longest(s); n > 0 {
			return n, id
		}
	}
	_, n = utf8.DecodeRuneInString(s)
	return n, -1
}

// runBPE leaves the merged symbols in w.syms; ids from len(pieces) on are runes that are no pieces.
func (m *spmModel) runBPE(word string, w *work) {
	w.syms = w.syms[:0]
	if m.bpe.unused != nil {
		w.rev = map[int32][2]int32{}
	}
	for a := 0; a < len(word); {
		n, id := m.symbolAt(word[a:])
		if id >= 0 {
			id += m.frozen
		} else if k, ok := m.vocab.lookup(word[a : a+n]); ok {
			id = k
		} else if k, ok := m.bpe.others[word[a:a+n]]; ok {
			id = k
		} else {
			id = math.MaxInt32
		}
		w.push(id, a, n)
		a += n
	}
	w.endSymbols()
	if len(w.syms) <= 32 && m.bpe.unused == nil {
		m.bpe.mergeShort(w)
	} else {
		m.bpe.mergeLong(w)
	}
}

// resegment appends a symbol, or the parts that it was merged from where the piece is not to be used.
func (m *spmModel) resegment(word string, w *work, id int32, at int, out []token) []token {
	if m.bpe.unused[id] {
		if parts, ok := w.rev[id]; ok {
			out = m.resegment(word, w, parts[0], at, out)
			return m.resegment(word, w, parts[1], out[len(out)-1].end, out)
		}
	}
	switch {
	case id >= m.frozen && id < math.MaxInt32:
		id -= m.frozen
	case int(id) >= len(m.file.pieces):
		_, size := utf8.DecodeRuneInString(word[at:])
		return append(out, token{id: m.unk, start: at, end: at + size})
	}
	return append(out, token{id: id, start: at, end: at + len(m.file.pieces[id].piece)})
}

// unknowns turns the unknown tokens behind the first n into bytes, or joins neighbours.
func (m *spmModel) unknowns(word string, out []token, n int) []token {
	if !slices.ContainsFunc(out[n:], func(k token) bool { return k.id == m.unk }) {
		return out
	}
	tokens := append([]token(nil), out[n:]...)
	out = out[:n]
	joined := false
	for _, k := range tokens {
		switch {
		case k.id != m.unk:
			joined = false
			out = append(out, k)
		case m.file.trainer.byteFallback:
			for i := k.start; i < k.end; i++ {
				out = append(out, token{id: m.bytes[word[i]], start: k.start, end: k.end})
			}
		case joined:
			last := &out[len(out)-1]
			last.end = k.end
			last.text = word[last.start:last.end]
		default:
			joined = true
			k.text = word[k.start:k.end]
			out = append(out, k)
		}
	}
	return out
}

// words cuts before every space mark, even where the model has them at the ends of words.
func (m *spmModel) words(s string, word func(a, b int)) {
	start := 0
	for i := range s {
		if i > start && strings.HasPrefix(s[i:], spmSpace) {
			word(start, i)
			start = i
		}
	}
	word(start, len(s))
}
