package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
)

// Parse reads a tokenizer.json file. The tokenizer keeps no reference to the data.
// Errors name the component and, for syntax and vocabulary, the byte position.
func Parse(data []byte) (*Tokenizer, error) {
	s := &scanner{data: data}
	t := &Tokenizer{parts: map[string]json.RawMessage{}}
	var added []AddedToken
	err := s.object(func(key string) error {
		switch key {
		case "model":
			m, err := parseModel(s)
			t.model = m
			return inField(key, err)
		case "added_tokens":
			return inField(key, s.decode(&added))
		}
		raw, err := s.raw()
		if err != nil {
			return inField(key, err)
		}
		t.parts[key] = append(json.RawMessage(nil), raw...)
		return inField(key, t.component(key, t.parts[key]))
	})
	if err == nil && s.peek() != 0 {
		err = s.errorf("found %s behind the end of the object", s.found())
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if err := t.finish(added); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

// finish adds the added tokens and links the parts.
func (t *Tokenizer) finish(added []AddedToken) error {
	if t.model == nil {
		return fmt.Errorf(`the file has no "model"`)
	}
	set, err := newAddedSet(added, t.model.vocabulary(), t.norm)
	if err != nil {
		return inField("added_tokens", err)
	}
	t.added = set
	return t.link()
}

func inField(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (t *Tokenizer) component(key string, raw json.RawMessage) (err error) {
	if isNull(raw) {
		return nil
	}
	switch key {
	case "version":
		if string(raw) != `"1.0"` {
			return fmt.Errorf(`found %.40s, wanted "1.0"`, raw)
		}
	case "truncation":
		return json.Unmarshal(raw, &t.trunc)
	case "padding":
		return json.Unmarshal(raw, &t.padding)
	case "normalizer":
		t.norm, err = parseNormalizer(raw)
	case "pre_tokenizer":
		t.pre, err = parsePreTokenizer(raw)
	case "post_processor":
		t.post, err = parsePostProcessor(raw)
	case "decoder":
		t.dec, err = parseDecoder(raw)
	}
	return err
}

// modelFile is what the "model" object holds, before its kind is known.
type modelFile struct {
	kind     string
	vocab    *vocab
	names    []string
	scores   []float64
	listed   bool // the vocabulary is a list of [token, score]
	mergesAt int  // position of "merges", -1 where it is missing
	options  struct {
		Unk          *string  `json:"unk_token"`
		UnkID        *int32   `json:"unk_id"`
		FuseUnk      bool     `json:"fuse_unk"`
		ByteFallback bool     `json:"byte_fallback"`
		IgnoreMerges bool     `json:"ignore_merges"`
		Prefix       *string  `json:"continuing_subword_prefix"`
		Suffix       *string  `json:"end_of_word_suffix"`
		MaxChars     *int     `json:"max_input_chars_per_word"`
		Dropout      *float64 `json:"dropout"`
	}
}

func parseModel(s *scanner) (model, error) {
	f := &modelFile{mergesAt: -1}
	options := map[string]json.RawMessage{}
	err := s.object(func(key string) error {
		switch key {
		case "type":
			return s.decode(&f.kind)
		case "vocab":
			return inField(key, f.readVocab(s))
		case "merges":
			s.space()
			f.mergesAt = s.pos
			return inField(key, s.skip(0))
		}
		raw, err := s.raw()
		options[key] = raw
		return inField(key, err)
	})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(options)
	if err == nil {
		err = json.Unmarshal(raw, &f.options)
	}
	if err != nil {
		return nil, err
	}
	return f.build(s)
}

// build makes the model. Files from before the "type" field show by their fields what they are.
func (f *modelFile) build(s *scanner) (model, error) {
	switch {
	case f.kind != "":
	case f.mergesAt >= 0:
		f.kind = "BPE"
	case f.listed:
		f.kind = "Unigram"
	case f.options.Prefix != nil:
		f.kind = "WordPiece"
	default:
		f.kind = "WordLevel"
	}
	if f.vocab == nil && !f.listed || f.listed != (f.kind == "Unigram") {
		return nil, fmt.Errorf("%s: the vocabulary is missing or has the wrong form", f.kind)
	}
	o := &f.options
	switch f.kind {
	case "BPE":
		m, err := f.bpe(s)
		return m, inField("BPE", err)
	case "WordPiece":
		m := &wordPiece{vocab: f.vocab, unkToken: orString(o.Unk, "[UNK]"), prefix: orString(o.Prefix, "##"),
			maxChars: 100}
		if o.MaxChars != nil {
			m.maxChars = *o.MaxChars
		}
		return m, nil
	case "WordLevel":
		return &wordLevel{vocab: f.vocab, unkToken: orString(o.Unk, "<unk>")}, nil
	case "Unigram":
		m := &unigram{names: f.names, scores: f.scores, unk: -1, byteFallback: o.ByteFallback}
		if o.UnkID != nil {
			m.unk = *o.UnkID
		}
		return m, inField("Unigram", m.link())
	}
	return nil, fmt.Errorf("model type %q is not known", f.kind)
}

func orString(p *string, otherwise string) string {
	if p == nil {
		return otherwise
	}
	return *p
}

// readVocab reads {"token": id, ...} or [["token", score], ...].
func (f *modelFile) readVocab(s *scanner) error {
	var buf []byte
	if s.peek() == '[' {
		f.listed = true
		f.names, f.scores = nil, nil
		return s.array(func() error { return f.readScored(s, &buf) })
	}
	f.listed = false
	f.vocab = newVocab(min((len(s.data)-s.pos)/40, 1<<18))
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		tok, err := s.str(buf)
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		id, err := s.id()
		if err != nil {
			return fmt.Errorf("token %q: %w", tok, err)
		}
		if other, taken := f.vocab.token(id); taken && other != string(tok) {
			return s.errorf("the tokens %q and %q have the same id %d", other, tok, id)
		}
		f.vocab.add(tok, id)
		if s.peek() != ',' {
			return s.expect('}')
		}
		s.pos++
	}
}

func (f *modelFile) readScored(s *scanner, buf *[]byte) error {
	n := 0
	err := s.array(func() error {
		n++
		switch n {
		case 1:
			tok, err := s.str(*buf)
			f.names = append(f.names, string(tok))
			return err
		case 2:
			score, err := s.number()
			if math.IsInf(score, 0) {
				return s.errorf("the score is not finite")
			}
			f.scores = append(f.scores, score)
			return err
		}
		return s.errorf(`wanted ["token", score]`)
	})
	if err == nil && n != 2 {
		return s.errorf(`wanted ["token", score]`)
	}
	return err
}

func (f *modelFile) bpe(s *scanner) (*bpe, error) {
	o := &f.options
	if f.mergesAt < 0 {
		return nil, fmt.Errorf(`"merges" is missing`)
	}
	m := &bpe{vocab: f.vocab, unkToken: o.Unk, fuseUnk: o.FuseUnk, byteFallback: o.ByteFallback,
		ignoreMerges: o.IgnoreMerges, prefix: orString(o.Prefix, ""), suffix: orString(o.Suffix, "")}
	if o.Dropout != nil {
		m.dropout = *o.Dropout
	}
	m.merges = newMergeTable(min(2*f.vocab.size, 1<<20))
	end := s.pos
	s.pos = f.mergesAt
	if err := m.readMerges(s); err != nil {
		return nil, err
	}
	s.pos = end
	return m, m.link()
}
