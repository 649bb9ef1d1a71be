package tokenizer

import (
	"bytes"
	"fmt"
	"strings"
)

// ParseVocabTxt reads a BERT vocab.txt: a token a line, whose ids are the line numbers. The pipeline is
// that of BERT; text is lower-cased unless the vocabulary itself has upper case in its words.
func ParseVocabTxt(data []byte) (*Tokenizer, error) {
	v := newVocab(len(data) / 8)
	cased := false
	for n := int32(0); len(data) > 0; n++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		if _, dup := v.lookupBytes(line); dup {
			return nil, fmt.Errorf("vocab.txt: line %d: %q is there twice", n+1, line)
		}
		s := clean(string(line))
		v.add([]byte(s), n)
		cased = cased || s != strings.ToLower(s) && !strings.HasPrefix(s, "[")
	}
	for _, s := range []string{"[UNK]", "[CLS]", "[SEP]"} {
		if _, ok := v.lookup(s); !ok {
			return nil, fmt.Errorf("vocab.txt: it has no %s: it is not a BERT vocabulary", s)
		}
	}
	type m = map[string]any
	var added []AddedToken
	for _, s := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		if id, ok := v.lookup(s); ok {
			added = append(added, AddedToken{ID: id, Content: s, Special: true})
		}
	}
	sep, _ := v.lookup("[SEP]")
	cls, _ := v.lookup("[CLS]")
	return assemble(&wordPiece{vocab: v, unkToken: "[UNK]", prefix: "##", maxChars: 100}, added, m{
		"normalizer": m{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
			"strip_accents": nil, "lowercase": !cased},
		"pre_tokenizer":  m{"type": "BertPreTokenizer"},
		"post_processor": m{"type": "BertProcessing", "sep": []any{"[SEP]", sep}, "cls": []any{"[CLS]", cls}},
		"decoder":        m{"type": "WordPiece", "prefix": "##", "cleanup": true}})
}

// ParseVocabMerges reads the vocab.json and merges.txt of byte-level BPE, as they were before tokenizer.json.
func ParseVocabMerges(vocabJSON, mergesTxt []byte) (*Tokenizer, error) {
	s := &scanner{data: vocabJSON}
	f := &modelFile{}
	if err := f.readVocab(s); err != nil {
		return nil, inField("vocab.json", err)
	}
	if f.listed || s.peek() != 0 {
		return nil, inField("vocab.json", s.errorf("found %s, wanted one object of tokens and ids", s.found()))
	}
	b := &bpe{vocab: f.vocab, merges: newMergeTable(f.vocab.size)}
	var joined []byte
	for n := 1; len(mergesTxt) > 0; n++ {
		var line []byte
		line, mergesTxt, _ = bytes.Cut(mergesTxt, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 || n == 1 && bytes.HasPrefix(line, []byte("#version")) {
			continue
		}
		left, right, ok := bytes.Cut(line, []byte(" "))
		if !ok || bytes.IndexByte(right, ' ') >= 0 {
			return nil, fmt.Errorf("merges.txt: line %d: found %.60q, wanted two tokens and a space", n, line)
		}
		var err error
		if joined, err = b.addMerge(left, right, joined); err != nil {
			return nil, fmt.Errorf("merges.txt: line %d: %w", n, err)
		}
	}
	if err := b.link(); err != nil {
		return nil, err
	}
	type m = map[string]any
	var added []AddedToken
	for _, name := range []string{"<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>", "<mask>"} {
		if id, ok := b.vocab.lookup(name); ok {
			added = append(added, AddedToken{ID: id, Content: name, Special: true})
		}
	}
	level := m{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return assemble(b, added, m{"pre_tokenizer": level, "decoder": level, "post_processor": level})
}
