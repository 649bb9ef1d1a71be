package tokenizer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// component is a small tokenizer that has certain components, with what the reference makes of texts.
type component struct {
	Name      string
	Tokenizer json.RawMessage // a tokenizer.json file, or
	Model     string          // a sentencepiece model in base64
	Cases     []textCase
}

// bytes returns the file.
func (c *component) bytes(t testing.TB) []byte {
	if c.Model == "" {
		return c.Tokenizer
	}
	b, err := base64.StdEncoding.DecodeString(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (c *component) load(t testing.TB) *Tokenizer {
	parse := Parse
	if c.Model != "" {
		parse = ParseSentencePiece
	}
	tok, err := parse(c.bytes(t))
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return tok
}

// components reads testdata/components.jsonl.gz; testdata/README.md says how it was made.
func components(t testing.TB) []component {
	f, err := os.Open("testdata/components.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []component
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var c component
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

func TestComponents(t *testing.T) {
	for _, c := range components(t) {
		t.Run(c.Name, func(t *testing.T) {
			tok := c.load(t)
			for i := range c.Cases {
				k := &c.Cases[i]
				if k.Error != "" {
					continue
				}
				if diff := k.check(tok); len(diff) > 0 {
					t.Errorf("%q: %v differ; got ids %v, want %v", k.Text, diff, tok.Encode(k.Text, false), k.IDs)
				}
			}
		})
	}
}

// TestSaveKeepsEverything writes each tokenizer, reads it again and tries the same cases.
func TestSaveKeepsEverything(t *testing.T) {
	for _, c := range components(t) {
		if c.Model != "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := c.load(t).Save(path); err != nil {
				t.Fatal(err)
			}
			tok, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.Cases {
				if diff := c.Cases[i].check(tok); c.Cases[i].Error == "" && len(diff) > 0 {
					t.Errorf("%q: %v differ", c.Cases[i].Text, diff)
				}
			}
			var again bytes.Buffer
			if _, err := tok.WriteTo(&again); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, again.Bytes()) {
				t.Errorf("written twice, the files differ (%v)", err)
			}
		})
	}
}

func TestSaveSentencePiece(t *testing.T) {
	for _, c := range components(t) {
		if c.Model == "" {
			continue
		}
		tok, dir := c.load(t), t.TempDir()
		if err := tok.Save(filepath.Join(dir, "x.json")); err == nil || !strings.Contains(err.Error(), ".model") {
			t.Errorf("saved as .json: got %v, want an error that names .model", err)
		}
		if err := tok.Save(filepath.Join(dir, "x.model")); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "x.model")); err != nil || !bytes.Equal(b, c.bytes(t)) {
			t.Errorf("the file differs (%v)", err)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	for _, c := range components(t) {
		tok := c.load(t)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for i := range c.Cases {
					if k := &c.Cases[i]; k.Error == "" && len(k.check(tok)) > 0 {
						t.Errorf("%s: %q differs when several goroutines encode", c.Name, k.Text)
					}
				}
			})
		}
		group.Wait()
	}
}
