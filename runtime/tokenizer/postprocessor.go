package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// postProcessor puts special tokens around one or two encodings. With special unset it adds none.
type postProcessor interface {
	process(encs []Encoding, special bool) ([]Encoding, error)
	// added returns how many tokens process adds.
	added(pair bool) int
}

func parsePostProcessor(raw json.RawMessage) (postProcessor, error) {
	if isNull(raw) {
		return nil, nil
	}
	kind, err := typeOf(raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "Sequence":
		members, err := sequence(raw, "processors", parsePostProcessor)
		return postSequence(members), err
	case "TemplateProcessing":
		return parseTemplate(raw)
	case "ByteLevel":
		p := &postByteLevel{AddPrefixSpace: true, TrimOffsets: true}
		return p, json.Unmarshal(raw, p)
	case "BertProcessing":
		p := &postBert{}
		return p, json.Unmarshal(raw, p)
	case "RobertaProcessing":
		p := &postBert{TrimOffsets: true, AddPrefixSpace: true, double: true}
		return p, json.Unmarshal(raw, p)
	}
	return nil, fmt.Errorf("post-processor type %q is not known", kind)
}

type postSequence []postProcessor

func (q postSequence) added(pair bool) int {
	n := 0
	for _, p := range q {
		n += p.added(pair)
	}
	return n
}

func (q postSequence) process(encs []Encoding, special bool) ([]Encoding, error) {
	for _, p := range q {
		var err error
		if encs, err = p.process(encs, special); err != nil {
			return nil, err
		}
	}
	return encs, nil
}

// postByteLevel makes the offsets leave out the spaces at the ends of tokens.
type postByteLevel struct {
	AddPrefixSpace bool `json:"add_prefix_space"`
	TrimOffsets    bool `json:"trim_offsets"`
}

func (p *postByteLevel) added(bool) int { return 0 }

func (p *postByteLevel) process(encs []Encoding, _ bool) ([]Encoding, error) {
	for i := range encs {
		if p.TrimOffsets {
			encs[i].trimOffsets(p.AddPrefixSpace)
		}
		encs[i].setSequence(int32(i))
	}
	return encs, nil
}

func (e *Encoding) setSequence(seq int32) {
	for i := range e.Sequences {
		e.Sequences[i] = seq
	}
}

func (e *Encoding) setTypes(id int32) {
	for i := range e.TypeIDs {
		e.TypeIDs[i] = id
	}
}

func (e *Encoding) trimOffsets(prefixSpace bool) {
	space := func(r rune) bool { return r == byteLevel.runes[' '] || isSpace(r) }
	for i, tok := range e.Tokens {
		o := &e.Offsets[i]
		rest := strings.TrimLeftFunc(tok, space)
		lead := utf8.RuneCountInString(tok) - utf8.RuneCountInString(rest)
		trail := utf8.RuneCountInString(tok) - utf8.RuneCountInString(strings.TrimRightFunc(tok, space))
		if lead > 0 {
			if prefixSpace && lead == 1 && (i == 0 || o[0] == 0) {
				lead = 0 // the space is the one that was put before the text
			}
			for range lead {
				_, n := utf8.DecodeRuneInString(e.source[o[0]:])
				o[0] = min(o[0]+n, o[1])
			}
		}
		for range trail {
			_, n := utf8.DecodeLastRuneInString(e.source[:o[1]])
			o[1] = max(o[1]-n, o[0])
		}
	}
	for i := range e.Overflowing {
		e.Overflowing[i].trimOffsets(prefixSpace)
	}
}

// postBert is [CLS] A [SEP] and [CLS] A [SEP] B [SEP]; RobertaProcessing puts a second [SEP] before B and
// has type 0 only.
type postBert struct {
	Sep, Cls       namedID
	TrimOffsets    bool `json:"trim_offsets"`
	AddPrefixSpace bool `json:"add_prefix_space"`
	double         bool // a second separator before B, and type 0 only
}

// namedID is written ["[SEP]", 102].
type namedID struct {
	name string
	id   int32
}

func (n *namedID) UnmarshalJSON(raw []byte) error {
	pair := []any{&n.name, &n.id}
	if err := json.Unmarshal(raw, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf(`found %.60s, wanted ["token", id]`, raw)
	}
	return nil
}

func (p *postBert) added(pair bool) int {
	switch {
	case !pair:
		return 2
	case p.double:
		return 4
	}
	return 3
}

func (p *postBert) process(encs []Encoding, special bool) ([]Encoding, error) {
	for i := range encs {
		if p.double && p.TrimOffsets {
			encs[i].trimOffsets(p.AddPrefixSpace)
		}
		if p.double {
			encs[i].setTypes(0)
		}
	}
	if !special {
		return encs, nil
	}
	out := make([]Encoding, len(encs))
	for i := range encs {
		out[i] = p.wrap(i, &encs[i])
		for k := range encs[i].Overflowing {
			out[i].Overflowing = append(out[i].Overflowing, p.wrap(i, &encs[i].Overflowing[k]))
		}
	}
	return out, nil
}

func (p *postBert) wrap(i int, e *Encoding) Encoding {
	var out Encoding
	add := func(n namedID, typeID int32) { out.add(n.id, typeID, n.name, -1, [2]int{}, 1, 1, -1) }
	typeID := int32(i)
	if p.double {
		typeID = 0
	}
	if i == 0 {
		add(p.Cls, typeID)
	} else if p.double {
		add(p.Sep, typeID)
	}
	body := e.clone()
	body.Overflowing = nil
	for k := range body.SpecialMask {
		body.SpecialMask[k], body.Attention[k] = 0, 1
	}
	out.join(body)
	add(p.Sep, typeID)
	return out
}

// template lists what to put in a row: the texts and special tokens.
type template struct {
	single, pair []templatePiece
}

type templatePiece struct {
	sequence int // 0 or 1; -1 for a special token
	typeID   int32
	ids      []int32
	tokens   []string
}

func parseTemplate(raw json.RawMessage) (*template, error) {
	type piece struct {
		ID     string `json:"id"`
		TypeID int32  `json:"type_id"`
	}
	var c struct {
		Single, Pair []struct{ Sequence, SpecialToken *piece }
		Specials     map[string]struct {
			IDs    []int32
			Tokens []string
		} `json:"special_tokens"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("TemplateProcessing: %w", err)
	}
	t := &template{}
	for k, list := range [][]struct{ Sequence, SpecialToken *piece }{c.Single, c.Pair} {
		var out []templatePiece
		for _, p := range list {
			switch {
			case p.Sequence != nil && (p.Sequence.ID == "A" || p.Sequence.ID == "B" && k == 1):
				out = append(out, templatePiece{sequence: int(p.Sequence.ID[0] - 'A'), typeID: p.Sequence.TypeID})
			case p.SpecialToken != nil:
				s, ok := c.Specials[p.SpecialToken.ID]
				if !ok || len(s.IDs) != len(s.Tokens) {
					return nil, fmt.Errorf("TemplateProcessing: special_tokens has no whole entry for %q",
						p.SpecialToken.ID)
				}
				out = append(out, templatePiece{-1, p.SpecialToken.TypeID, s.IDs, s.Tokens})
			default:
				return nil, fmt.Errorf(`TemplateProcessing: a piece is neither a Sequence "A" (or "B" in "pair") ` +
					`nor a SpecialToken`)
			}
		}
		if k == 0 {
			t.single = out
		} else {
			t.pair = out
		}
	}
	return t, nil
}

func (t *template) of(pair bool) []templatePiece {
	if pair {
		return t.pair
	}
	return t.single
}

func (t *template) added(pair bool) int {
	n := 0
	for _, p := range t.of(pair) {
		n += len(p.ids)
	}
	return n
}

func (t *template) process(encs []Encoding, special bool) ([]Encoding, error) {
	if len(encs) > 2 {
		return nil, fmt.Errorf("TemplateProcessing takes one or two texts, not %d: it must not follow "+
			"a post-processor that adds tokens", len(encs))
	}
	var out []Encoding
	for _, p := range t.of(len(encs) == 2) {
		if p.sequence >= 0 {
			e := encs[p.sequence].clone()
			e.setTypes(p.typeID)
			e.setSequence(int32(p.sequence))
			out = append(out, e)
		} else if special {
			var e Encoding
			for i, id := range p.ids {
				e.add(id, p.typeID, p.tokens[i], -1, [2]int{}, 1, 1, -1)
			}
			out = append(out, e)
		}
	}
	return out, nil
}
