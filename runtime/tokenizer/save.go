package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// jsonWriter writes pretty JSON piece by piece, since a tree of a whole vocabulary would be too large.
type jsonWriter struct {
	w   io.Writer
	err error
}

func (j *jsonWriter) put(parts ...string) {
	for _, p := range parts {
		if j.err == nil {
			_, j.err = io.WriteString(j.w, p)
		}
	}
}

// field writes `"key": value` with the value indented by two.
func (j *jsonWriter) field(key string, value any, last bool) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if j.err == nil {
		j.err = e.Encode(value)
	}
	var out bytes.Buffer
	if j.err == nil {
		j.err = json.Indent(&out, bytes.TrimSpace(b.Bytes()), "  ", "  ")
	}
	j.put("  ", quoteJSON(key), ": ", out.String())
	if !last {
		j.put(",")
	}
	j.put("\n")
}

func (t *Tokenizer) write(w io.Writer) error {
	j := &jsonWriter{w: w}
	j.put("{\n")
	j.field("version", "1.0", false)
	j.field("truncation", t.trunc, false)
	j.field("padding", t.padding, false)
	added := t.added.list
	if added == nil {
		added = []AddedToken{}
	}
	j.field("added_tokens", added, false)
	for _, key := range []string{"normalizer", "pre_tokenizer", "post_processor", "decoder"} {
		var raw any
		if p := t.parts[key]; p != nil {
			raw = p
		}
		j.field(key, raw, false)
	}
	j.put("  \"model\": {\n")
	switch m := t.model.(type) {
	case *bpe:
		j.bpe(m)
	case *wordPiece:
		j.options([]option{{"type", "WordPiece"}, {"unk_token", m.unkToken},
			{"continuing_subword_prefix", m.prefix}, {"max_input_chars_per_word", m.maxChars}})
		j.vocab(m.vocab, true)
	case *wordLevel:
		j.options([]option{{"type", "WordLevel"}, {"unk_token", m.unkToken}})
		j.vocab(m.vocab, true)
	case *unigram:
		j.unigram(m)
	}
	j.put("  }\n}\n")
	return j.err
}

type option struct {
	key   string
	value any
}

func (j *jsonWriter) options(list []option) {
	for _, o := range list {
		b, err := json.Marshal(o.value)
		if err != nil && j.err == nil {
			j.err = err
		}
		if s, ok := o.value.(string); ok {
			b = []byte(quoteJSON(s))
		}
		j.put("    ", quoteJSON(o.key), ": ", string(b), ",\n")
	}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (j *jsonWriter) bpe(m *bpe) {
	var dropout, unk any
	if m.dropout > 0 {
		dropout = m.dropout
	}
	if m.unkToken != nil {
		unk = *m.unkToken
	}
	j.options([]option{{"type", "BPE"}, {"dropout", dropout}, {"unk_token", unk},
		{"continuing_subword_prefix", orNull(m.prefix)}, {"end_of_word_suffix", orNull(m.suffix)},
		{"fuse_unk", m.fuseUnk}, {"byte_fallback", m.byteFallback}, {"ignore_merges", m.ignoreMerges}})
	j.vocab(m.vocab, false)
	j.put("    \"merges\": [")
	for i, p := range m.pairs {
		a, _ := m.vocab.token(p[0])
		b, _ := m.vocab.token(p[1])
		if i > 0 {
			j.put(",")
		}
		j.put("\n      [", quoteJSON(a), ", ", quoteJSON(b), "]")
	}
	j.put("\n    ]\n")
}

// vocab writes the entries in order of their ids.
func (j *jsonWriter) vocab(v *vocab, last bool) {
	j.put("    \"vocab\": {")
	for i, e := range v.sorted() {
		if i > 0 {
			j.put(",")
		}
		j.put("\n      ", quoteJSON(v.entry(e)), ": ", strconv.Itoa(int(v.ids[e])))
	}
	j.put("\n    }")
	if !last {
		j.put(",")
	}
	j.put("\n")
}

func (j *jsonWriter) unigram(m *unigram) {
	var unk any
	if m.unk >= 0 {
		unk = m.unk
	}
	j.options([]option{{"type", "Unigram"}, {"unk_id", unk}, {"byte_fallback", m.byteFallback}})
	j.put("    \"vocab\": [")
	for i, s := range m.names {
		if i > 0 {
			j.put(",")
		}
		score := strconv.FormatFloat(m.scores[i], 'g', -1, 64)
		j.put("\n      [", quoteJSON(s), ", ", score, "]")
	}
	j.put("\n    ]\n")
}

// quoteJSON escapes what JSON needs escaped and nothing else.
func quoteJSON(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}
