package tokenizer

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// TrainOptions says what to train. The zero value of each field but VocabSize is a good choice.
type TrainOptions struct {
	VocabSize     int      // tokens in all, special ones included
	MinFrequency  int      // BPE: a pair that is rarer is not joined
	SpecialTokens []string // take the first ids, in this order
	Pattern       string   // BPE: regular expression whose matches are the words; "" is ByteLevel's
	BOS, EOS      string   // special tokens that Encode puts around texts, if not empty
	Unk           string   // Unigram: the unknown token; "" is <unk>
	// MaxTokenLength is that of the longest token: for BPE in bytes, and 0 is no limit; for Unigram in
	// characters, and 0 is 16.
	MaxTokenLength int
}

func (o *TrainOptions) check(least int) error {
	if o.VocabSize < least+len(o.SpecialTokens) {
		return fmt.Errorf("tokenizer: train: VocabSize is %d, wanted at least %d: "+
			"%d to begin with and %d special tokens",
			o.VocabSize, least+len(o.SpecialTokens), least, len(o.SpecialTokens))
	}
	seen := map[string]bool{}
	for i, s := range o.SpecialTokens {
		if s == "" || seen[s] {
			return fmt.Errorf("tokenizer: train: SpecialTokens[%d] is %q, "+
				"which is empty or not the first of its kind", i, s)
		}
		seen[s] = true
	}
	for _, s := range []string{o.BOS, o.EOS} {
		if s != "" && !seen[s] {
			return fmt.Errorf("tokenizer: train: BOS or EOS is %q, which is not in SpecialTokens", s)
		}
	}
	return nil
}

// addedTokens lists the special tokens, whose ids are 0, 1, ...
func (o *TrainOptions) addedTokens() []AddedToken {
	out := make([]AddedToken, len(o.SpecialTokens))
	for i, s := range o.SpecialTokens {
		out[i] = AddedToken{ID: int32(i), Content: s, Special: true}
	}
	return out
}

// ids maps the special tokens to their ids.
func (o *TrainOptions) ids() map[string]int32 {
	out := map[string]int32{}
	for i, s := range o.SpecialTokens {
		out[s] = int32(i)
	}
	return out
}

// template returns the post-processor for BOS and EOS, or null.
func (o *TrainOptions) template(ids map[string]int32) any {
	if o.BOS == "" && o.EOS == "" {
		return nil
	}
	type m = map[string]any
	specials := m{}
	piece := func(kind, id string, typeID int) m { return m{kind: m{"id": id, "type_id": typeID}} }
	around := func(out []any, seq string, typeID int) []any {
		if o.BOS != "" {
			out = append(out, piece("SpecialToken", o.BOS, typeID))
		}
		out = append(out, piece("Sequence", seq, typeID))
		if o.EOS != "" {
			out = append(out, piece("SpecialToken", o.EOS, typeID))
		}
		return out
	}
	for _, s := range []string{o.BOS, o.EOS} {
		if s != "" {
			specials[s] = m{"id": s, "ids": []int32{ids[s]}, "tokens": []string{s}}
		}
	}
	single := around(nil, "A", 0)
	pair := around(slices.Clone(single), "B", 1)
	return m{"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": specials}
}

// assemble makes a tokenizer of a model and the components that a file would hold.
func assemble(m model, added []AddedToken, components map[string]any) (*Tokenizer, error) {
	t := &Tokenizer{model: m, parts: map[string]json.RawMessage{}}
	for key, c := range components {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(c); err != nil {
			return nil, err
		}
		t.parts[key] = json.RawMessage(strings.TrimSpace(b.String()))
		if err := t.component(key, t.parts[key]); err != nil {
			return nil, inField(key, err)
		}
	}
	return t, t.finish(added)
}

// TrainBPE trains a byte-level BPE tokenizer: its alphabet is the 256 bytes, so that it can write any
// text. The result depends on the texts and options alone, not on their grouping into texts except that
// words end where texts do. Ties between pairs go to the lower ids, as in the Hugging Face trainer, whose
// vocabulary and merges it reproduces.
// Time: linear in the text for counting words, then about n log n in the distinct words.
// Source: Sennrich et al. 2016, https://aclanthology.org/P16-1162/
func TrainBPE(texts iter.Seq[string], o TrainOptions) (*Tokenizer, error) {
	if err := o.check(256); err != nil {
		return nil, err
	}
	var failed error // of the pattern, on some text
	pre, components, err := bpeComponents(&o, &failed)
	if err != nil {
		return nil, err
	}
	words := newWordCounter()
	words.count(texts, o.SpecialTokens, pre)
	if failed != nil {
		return nil, fmt.Errorf("tokenizer: train: %w", failed)
	}
	m := newBPETrainer(&o).train(words)
	if err := m.link(); err != nil {
		return nil, err
	}
	return assemble(m, o.addedTokens(), components)
}

// bpeComponents returns the splitter and the components of the result. The splitter leaves its first error
// in failed.
func bpeComponents(o *TrainOptions, failed *error) (splitter, map[string]any, error) {
	type m = map[string]any
	level := func(regex bool) m {
		return m{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex}
	}
	components := m{"decoder": level(true), "post_processor": o.template(o.ids())}
	if o.Pattern == "" {
		components["pre_tokenizer"] = level(true)
		return splitByteLevel, components, nil
	}
	re, err := compileRegex(o.Pattern)
	if err != nil {
		return nil, nil, fmt.Errorf("tokenizer: train: %w", err)
	}
	components["pre_tokenizer"] = m{"type": "Sequence", "pretokenizers": []any{
		m{"type": "Split", "pattern": m{"Regex": o.Pattern}, "behavior": "Isolated", "invert": false},
		level(false)}}
	if re.fast != nil {
		return re.fast, components, nil
	}
	return func(s string, piece func(a, b int)) {
		found, err := re.matches(s)
		if *failed == nil {
			*failed = err
		}
		for _, p := range partition(len(s), found, false) {
			piece(p.start, p.end)
		}
	}, components, nil
}
