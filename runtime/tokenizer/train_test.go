package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var corpus = []string{
	"the cat sat on the mat, the cat's hat sat on the cat",
	"she sells sea shells by the sea shore; the shells she sells are sea shells",
	"über naïve façade 日本語 日本 1234 12 🙂",
}

func TestTrainBPERoundTrip(t *testing.T) {
	tok, err := TrainBPE(slices.Values(corpus), TrainOptions{VocabSize: 320,
		SpecialTokens: []string{"<pad>", "<s>", "</s>"}, BOS: "<s>", EOS: "</s>"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := tok.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if tok.VocabSize() != 320 || again.VocabSize() != 320 || again.MaxID() != 319 {
		t.Errorf("sizes %d %d %d, want 320", tok.VocabSize(), again.VocabSize(), again.MaxID())
	}
	for _, s := range append(corpus, "never seen: żółć\x00\n\n  x", "a<s>b", "") {
		ids := tok.Encode(s, true)
		if d := cmp.Diff(ids, again.Encode(s, true)); d != "" {
			t.Errorf("%q after Save and Load: %s", s, d)
		}
		if len(ids) < 2 || ids[0] != 1 || ids[len(ids)-1] != 2 {
			t.Errorf("%q: ids %v do not stand between <s> and </s>", s, ids)
		}
		if got := again.Decode(ids, true); got != strings.ReplaceAll(s, "<s>", "") {
			t.Errorf("decoded %q, want %q", got, s)
		}
	}
}

// TestTrainBPEEqualsTheReference compares the merges.
func TestTrainBPEEqualsTheReference(t *testing.T) {
	data, err := os.ReadFile("testdata/train_bpe.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Size, Frequency  int
		Specials, Merges []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		tok, err := TrainBPE(slices.Values(corpus), TrainOptions{VocabSize: c.Size, MinFrequency: c.Frequency,
			SpecialTokens: c.Specials})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range tok.model.(*bpe).pairs {
			a, _ := tok.Token(p[0])
			b, _ := tok.Token(p[1])
			got = append(got, a+" "+b)
		}
		if d := cmp.Diff(c.Merges, got); d != "" {
			t.Errorf("%d tokens: %s", c.Size, d)
		}
	}
}

func TestDropout(t *testing.T) {
	const file = `{"model":{"type":"BPE","dropout":%s,"vocab":{"a":0,"b":1,"ab":2,"abab":3},` +
		`"merges":["a b","ab ab"]}}`
	always, err := Parse([]byte(strings.Replace(file, "%s", "1.0", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int32{0, 1, 0, 1}, always.Encode("abab", false)); d != "" {
		t.Errorf("dropout 1: %s", d)
	}
	sometimes, err := Parse([]byte(strings.Replace(file, "%s", "0.5", 1)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for range 500 {
		ids := sometimes.Encode("abab", false)
		seen[len(ids)] = true
		if got := sometimes.Decode(ids, false); strings.ReplaceAll(got, " ", "") != "abab" {
			t.Fatalf("dropout changed the text to %q", got)
		}
	}
	if !seen[1] || len(seen) < 2 {
		t.Errorf("dropout 0.5 gave only lengths %v", seen)
	}
}

func TestTrainBPEIsDeterministic(t *testing.T) {
	var first strings.Builder
	for i := range 5 {
		tok, err := TrainBPE(slices.Values(corpus), TrainOptions{VocabSize: 400})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := tok.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b
		} else if b.String() != first.String() {
			t.Fatal("two trainings differ")
		}
	}
}

func TestTrainOptionErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		in   TrainOptions
		want string
	}{
		{"small", TrainOptions{VocabSize: 100}, "VocabSize is 100"},
		{"twice", TrainOptions{VocabSize: 300, SpecialTokens: []string{"a", "a"}}, "SpecialTokens[1]"},
		{"bos", TrainOptions{VocabSize: 300, BOS: "<s>"}, "not in SpecialTokens"},
		{"pattern", TrainOptions{VocabSize: 300, Pattern: "("}, "regular expression"},
	} {
		if _, err := TrainBPE(slices.Values(corpus), c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
}

func TestTrainUnigram(t *testing.T) {
	var first strings.Builder
	for i := range 3 {
		tok, err := TrainUnigram(slices.Values(corpus), TrainOptions{VocabSize: 340,
			SpecialTokens: []string{"<pad>", "<s>"}, BOS: "<s>"})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := tok.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b
		} else if first.String() != b.String() {
			t.Fatal("two trainings differ")
		}
	}
	tok, err := Parse([]byte(first.String()))
	if err != nil {
		t.Fatal(err)
	}
	if tok.VocabSize() > 340 {
		t.Errorf("%d tokens, want at most 340", tok.VocabSize())
	}
	for _, s := range append(corpus, "never seen: żółć\x00\n\n x") {
		if got := tok.Decode(tok.Encode(s, true), true); got != s {
			t.Errorf("decoded %q, want %q", got, s)
		}
	}
	cat := tok.Encode("the cat sat", false)
	if len(cat) > 7 {
		t.Errorf("the cat sat: %d tokens, want words to have tokens of their own", len(cat))
	}
}
