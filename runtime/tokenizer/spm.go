package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// ParseSentencePiece reads a sentencepiece .model file (BPE, Unigram, word or character model). It gives
// the ids of the C++ library, which differ in places from those of a tokenizer.json made of the same
// model. Control pieces (<s>, </s>) are never recognised in text, and none is added: see WithBOSEOS.
func ParseSentencePiece(data []byte) (*Tokenizer, error) {
	f, err := parseSPMFile(data)
	if err != nil {
		return nil, inField("sentencepiece model", err)
	}
	m, err := newSPMModel(f)
	if err != nil {
		return nil, inField("sentencepiece model", err)
	}
	n, err := newSPMNormalizer(f.norm)
	if err != nil {
		return nil, inField("sentencepiece model: normalizer_spec", err)
	}
	n.symbols, n.suffixSpace = m.symbols, f.trainer.suffixSpace
	d := &spmDecoder{model: m}
	if len(f.denorm.charsmap) > 0 {
		if d.denorm, err = newSPMNormalizer(f.denorm); err != nil {
			return nil, inField("sentencepiece model: denormalizer_spec", err)
		}
	}
	t := &Tokenizer{norm: n, model: m, dec: d, source: append([]byte(nil), data...)}
	t.added = m.specials()
	return t, t.link()
}

// specials lists the control pieces, without a way to find them in text.
func (m *spmModel) specials() *addedSet {
	a := &addedSet{byContent: map[string]int32{}, byID: map[int32]*AddedToken{},
		special: map[string]bool{}, display: map[int32]string{}}
	for i, p := range m.file.pieces {
		if p.kind != pieceControl {
			continue
		}
		t := AddedToken{ID: int32(i), Content: p.piece, Special: true}
		a.list = append(a.list, t)
		a.byID[t.ID] = &t
		a.byContent[t.Content] = t.ID
		a.special[t.Content] = true
	}
	return a
}

// spmDecoder joins pieces. Source: SentencePieceProcessor::Decode
type spmDecoder struct {
	model  *spmModel
	denorm *spmNormalizer
}

func (d *spmDecoder) decode(tokens []string) []string {
	var out strings.Builder
	var run []byte
	flush := func() {
		for len(run) > 0 {
			r, n := utf8.DecodeRune(run)
			out.WriteRune(r) // one U+FFFD for each byte that is wrong
			run = run[n:]
		}
	}
	first, seen := true, false
	for _, tok := range tokens {
		id, _ := d.model.vocab.lookup(tok)
		if id >= 0 && d.model.file.pieces[id].kind == pieceByte {
			if b, ok := fallbackByte(tok); ok {
				run = append(run, b)
				continue
			}
		}
		flush()
		if seen || out.Len() > 0 {
			first = false
		}
		var s string
		s, seen = d.piece(tok, id, first)
		out.WriteString(s)
	}
	flush()
	if d.denorm == nil {
		return []string{out.String()}
	}
	t := text{s: out.String(), whole: out.Len()}
	if d.denorm.normalize(&t) != nil {
		return []string{out.String()}
	}
	return []string{t.s}
}

// piece returns the text of a piece, and whether it had the space that was put before the text.
func (d *spmDecoder) piece(tok string, id int32, first bool) (string, bool) {
	if id >= 0 {
		switch d.model.file.pieces[id].kind {
		case pieceControl:
			return "", false
		case pieceUnknown:
			return d.model.file.trainer.unkSurface, false
		}
	}
	seen := false
	rules := &d.model.file.norm
	if first && (rules.dummyPrefix || rules.removeExtra) {
		tok, seen = strings.CutPrefix(tok, spmSpace)
		seen = seen && !rules.removeExtra
	}
	return strings.ReplaceAll(tok, spmSpace, " "), seen
}
