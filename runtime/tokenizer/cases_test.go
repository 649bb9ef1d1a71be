package tokenizer

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	tokenizersDir = flag.String("tokenizers", "", "folder with NAME/tokenizer.json and spm_NAME.model")
	casesFile     = flag.String("cases", "", "JSON lines of texts and their ids")
)

// textCase is a text with what the reference makes of it.
type textCase struct {
	Tokenizer  string
	Text       string
	IDs        []int32
	IDsSpecial []int32 `json:"ids_special"`
	Decoded    string
	Skipped    *string `json:"decoded_skip_special"` // of the ids with special tokens
	Full       *fullCase
	Pair       *fullCase
	PairWith   string `json:"pair_with"` // the first text of Pair
	PairError  string `json:"pair_error"`
	Error      string
	Limits     bool // truncation and padding of the file were on
}

// fullCase is an Encoding; offsets count characters.
type fullCase struct {
	IDs, Types, Words, Mask, Attention, Seqs []int32
	Tokens                                   []string
	Offsets                                  [][2]int
	Overflow                                 [][]int32
}

func (f *fullCase) diff(e *Encoding, texts ...string) []string {
	var out []string
	report := func(what string, same bool) {
		if !same {
			out = append(out, what)
		}
	}
	report("full ids", slices.Equal(e.IDs, f.IDs))
	report("types", slices.Equal(e.TypeIDs, f.Types))
	report("words", slices.Equal(e.Words, f.Words))
	report("mask", slices.Equal(e.SpecialMask, f.Mask))
	report("attention", slices.Equal(e.Attention, f.Attention))
	report("sequences", f.Seqs == nil || slices.Equal(e.Sequences, f.Seqs))
	report("tokens", slices.Equal(e.Tokens, f.Tokens))
	same := len(f.Overflow) == len(e.Overflowing)
	for i := 0; same && i < len(f.Overflow); i++ {
		same = slices.Equal(f.Overflow[i], e.Overflowing[i].IDs)
	}
	report("overflowing", same)
	if got := e.CharOffsets(texts...); !slices.Equal(got, f.Offsets) {
		out = append(out, fmt.Sprintf("offsets %v want %v", got, f.Offsets))
	}
	return out
}

func readCases(t *testing.T, path string) map[string][]textCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]textCase{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var c textCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out[c.Tokenizer] = append(out[c.Tokenizer], c)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// check compares one case and returns what differs.
func (c *textCase) check(tok *Tokenizer) []string {
	var out []string
	report := func(what string, same bool) {
		if !same {
			out = append(out, what)
		}
	}
	if c.Limits {
		return c.checkFull(tok)
	}
	ids := tok.Encode(c.Text, false)
	report("ids", slices.Equal(ids, c.IDs))
	special := c.IDs
	if c.IDsSpecial != nil {
		special = c.IDsSpecial
	}
	report("ids_special", slices.Equal(tok.Encode(c.Text, true), special))
	report("decoded", tok.Decode(c.IDs, false) == c.Decoded)
	skipped := c.Decoded
	if c.Skipped != nil {
		skipped = *c.Skipped
	}
	report("decoded_skip_special", tok.Decode(special, true) == skipped)
	out = append(out, c.checkFull(tok.WithLimits(nil, nil))...)
	var b strings.Builder
	stream := tok.Stream()
	stream.SkipSpecial = false
	for _, id := range c.IDs {
		b.WriteString(stream.Push(id))
	}
	b.WriteString(stream.Flush())
	report("stream", b.String() == c.Decoded)
	return out
}

// checkFull compares what EncodeFull and EncodeFullPair give.
func (c *textCase) checkFull(tok *Tokenizer) []string {
	var out []string
	full, err := tok.EncodeFull(c.Text, true)
	if err != nil {
		out = append(out, err.Error())
	} else if c.Full != nil {
		out = append(out, c.Full.diff(full, c.Text)...)
	}
	pair, err := tok.EncodeFullPair(c.PairWith, c.Text, true)
	switch {
	case c.PairError != "":
		if err == nil {
			out = append(out, "no error for the pair, want "+c.PairError)
		}
	case c.Pair == nil:
	case err != nil:
		out = append(out, err.Error())
	default:
		out = append(out, c.Pair.diff(pair, c.PairWith, c.Text)...)
		if !c.Limits && !slices.Equal(tok.EncodePair(c.PairWith, c.Text, true), c.Pair.IDs) {
			out = append(out, "EncodePair")
		}
	}
	return out
}

func TestPublishedTokenizers(t *testing.T) {
	if *tokenizersDir == "" || *casesFile == "" {
		t.Skip("needs published tokenizers: -tokenizers FOLDER -cases FILE (see testdata/README.md)")
	}
	for name, cases := range readCases(t, *casesFile) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(*tokenizersDir, name)
			if rest, ok := strings.CutPrefix(name, "spm:"); ok {
				path = filepath.Join(*tokenizersDir, "spm_"+rest+".model")
			}
			if _, err := os.Stat(path); err != nil {
				t.Skipf("not there: %v", err)
			}
			tok, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for i := range cases {
				c := &cases[i]
				if c.Error != "" {
					if _, err := tok.EncodeChecked(c.Text, true); err == nil {
						t.Errorf("%q: no error, the reference has %q", c.Text, c.Error)
					}
					continue
				}
				if diff := c.check(tok); len(diff) > 0 {
					if failed++; failed <= 3 {
						t.Errorf("%q: %v differ; got ids %v, want %v; decoded %q, want %q", c.Text, diff,
							tok.Encode(c.Text, false), c.IDs, tok.Decode(c.IDs, false), c.Decoded)
					}
				}
			}
			if failed > 0 {
				t.Errorf("%d of %d cases differ", failed, len(cases))
			}
		})
	}
}
