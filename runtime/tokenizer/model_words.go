package tokenizer

import (
	"unicode/utf8"
)

// wordPiece takes the longest vocabulary entry at each place; a word that does not come out is unknown.
// Source: Schuster and Nakajima 2012; https://github.com/google-research/bert/blob/master/tokenization.py
type wordPiece struct {
	vocab    *vocab
	unkToken string
	prefix   string // of pieces that do not begin a word
	maxChars int    // longer words are unknown
}

func (m *wordPiece) vocabulary() *vocab { return m.vocab }

func (m *wordPiece) tokenize(word string, w *work, out []token) ([]token, error) {
	if utf8.RuneCountInString(word) > m.maxChars {
		return m.unknown(word, out)
	}
	n := len(out)
	for start := 0; start < len(word); {
		end, id := m.longest(word, start, w)
		if end == start {
			return m.unknown(word, out[:n])
		}
		out = append(out, token{id: id, start: start, end: end})
		start = end
	}
	return out, nil
}

func (m *wordPiece) longest(word string, start int, w *work) (int, int32) {
	w.buf = w.buf[:0]
	if start > 0 {
		w.buf = append(w.buf, m.prefix...)
	}
	k := len(w.buf)
	end := min(len(word), start+m.vocab.long)
	for end < len(word) && end > start && !utf8.RuneStart(word[end]) {
		end--
	}
	w.buf = append(w.buf, word[start:end]...)
	for end > start {
		if id, ok := m.vocab.lookupBytes(w.buf[:k+end-start]); ok {
			return end, id
		}
		_, n := utf8.DecodeLastRuneInString(word[start:end])
		end -= n
	}
	return start, -1
}

func (m *wordPiece) unknown(word string, out []token) ([]token, error) {
	id, ok := m.vocab.lookup(m.unkToken)
	if !ok {
		return nil, errUnknown("WordPiece", m.unkToken)
	}
	return append(out, token{id: id, end: len(word), text: m.unkToken}), nil
}

// wordLevel knows whole words only.
type wordLevel struct {
	vocab    *vocab
	unkToken string
}

func (m *wordLevel) vocabulary() *vocab { return m.vocab }

func (m *wordLevel) tokenize(word string, _ *work, out []token) ([]token, error) {
	id, ok := m.vocab.lookup(word)
	if !ok {
		if id, ok = m.vocab.lookup(m.unkToken); !ok {
			return nil, errUnknown("WordLevel", m.unkToken)
		}
	}
	return append(out, token{id: id, end: len(word)}), nil
}
