package gguf

import (
	"fmt"
	"strings"
)

// TokenType says what a token is for.
type TokenType int32

// The token types, with the format's numbering.
const (
	TokenUndefined   TokenType = 0
	TokenNormal      TokenType = 1
	TokenUnknown     TokenType = 2
	TokenControl     TokenType = 3 // special: matched whole, hidden from text
	TokenUserDefined TokenType = 4 // added: matched whole, part of text
	TokenUnused      TokenType = 5
	TokenByte        TokenType = 6 // <0x00> ... <0xFF>
)

// None is a special-token id that the file does not give.
const None = -1

// TokenizerData is what a file says about its tokenizer, checked for consistency only.
type TokenizerData struct {
	Model  string // algorithm: "llama" (SentencePiece BPE), "gpt2" (byte-level BPE), "t5" (Unigram), ...
	Pre    string // name of the pre-tokenizer's splitting rule, "" if not given
	Tokens []string
	Scores []float32   // one a token, or nil
	Types  []TokenType // one a token, or nil
	Merges [][2]string // in rank order, or nil

	BOS, EOS, EOT, EOM, UNK, SEP, PAD, MASK                  int // ids, or None
	FIMPrefix, FIMSuffix, FIMMiddle, FIMPad, FIMRepo, FIMSep int // ids, or None

	AddBOS, AddEOS, AddSEP                *bool  // nil: not said
	AddSpacePrefix, RemoveExtraWhitespace *bool  // nil: not said
	PrecompiledCharsmap                   []byte // SentencePiece normalization rules, or nil

	HuggingFaceJSON string            // a whole tokenizer.json, or ""
	ChatTemplate    string            // Jinja, or ""
	ChatTemplates   map[string]string // the named ones, or nil
}

// tokenizerReader collects the keys of a tokenizer; the first error sticks.
type tokenizerReader struct {
	f   *File
	n   int
	err error
}

// Tokenizer gathers the tokenizer's keys. It fails where the file has no tokens, where lists differ in
// length, or where an id is outside the vocabulary.
func (f *File) Tokenizer() (TokenizerData, error) {
	r := &tokenizerReader{f: f}
	var d TokenizerData
	d.Tokens, r.err = f.Meta("tokenizer.ggml.tokens").Texts()
	r.n = len(d.Tokens)
	d.Model = r.text("tokenizer.ggml.model")
	d.Pre = r.text("tokenizer.ggml.pre")
	d.HuggingFaceJSON = r.text("tokenizer.huggingface.json")
	d.ChatTemplate = r.text("tokenizer.chat_template")
	d.Scores = r.scores()
	d.Types = r.types()
	d.Merges = r.merges()
	r.special(&d)
	d.AddBOS = r.flag("add_bos_token")
	d.AddEOS = r.flag("add_eos_token")
	d.AddSEP = r.flag("add_sep_token")
	d.AddSpacePrefix = r.flag("add_space_prefix")
	d.RemoveExtraWhitespace = r.flag("remove_extra_whitespaces")
	d.PrecompiledCharsmap = r.charsmap()
	d.ChatTemplates = r.templates()
	if r.err != nil {
		return TokenizerData{}, r.err
	}
	return d, nil
}

// value returns the value of key, and false where it is missing or an error has been met.
func (r *tokenizerReader) value(key string) (Value, bool) {
	v := r.f.Meta(key)
	return v, r.err == nil && v.Exists()
}

func (r *tokenizerReader) fail(v Value, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: key %q: %s", v.path, v.Key, fmt.Sprintf(format, args...))
	}
}

func (r *tokenizerReader) text(key string) (s string) {
	if v, ok := r.value(key); ok {
		s, r.err = v.Text()
	}
	return s
}

func (r *tokenizerReader) flag(name string) *bool {
	v, ok := r.value("tokenizer.ggml." + name)
	if !ok {
		return nil
	}
	b, err := v.Bool()
	r.err = err
	return &b
}

func (r *tokenizerReader) scores() []float32 {
	v, ok := r.value("tokenizer.ggml.scores")
	if !ok {
		return nil
	}
	s, ok := v.any.([]float32)
	if !ok {
		r.err = v.mismatch("an array of float32")
	} else if len(s) != r.n {
		r.fail(v, "%d scores for %d tokens", len(s), r.n)
	}
	return s
}

func (r *tokenizerReader) types() []TokenType {
	v, ok := r.value("tokenizer.ggml.token_type")
	if !ok {
		return nil
	}
	ints, err := v.Ints()
	if err != nil {
		r.err = err
		return nil
	}
	if len(ints) != r.n {
		r.fail(v, "%d types for %d tokens", len(ints), r.n)
	}
	out := make([]TokenType, len(ints))
	for i, t := range ints {
		if t < int64(TokenUndefined) || t > int64(TokenByte) {
			r.fail(v, "element %d is %d, want 0 to %d", i, t, TokenByte)
			return nil
		}
		out[i] = TokenType(t)
	}
	return out
}

// merges splits "left right" at the first blank that is not the first character.
func (r *tokenizerReader) merges() [][2]string {
	v, ok := r.value("tokenizer.ggml.merges")
	if !ok {
		return nil
	}
	list, err := v.Texts()
	if err != nil {
		r.err = err
		return nil
	}
	out := make([][2]string, len(list))
	for i, m := range list {
		at := -1
		if len(m) > 1 {
			at = strings.IndexByte(m[1:], ' ') + 1
		}
		if at <= 0 || at == len(m)-1 {
			r.fail(v, "element %d is %q, want two tokens with a blank between", i, m)
			return nil
		}
		out[i] = [2]string{m[:at], m[at+1:]}
	}
	return out
}

// special fills in the ids. The names "unknown", "padding" and the misspelled "seperator" are the format's;
// prefix, suffix and middle are the older names of the fill-in-the-middle tokens.
func (r *tokenizerReader) special(d *TokenizerData) {
	for _, s := range []struct {
		id    *int
		names []string
	}{
		{&d.BOS, []string{"bos"}},
		{&d.EOS, []string{"eos"}},
		{&d.EOT, []string{"eot"}},
		{&d.EOM, []string{"eom"}},
		{&d.UNK, []string{"unknown"}},
		{&d.SEP, []string{"seperator", "separator"}},
		{&d.PAD, []string{"padding"}},
		{&d.MASK, []string{"mask"}},
		{&d.FIMPrefix, []string{"fim_pre", "prefix"}},
		{&d.FIMSuffix, []string{"fim_suf", "suffix"}},
		{&d.FIMMiddle, []string{"fim_mid", "middle"}},
		{&d.FIMPad, []string{"fim_pad"}},
		{&d.FIMRepo, []string{"fim_rep"}},
		{&d.FIMSep, []string{"fim_sep"}},
	} {
		*s.id = None
		for _, name := range s.names {
			if *s.id == None {
				*s.id = r.id("tokenizer.ggml." + name + "_token_id")
			}
		}
	}
}

func (r *tokenizerReader) id(key string) int {
	v, ok := r.value(key)
	if !ok {
		return None
	}
	id, err := v.Int()
	if err != nil {
		r.err = err
		return None
	}
	if id == -1 || id == 1<<32-1 { // written by converters for "none"
		return None
	}
	if id < 0 || id >= int64(r.n) {
		r.fail(v, "id is %d, and the vocabulary has %d tokens", id, r.n)
		return None
	}
	return int(id)
}

// charsmap accepts both spellings of bytes that converters use.
func (r *tokenizerReader) charsmap() []byte {
	v, ok := r.value("tokenizer.ggml.precompiled_charsmap")
	if !ok {
		return nil
	}
	switch x := v.any.(type) {
	case []uint8:
		return x
	case []int8:
		out := make([]byte, len(x))
		for i, b := range x {
			out[i] = byte(b)
		}
		return out
	}
	r.err = v.mismatch("an array of uint8")
	return nil
}

func (r *tokenizerReader) templates() map[string]string {
	v, ok := r.value("tokenizer.chat_templates")
	if !ok {
		return nil
	}
	names, err := v.Texts()
	if err != nil {
		r.err = err
		return nil
	}
	out := map[string]string{}
	for _, name := range names {
		key := "tokenizer.chat_template." + name
		if !r.f.Meta(key).Exists() {
			r.fail(v, "names template %q, and there is no key %q", name, key)
			return nil
		}
		out[name] = r.text(key)
	}
	return out
}
