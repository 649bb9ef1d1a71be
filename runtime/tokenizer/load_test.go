package tokenizer

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ranks is a tiktoken file of the 256 bytes and a few joined tokens.
func ranks(more ...string) string {
	var b strings.Builder
	n := 0
	add := func(s string) {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(s)), n)
		n++
	}
	for i := range 256 {
		add(string([]byte{byte(i)}))
	}
	for _, s := range more {
		add(s)
	}
	return b.String()
}

func write(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadFindsTheFile(t *testing.T) {
	bert := "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\nwor\n##ld\n"
	words := `{"model":{"type":"WordLevel","vocab":{"<unk>":0,"hello world":1}}}`
	config := `{"added_tokens_decoder":{"300":{"content":"<|end|>"}}}`
	for _, c := range []struct {
		name  string
		files map[string]string
		text  string
		want  []int32
	}{
		{"tokenizer.json first", map[string]string{"tokenizer.json": words, "vocab.txt": bert},
			"hello world", []int32{1}},
		{"vocab.txt", map[string]string{"vocab.txt": bert}, "Hello, world", []int32{2, 4, 1, 5, 6, 3}},
		{"vocab.json", map[string]string{"vocab.json": `{"h":0,"e":1,"he":2}`,
			"merges.txt": "#version: 0.2\nh e\n"}, "hehh", []int32{2, 0, 0}},
		{"tiktoken", map[string]string{"x.tiktoken": ranks("he", "ll", "hell")}, "hello", []int32{258, 'o'}},
		{"tiktoken .model", map[string]string{"tokenizer.model": ranks("lo", "he"),
			"tokenizer_config.json": config}, "hello<|end|>", []int32{257, 'l', 256, 300}},
	} {
		tok, err := Load(write(t, c.files))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, tok.Encode(c.text, true)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, "no tokenizer here; looked for tokenizer.json"},
		{"no merges", map[string]string{"vocab.json": "{}"}, "merges.txt"},
		{"two models", map[string]string{"a.model": "", "b.model": ""}, "2 files match *.model"},
		{"no BERT", map[string]string{"vocab.txt": "a\nb\n"}, "no [UNK]"},
		{"ranks", map[string]string{"x.tiktoken": "IQ== 0\nIQ== 1\n"}, `line 2: the token "!" is there twice`},
		{"bytes", map[string]string{"x.tiktoken": "IQ== 0\n"}, "the byte 0x00 has no rank"},
		{"cut model", map[string]string{"x.model": "\x0a\x0e\x0a\x05<unk>"},
			"field 1: its length goes beyond the end"},
		{"empty model", map[string]string{"x.model": "\x12\x02\x18\x02"}, "no pieces"},
	} {
		if _, err := Load(write(t, c.files)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
}

// TestMissingUnknownToken: a file may name an unknown token that the vocabulary lacks, which is an error
// where a word needs it and not before.
func TestMissingUnknownToken(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"BPE", `{"model":{"type":"BPE","unk_token":"<u>","vocab":{"a":0},"merges":[]}}`, `BPE: a word is not`},
		{"WordLevel", `{"model":{"type":"WordLevel","unk_token":"<u>","vocab":{"a":0}}}`, "WordLevel: a word"},
		{"WordPiece", `{"model":{"type":"WordPiece","unk_token":"<u>","vocab":{"a":0}}}`, "WordPiece: a word"},
		{"Unigram", `{"model":{"type":"Unigram","vocab":[["a",-1]]}}`, "no unk_id"},
	} {
		tok, err := Parse([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if ids, err := tok.EncodeChecked("a", true); err != nil || len(ids) != 1 {
			t.Errorf("%s: a known word gave %v %v", c.name, ids, err)
		}
		if _, err := tok.EncodeChecked("b", true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
		if tok.Encode("b", true) != nil {
			t.Errorf("%s: Encode gave ids for a word that cannot be written", c.name)
		}
	}
}

func TestSaveLeavesTheOldFile(t *testing.T) {
	dir := write(t, map[string]string{"tokenizer.json": "old"})
	tok, err := TrainBPE(slices.Values(corpus), TrainOptions{VocabSize: 260})
	if err != nil {
		t.Fatal(err)
	}
	if err := tok.Save(filepath.Join(dir, "missing", "tokenizer.json")); err == nil {
		t.Error("saved into a folder that is not there")
	}
	if err := tok.Save(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("files left over: %v", left)
	}
}

// TestStreamShowsWholeCharacters feeds the bytes of characters one by one.
func TestStreamShowsWholeCharacters(t *testing.T) {
	tok, err := ParseTiktoken([]byte(ranks()), TiktokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		in   string
		want []string
	}{
		{"two bytes", "aé", []string{"a", "", "é"}},
		{"four bytes", "🙂.", []string{"", "", "", "🙂", "."}},
		{"broken", "\xf0\x9fa", []string{"", "", "\uFFFDa"}},
		{"unfinished", "\xe6\x97", []string{"", "", "\uFFFD"}},
	} {
		var got []string
		s := tok.Stream()
		for i := range len(c.in) {
			got = append(got, s.Push(int32(c.in[i])))
		}
		if rest := s.Flush(); rest != "" {
			got = append(got, rest)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestWithBOSEOS(t *testing.T) {
	specials := map[string]int32{"<s>": 256, "</s>": 257}
	tok, err := ParseTiktoken([]byte(ranks()), TiktokenOptions{SpecialTokens: specials})
	if err != nil {
		t.Fatal(err)
	}
	both, err := tok.WithBOSEOS("<s>", "</s>")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		got  []int32
		want []int32
	}{
		{"before", tok.Encode("a", true), []int32{'a'}},
		{"both", both.Encode("a", true), []int32{256, 'a', 257}},
		{"pair", both.EncodePair("a", "b", true), []int32{256, 'a', 257, 256, 'b', 257}},
		{"not special", both.Encode("a", false), []int32{'a'}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if _, err := tok.WithBOSEOS("<none>", ""); err == nil {
		t.Error("a token that is not in the vocabulary was accepted")
	}
}

// TestLongWords bounds the time that one word without spaces takes.
func TestLongWords(t *testing.T) {
	for _, c := range []struct{ name, in string }{
		{"WordPiece", `{"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",` +
			`"max_input_chars_per_word":1000000000,"vocab":{"[UNK]":0,"a":1,"##a":2,"##aaa":3}}}`},
		{"BPE", `{"model":{"type":"BPE","vocab":{"a":0,"aa":1,"aaaa":2},"merges":["a a","aa aa"]}}`},
		{"Unigram", `{"model":{"type":"Unigram","vocab":[["<unk>",0],["a",-1],["aaa",-2]],"unk_id":0}}`},
	} {
		tok, err := Parse([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ids := tok.Encode(strings.Repeat("a", 1<<20), false)
		if took := time.Since(start); len(ids) < 1<<18 || took > 20*time.Second {
			t.Errorf("%s: %d tokens in %v", c.name, len(ids), took)
		}
	}
}
