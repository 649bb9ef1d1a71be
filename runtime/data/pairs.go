package data

import (
	"errors"
	"fmt"

	"github.com/vulcast/vulcast/runtime/chat"
)

// pairFields are the names of source and target in records of encoder-decoder models.
var pairFields = [][2]string{{"source", "target"}, {"prompt", "completion"}, {"instruction", "output"}, {"question", "answer"}}

// Pairs makes examples of encoder-decoder models: the encoder reads Source; the decoder reads Start and the target, and
// learns the target.
type Pairs struct {
	Maker
	Start int32 // decoder_start_token_id
}

// Make makes the example of a record with source and target, prompt and completion, instruction (input) and output, or
// question and answer. Both sides get the tokenizer's special tokens, the target an end token if it has none.
//
// Errors: no such fields; fields of a wrong type; an empty source.
func (p *Pairs) Make(r *Record) (*Example, error) {
	e, err := p.make(r.Values)
	if err == nil {
		err = errors.Join(CheckIDs(e.Source, p.Vocab), CheckIDs(e.Tokens, p.Vocab))
	}
	if err != nil {
		return nil, &BadRecord{r.Place(), err}
	}
	return e, nil
}

func (p *Pairs) make(d *chat.Dict) (*Example, error) {
	source, target, err := pairTexts(d)
	if err != nil {
		return nil, err
	}
	ids, err := p.Tokenizer.WithLimits(nil, nil).EncodeChecked(source, true)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, errors.New("the source is empty: it has no tokens")
	}
	enc := Example{Tokens: ids}
	if err := p.cut(&enc, p.Max); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	dec, err := p.encode(target, []text{{target, true}}, true)
	if err != nil {
		return nil, err
	}
	if err := p.cut(dec, p.Max-1); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	if len(dec.Tokens) == 0 {
		return nil, errors.New("nothing to learn: the target has no tokens")
	}
	return &Example{Source: enc.Tokens, Tokens: append([]int32{p.Start}, dec.Tokens...)}, nil
}

// pairTexts finds source and target.
func pairTexts(d *chat.Dict) (source, target string, err error) {
	for _, names := range pairFields {
		if _, ok := d.Get(names[0]); !ok {
			continue
		}
		if _, ok := d.Get(names[1]); !ok {
			continue
		}
		if source, err = field(d, names[0]); err != nil {
			return "", "", err
		}
		if v, ok := d.Get("input"); ok && v != nil && v != "" && names[0] == "instruction" {
			more, err := field(d, "input")
			if err != nil {
				return "", "", err
			}
			source += "\n\n" + more
		}
		target, err = field(d, names[1])
		return source, target, err
	}
	return "", "", fmt.Errorf("no known fields among %v: an encoder-decoder wants source and target; prompt and completion; "+
		"instruction and output; or question and answer", keys(d))
}

// NewPairs is a set of pairs, one to a row, with rows of length tokens on both sides.
//
// Errors: those of NewExamples; a source that is missing or longer than a row.
func NewPairs(list []*Example, length int) (*Examples, error) {
	for i, e := range list {
		if n := len(e.Source); n == 0 || n > length {
			return nil, fmt.Errorf("the source of example %d has %d tokens, want 1 to %d", i, n, length)
		}
	}
	s, err := NewExamples(list, length, false)
	if err == nil {
		s.encLength = length
	}
	return s, err
}

// fillSource writes the encoder's side of a row.
func fillSource(row *Row, source []int32) {
	clear(row.Tokens)
	clear(row.Pos)
	clear(row.Seg)
	for i, id := range source {
		row.Tokens[i], row.Pos[i], row.Seg[i] = id, int32(i), 1
	}
}
