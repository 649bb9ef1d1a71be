package gguf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokenizer(t *testing.T) {
	got, err := open(t, "testdata/meta.gguf").Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := TokenizerData{
		Model: "gpt2", Pre: "default",
		Tokens: []string{"<s>", "</s>", "a", "b", "ab", "<0x00>"},
		Scores: []float32{0, 0, -1, -2, -3, 0},
		Types:  []TokenType{TokenControl, TokenControl, TokenNormal, TokenNormal, TokenNormal, TokenByte},
		Merges: [][2]string{{"a", "b"}, {" ", "b"}},
		BOS:    0, EOS: 1, EOT: None, EOM: None, UNK: 1, SEP: None, PAD: None, MASK: None,
		FIMPrefix: None, FIMSuffix: None, FIMMiddle: None, FIMPad: None, FIMRepo: None, FIMSep: None,
		AddBOS: &yes, AddSpacePrefix: &no,
		ChatTemplate:  "{{ m }}",
		ChatTemplates: map[string]string{"tool_use": "{{ t }}"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestTokenizerErrors(t *testing.T) {
	const ns = "tokenizer.ggml."
	tests := []struct {
		name string
		add  func(*builder) *builder // one more key
		want string
	}{
		{"scores", func(w *builder) *builder {
			return w.key(ns+"scores", Array).u32(uint32(Float32)).u64(1).u32(0)
		}, `key "tokenizer.ggml.scores": 1 scores for 2 tokens`},
		{"score type", func(w *builder) *builder {
			return w.key(ns+"scores", Array).u32(uint32(Float64)).u64(0)
		}, `is array of float64, want an array of float32`},
		{"type count", func(w *builder) *builder {
			return w.key(ns+"token_type", Array).u32(uint32(Int8)).u64(1).raw(1)
		}, `1 types for 2 tokens`},
		{"type", func(w *builder) *builder {
			return w.key(ns+"token_type", Array).u32(uint32(Int8)).u64(2).raw(1, 7)
		}, `element 1 is 7, want 0 to 6`},
		{"merge", func(w *builder) *builder {
			return w.key(ns+"merges", Array).u32(uint32(String)).u64(1).text("ab")
		}, `element 0 is "ab", want two tokens with a blank between`},
		{"merge half", func(w *builder) *builder {
			return w.key(ns+"merges", Array).u32(uint32(String)).u64(1).text("a ")
		}, `element 0 is "a ", want two tokens`},
		{"id", func(w *builder) *builder { return w.key(ns+"bos_token_id", Uint32).u32(2) },
			`key "tokenizer.ggml.bos_token_id": id is 2, and the vocabulary has 2 tokens`},
		{"flag", func(w *builder) *builder { return w.key(ns+"add_bos_token", Uint8).raw(1) },
			`key "tokenizer.ggml.add_bos_token" is uint8, want a bool`},
		{"charsmap", func(w *builder) *builder { return w.key(ns+"precompiled_charsmap", String).text("x") },
			`is string, want an array of uint8`},
		{"template", func(w *builder) *builder {
			return w.key("tokenizer.chat_templates", Array).u32(uint32(String)).u64(1).text("x")
		}, `names template "x", and there is no key "tokenizer.chat_template.x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newImage(0, 2).key(ns+"tokens", Array).u32(uint32(String)).u64(2).text("a").text("b")
			_, err := open(t, tt.add(w).save(t, t.TempDir(), "t.gguf")).Tokenizer()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	_, err := open(t, newImage(0, 0).save(t, t.TempDir(), "t.gguf")).Tokenizer()
	if err == nil || !strings.Contains(err.Error(), `key "tokenizer.ggml.tokens": no such key`) {
		t.Errorf("got %v", err)
	}
}
