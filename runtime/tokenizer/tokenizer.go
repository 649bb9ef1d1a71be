package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Tokenizer turns text into token ids and back. Make one with Load, Parse, TrainBPE or TrainUnigram.
type Tokenizer struct {
	norm    normalizer
	pre     preTokenizer
	model   model
	post    postProcessor
	dec     decoder
	added   *addedSet
	trunc   *Truncation
	padding *Padding
	parts   map[string]json.RawMessage // the components as the file has them
	fast    splitter                   // the whole pre-tokenizer, where it only cuts
	isFirst bool                       // a component asks where in the text a piece began
	random  bool                       // the model gives different results for the same word
	around  bool                       // the post-processor puts before and behind around one text
	before  []int32
	behind  []int32
	source  []byte // the file of a sentencepiece model, which Save writes back
	works   sync.Pool
}

func (t *Tokenizer) work() *work {
	if w, ok := t.works.Get().(*work); ok {
		return w
	}
	return &work{}
}

// Encode returns the ids of text. With special set, the post-processor adds its tokens (a <s> or
// [CLS] ... [SEP]); special tokens inside the text are recognised either way. Truncation and padding of
// the file are not applied: see EncodeFull. The result is nil for text that the vocabulary cannot
// express, which byte-level and unknown-token vocabularies rule out: see EncodeChecked.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	ids, err := t.EncodeChecked(text, special)
	if err != nil {
		return nil
	}
	return ids
}

// EncodeChecked is Encode with the error: a vocabulary without the word and without an unknown token,
// or a regular expression that takes too long.
func (t *Tokenizer) EncodeChecked(text string, special bool) ([]int32, error) {
	if !special || t.post == nil {
		return t.encodeIDs(text, nil)
	}
	if !t.around {
		ids, err := t.encodeIDs(text, nil)
		if err != nil {
			return nil, err
		}
		return t.postIDs([][]int32{ids}, true)
	}
	ids, err := t.encodeIDs(text, t.before)
	return append(ids, t.behind...), err
}

// EncodePair returns the ids of two texts joined by the post-processor, for models that compare texts.
// The result is nil where Encode's would be.
func (t *Tokenizer) EncodePair(a, b string, special bool) []int32 {
	x, err := t.encodeIDs(a, nil)
	if err != nil {
		return nil
	}
	y, err := t.encodeIDs(b, nil)
	if err != nil {
		return nil
	}
	if t.post == nil {
		return append(x, y...)
	}
	ids, err := t.postIDs([][]int32{x, y}, special)
	if err != nil {
		return nil
	}
	return ids
}

// postIDs runs the post-processor on bare ids.
func (t *Tokenizer) postIDs(texts [][]int32, special bool) ([]int32, error) {
	encs := make([]Encoding, len(texts))
	for i, ids := range texts {
		n := len(ids)
		encs[i] = Encoding{IDs: ids, TypeIDs: make([]int32, n), Tokens: make([]string, n), Words: make([]int32, n),
			Offsets: make([][2]int, n), SpecialMask: make([]int32, n), Attention: make([]int32, n),
			Sequences: make([]int32, n)}
	}
	out, err := t.post.process(encs, special)
	if err != nil {
		return nil, err
	}
	var ids []int32
	for i := range out {
		ids = append(ids, out[i].IDs...)
	}
	return ids, nil
}

// encodeIDs returns the ids without the post-processor's tokens, behind those of before.
func (t *Tokenizer) encodeIDs(s string, before []int32) ([]int32, error) {
	w := t.work()
	defer t.works.Put(w)
	ids := append(make([]int32, 0, len(s)/3+8), before...)
	x := text{s: clean(s), track: t.isFirst, whole: len(s)}
	err := t.pieces(x, func(p text, id int32) (err error) {
		if id >= 0 {
			ids = append(ids, id)
			return nil
		}
		if t.fast != nil {
			t.fast(p.s, func(a, b int) {
				if err == nil {
					ids, err = t.word(p.s[a:b], w, ids)
				}
			})
			return err
		}
		if t.pre == nil {
			ids, err = t.word(p.s, w, ids)
			return err
		}
		if w.pieces, err = t.pre.split(p, w.pieces[:0]); err != nil {
			return err
		}
		for i := range w.pieces {
			if ids, err = t.word(w.pieces[i].s, w, ids); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

// pieces calls piece for every part of the normalized text: an added token, or text with id -1.
func (t *Tokenizer) pieces(x text, piece func(p text, id int32) error) error {
	return t.added.cut(&t.added.raw, x, func(p text, id int32) error {
		if id >= 0 {
			return piece(p, id)
		}
		if t.norm != nil {
			if err := t.norm.normalize(&p); err != nil {
				return err
			}
		}
		return t.added.cut(&t.added.after, p, piece)
	})
}

// word appends the ids of one word.
func (t *Tokenizer) word(s string, w *work, ids []int32) ([]int32, error) {
	if len(s) > maxCachedWord || t.random {
		return t.wordTokens(s, w, ids)
	}
	e := w.cache.entry(s)
	if e.word == s && e.ids != nil {
		return append(ids, e.ids...), nil
	}
	n := len(ids)
	ids, err := t.wordTokens(s, w, ids)
	if err != nil {
		return nil, err
	}
	*e = cacheEntry{strings.Clone(s), append(make([]int32, 0, len(ids)-n), ids[n:]...)}
	return ids, nil
}

func (t *Tokenizer) wordTokens(s string, w *work, ids []int32) ([]int32, error) {
	var err error
	if w.tokens, err = t.model.tokenize(s, w, w.tokens[:0]); err != nil {
		return nil, err
	}
	for i := range w.tokens {
		ids = append(ids, w.tokens[i].id)
	}
	return ids, nil
}

// WithBOSEOS returns a tokenizer that differs in the post-processor: Encode with special set puts bos and
// eos around each text; "" means none. It is for files that say nothing about it: sentencepiece models,
// tiktoken ranks.
func (t *Tokenizer) WithBOSEOS(bos, eos string) (*Tokenizer, error) {
	o := TrainOptions{BOS: bos, EOS: eos}
	specials := map[string]int32{}
	for _, s := range []string{bos, eos} {
		id, ok := t.TokenID(s)
		if s != "" && !ok {
			return nil, fmt.Errorf("tokenizer: the token %q is not in the vocabulary", s)
		}
		specials[s] = id
	}
	raw, err := json.Marshal(o.template(specials))
	if err != nil {
		return nil, err
	}
	c := t.WithLimits(t.trunc, t.padding)
	c.parts = maps.Clone(t.parts)
	if c.parts == nil {
		c.parts = map[string]json.RawMessage{}
	}
	c.parts["post_processor"] = raw
	if c.post, err = parsePostProcessor(raw); err != nil {
		return nil, err
	}
	c.around, c.before, c.behind = false, nil, nil
	c.linkPost()
	return c, nil
}

// VocabSize returns the number of tokens, added ones included. Ids may have gaps, so the largest id can
// be above it: see MaxID.
func (t *Tokenizer) VocabSize() int {
	n := t.model.vocabulary().size
	for _, a := range t.added.list {
		if _, ok := t.model.vocabulary().lookup(a.Content); !ok {
			n++
		}
	}
	return n
}

// MaxID returns the largest id in use: an embedding needs MaxID+1 rows.
func (t *Tokenizer) MaxID() int32 {
	m := t.model.vocabulary().maxID
	for id := range t.added.byID {
		m = max(m, id)
	}
	return m
}

// TokenID returns the id of a token given as the vocabulary writes it ("Ġthe", "▁the", "<s>").
func (t *Tokenizer) TokenID(token string) (int32, bool) {
	if id, ok := t.added.byContent[token]; ok {
		return id, true
	}
	return t.model.vocabulary().lookup(token)
}

// Token returns the vocabulary string of an id.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if a, ok := t.added.byID[id]; ok {
		return a.Content, true
	}
	return t.model.vocabulary().token(id)
}

// AddedTokens returns the added tokens in order of the file.
func (t *Tokenizer) AddedTokens() []AddedToken { return append([]AddedToken(nil), t.added.list...) }

// IsSpecial tells whether id is a special token, which Decode leaves out on request.
func (t *Tokenizer) IsSpecial(id int32) bool {
	a, ok := t.added.byID[id]
	return ok && t.added.special[a.Content]
}

// Decode returns the text of ids. Unknown ids are left out, and so are special tokens if skipSpecial.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		s, ok := t.shown(id)
		if ok && !(skipSpecial && t.added.special[s]) {
			tokens = append(tokens, s)
		}
	}
	if t.dec == nil {
		return strings.Join(tokens, " ")
	}
	return strings.Join(t.dec.decode(tokens), "")
}

// shown is the string of a token that decoding starts from.
func (t *Tokenizer) shown(id int32) (string, bool) {
	if a, ok := t.added.byID[id]; ok {
		if s, ok := t.added.display[id]; ok {
			return s, true
		}
		return a.Content, true
	}
	return t.model.vocabulary().token(id)
}

// link works out what the components need to know of each other.
func (t *Tokenizer) link() error {
	if t.model == nil {
		return fmt.Errorf(`the file has no "model"`)
	}
	t.linkPost()
	last := t.pre
	seq, _ := t.pre.(preSequence)
	if len(seq) > 0 {
		last = seq[len(seq)-1]
	}
	for _, p := range append(preSequence{t.pre}, seq...) {
		if m, ok := p.(*metaspace); ok && m.scheme == "first" {
			t.isFirst = true
		}
	}
	b, ok := last.(*preByteLevel)
	m, isBPE := t.model.(*bpe)
	t.random = isBPE && m.dropout > 0
	if !ok || !isBPE || m.prefix != "" || m.suffix != "" || m.byteFallback {
		return nil
	}
	b.raw, m.raw = true, true
	if b.AddPrefixSpace {
		return nil
	}
	switch {
	case len(seq) == 0 && b.UseRegex:
		t.fast = splitByteLevel
	case len(seq) == 2 && !b.UseRegex:
		s, ok := seq[0].(*preSplit)
		if ok && s.Pattern.re != nil && s.Behavior != mergedWithNext && s.Behavior != contiguous &&
			!(s.Behavior == removed && !s.Invert) {
			t.fast = fastSplit(s)
		}
	}
	return nil
}

// linkPost finds out what the post-processor puts around one text, with a text of one impossible token.
func (t *Tokenizer) linkPost() {
	if t.post == nil {
		return
	}
	const marker = -1
	ids, err := t.postIDs([][]int32{{marker}}, true)
	if err != nil {
		return
	}
	i := slices.Index(ids, marker)
	if i < 0 || slices.Contains(ids[i+1:], marker) {
		return
	}
	t.around, t.before, t.behind = true, ids[:i], ids[i+1:]
}

// fastSplit returns the splitter of a Split whose matches are all kept as they are. A splitter covers the
// whole text, so that inverting and removing the gaps changes nothing.
func fastSplit(s *preSplit) splitter {
	if s.Behavior == isolated || s.Behavior == removed && s.Invert {
		return s.Pattern.re.fast
	}
	return nil
}
