package tokenizer

// EncodeFull encodes one text with everything there is to know, and truncates and pads as the file says.
func (t *Tokenizer) EncodeFull(text string, special bool) (*Encoding, error) {
	return t.full([]string{text}, special)
}

// EncodeFullPair is EncodeFull for two texts.
func (t *Tokenizer) EncodeFullPair(a, b string, special bool) (*Encoding, error) {
	return t.full([]string{a, b}, special)
}

// EncodeBatch encodes many texts and pads them to a common length if the file has padding.
func (t *Tokenizer) EncodeBatch(texts []string, special bool) ([]Encoding, error) {
	out := make([]Encoding, len(texts))
	longest := 0
	for i, s := range texts {
		e, err := t.unpadded([]string{s}, special)
		if err != nil {
			return nil, err
		}
		out[i] = *e
		longest = max(longest, e.Len())
	}
	if t.padding != nil {
		for i := range out {
			out[i].pad(t.padding.length(longest), t.padding)
		}
	}
	return out, nil
}

// Truncation returns the truncation of the file, or nil.
func (t *Tokenizer) Truncation() *Truncation { return clonePointer(t.trunc) }

// Padding returns the padding of the file, or nil.
func (t *Tokenizer) Padding() *Padding { return clonePointer(t.padding) }

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// WithLimits returns a tokenizer that differs in truncation and padding only; nil means none.
func (t *Tokenizer) WithLimits(trunc *Truncation, padding *Padding) *Tokenizer {
	return &Tokenizer{norm: t.norm, pre: t.pre, model: t.model, post: t.post, dec: t.dec, added: t.added,
		trunc: clonePointer(trunc), padding: clonePointer(padding), parts: t.parts, fast: t.fast,
		isFirst: t.isFirst, random: t.random, around: t.around, before: t.before, behind: t.behind,
		source: t.source}
}

func (t *Tokenizer) full(texts []string, special bool) (*Encoding, error) {
	e, err := t.unpadded(texts, special)
	if err == nil && t.padding != nil {
		e.pad(t.padding.length(e.Len()), t.padding)
	}
	return e, err
}

func (t *Tokenizer) unpadded(texts []string, special bool) (*Encoding, error) {
	encs := make([]Encoding, len(texts))
	for i, s := range texts {
		if err := t.encodeTo(&encs[i], s, int32(i)); err != nil {
			return nil, err
		}
	}
	if t.trunc != nil {
		limit := t.trunc.MaxLength
		if special && t.post != nil {
			limit -= t.post.added(len(texts) == 2)
		}
		if err := t.trunc.apply(encs, limit); err != nil {
			return nil, err
		}
	}
	if t.post != nil {
		var err error
		if encs, err = t.post.process(encs, special); err != nil {
			return nil, err
		}
	}
	var out Encoding
	for i := range encs {
		if i == 0 {
			out = encs[0]
		} else {
			out.join(encs[i])
		}
	}
	return &out, nil
}

// encodeTo fills e with the tokens of one text and their origin.
func (t *Tokenizer) encodeTo(e *Encoding, s string, seq int32) error {
	w := t.work()
	defer t.works.Put(w)
	word := int32(0)
	e.source = clean(s)
	add := func(p *text, k token, str string) {
		o := span{p.start, p.start}
		if k.end > k.start && k.end <= len(p.s) {
			o = p.original(k.start, k.end)
		}
		e.add(k.id, seq, str, word, [2]int{o.start, o.end}, 0, 1, seq)
	}
	return t.pieces(text{s: e.source, track: true, whole: len(s)}, func(p text, id int32) error {
		if id >= 0 {
			add(&p, token{id: id, end: len(p.s)}, p.s)
			word++
			return nil
		}
		words := []text{p}
		if t.pre != nil {
			var err error
			if words, err = t.pre.split(p, nil); err != nil {
				return err
			}
		}
		for i := range words {
			tokens, err := t.model.tokenize(words[i].s, w, w.tokens[:0])
			if err != nil {
				return err
			}
			w.tokens = tokens
			for _, k := range tokens {
				str := k.text
				if str == "" {
					str, _ = t.model.vocabulary().token(k.id)
				}
				add(&words[i], k, str)
			}
			word++
		}
		return nil
	})
}
