package tokenizer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// tryTokenizer uses what a parser accepted: nothing may panic or take for ever.
func tryTokenizer(t *testing.T, tok *Tokenizer) {
	texts := []string{"", "a", " Hello,  world\n<s>", "é\u0301日本 🙂\xff", strings.Repeat("ab ", 40)}
	for _, s := range texts {
		ids, err := tok.EncodeChecked(s, true)
		if err == nil {
			tok.Decode(ids, true)
			tok.Decode(ids, false)
		}
		if _, err := tok.EncodeFullPair(s, "b", true); err != nil {
			continue
		}
		stream := tok.Stream()
		for _, id := range ids {
			if out := stream.Push(id); !utf8.ValidString(out) {
				t.Fatalf("%q: the stream gave %q", s, out)
			}
		}
		stream.Flush()
	}
	tok.Decode([]int32{-1, 0, 1, 1 << 30}, false)
	var out strings.Builder
	if _, err := tok.WriteTo(&out); err == nil && tok.source == nil {
		if _, err := Parse([]byte(out.String())); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%.2000s", err, out.String())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range components(f) {
		if c.Model == "" && len(c.Tokenizer) < 12000 {
			f.Add([]byte(c.Tokenizer))
		}
	}
	for _, s := range hostileJSON {
		f.Add([]byte(s.in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if tok, err := Parse(data); err == nil {
			tryTokenizer(t, tok)
		}
	})
}

func FuzzParseSentencePiece(f *testing.F) {
	for _, c := range components(f) {
		if c.Model != "" {
			f.Add(c.bytes(f))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if tok, err := ParseSentencePiece(data); err == nil {
			tryTokenizer(t, tok)
		}
	})
}

func FuzzParseTiktoken(f *testing.F) {
	f.Add([]byte("IQ== 0\nIg== 1\nISI= 2\n"))
	f.Add([]byte("IQ== 99999999999\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tok, err := ParseTiktoken(data, TiktokenOptions{}); err == nil {
			tryTokenizer(t, tok)
		}
	})
}

func FuzzLegacyFiles(f *testing.F) {
	f.Add([]byte("[UNK]\n[CLS]\n[SEP]\na\n##b\n"), []byte(`{"a":0,"b":1,"ab":2}`),
		[]byte("#version: 0.2\na b\n"))
	f.Fuzz(func(t *testing.T, txt, vocab, merges []byte) {
		if tok, err := ParseVocabTxt(txt); err == nil {
			tryTokenizer(t, tok)
		}
		if tok, err := ParseVocabMerges(vocab, merges); err == nil {
			tryTokenizer(t, tok)
		}
	})
}

func FuzzRegexTranslation(f *testing.F) {
	for _, s := range []string{byteLevelPattern, cl100kPattern, `[\p{L}&&[^a-c]]+|\R|(?i:x\h)`, `[]a]`,
		`[[:^punct:]x-]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if re, err := compileRegex(source); err == nil && len(source) < 100 {
			_, _ = re.matches("Hello, World's ½ 日本\r\n  x")
		}
	})
}

// hostileJSON are files that must be refused with a message that says where and what.
var hostileJSON = []struct{ name, in, want string }{
	{"empty", ``, "byte 0: found the end of the file"},
	{"no model", `{"version":"1.0"}`, `no "model"`},
	{"version", `{"version":"9","model":{}}`, `wanted "1.0"`},
	{"deep", `{"x":` + strings.Repeat("[", 100000), "nested more than"},
	{"cut", `{"model":{"type":"BPE","vocab":{"a":0,"b`, "byte 40"},
	{"huge id", `{"model":{"type":"BPE","vocab":{"a":99999999999},"merges":[]}}`, "above 2147483647"},
	{"negative id", `{"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}}`, `token "a": byte 36`},
	{"one id", `{"model":{"type":"WordLevel","vocab":{"a":1,"b":1}}}`, `"a" and "b" have the same id 1`},
	{"merge", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`,
		`merge 0: "b" is not in the vocabulary`},
	{"merge form", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["ab"]}}`, "two tokens"},
	{"merge result", `{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}}`, `makes "ab"`},
	{"model", `{"model":{"type":"LSTM","vocab":{"a":0}}}`, `"LSTM" is not known`},
	{"unk", `{"model":{"type":"Unigram","vocab":[["a",-1]],"unk_id":7}}`, "unk_id is 7"},
	{"normalizer", `{"normalizer":{"type":"Rot13"}}`, `normalizer: normalizer type "Rot13"`},
	{"regex", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated"}}`,
		"regular expression"},
	{"charsmap", `{"normalizer":{"type":"Precompiled","precompiled_charsmap":"/////w=="}}`, "trie size"},
	{"template", `{"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x",` +
		`"type_id":0}}],"pair":[],"special_tokens":{}}}`, `no whole entry for "x"`},
	{"behind", `{"model":{"type":"WordLevel","vocab":{"a":0}}} x`, "behind the end"},
	{"surrogate", `{"model":{"type":"WordLevel","vocab":{"\ud800":0}}}`, "surrogate"},
	{"utf8", "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\xff\":0}}}", "not valid UTF-8"},
	{"growth", `{"normalizer":{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAB` +
		strings.Repeat("h", 8001) + `"}}`, "a replacement has"},
	{"padding", `{"padding":{"strategy":{"Fixed":99999999999}}}`, "outside"},
}

func TestHostileFiles(t *testing.T) {
	for _, c := range hostileJSON {
		if _, err := Parse([]byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
	grows, err := Parse([]byte(`{"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat(
		`{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaa"},`, 20) + `{"type":"NFC"}]},` +
		`"model":{"type":"WordLevel","vocab":{"<unk>":0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grows.EncodeChecked("a", false); err == nil || !strings.Contains(err.Error(),
		"the limit is") {
		t.Errorf("a text that grows without end: got %v", err)
	}
	sparse, err := Parse([]byte(`{"model":{"type":"WordLevel","vocab":{"a":2147483647,"<unk>":0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	table := len(sparse.model.vocabulary().byID)
	if got := sparse.Decode([]int32{2147483647}, false); got != "a" || table > 1<<20 {
		t.Errorf("a sparse id decodes to %q with a table of %d", got, table)
	}
}
