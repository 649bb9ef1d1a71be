package tokenizer

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
)

// TiktokenOptions is what a rank file leaves out.
type TiktokenOptions struct {
	Pattern       string           // the splitting pattern; "" is cl100kPattern
	SpecialTokens map[string]int32 // strings with their ids
}

// ParseTiktoken reads a tiktoken rank file: lines of a token in base64 and its rank, which is its id.
// Unlike other BPE files it has no merges: two tokens join whenever the vocabulary has the result.
// Source: https://github.com/openai/tiktoken, src/lib.rs
func ParseTiktoken(data []byte, o TiktokenOptions) (*Tokenizer, error) {
	t, err := parseTiktoken(data, o)
	if err != nil {
		return nil, inField("tiktoken ranks", err)
	}
	return t, nil
}

// rankLine splits "dGhl 123".
func rankLine(line []byte) (tok []byte, rank int32, err error) {
	a, b, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return nil, 0, fmt.Errorf("found %.60q, wanted a token in base64, a space and a rank", line)
	}
	tok = make([]byte, base64.StdEncoding.DecodedLen(len(a)))
	n, err := base64.StdEncoding.Decode(tok, a)
	if err != nil || n == 0 {
		return nil, 0, fmt.Errorf("%.60q is not base64 of a token", a)
	}
	v, err := strconv.ParseUint(string(b), 10, 31)
	if err != nil {
		return nil, 0, fmt.Errorf("rank %.60q is not a number from 0 to 2147483647", b)
	}
	return tok[:n], int32(v), nil
}

// looksLikeRanks tells whether the first line is one of a rank file.
func looksLikeRanks(data []byte) bool {
	line, _, _ := bytes.Cut(data[:min(len(data), 4096)], []byte("\n"))
	_, _, err := rankLine(bytes.TrimSuffix(line, []byte("\r")))
	return err == nil
}

func parseTiktoken(data []byte, o TiktokenOptions) (*Tokenizer, error) {
	m := &bpe{vocab: newVocab(min(len(data)/12, 1<<18)), ignoreMerges: true}
	var buf []byte
	for n := 1; len(data) > 0; n++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 {
			continue
		}
		tok, rank, err := rankLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		buf = appendByteLevel(buf[:0], string(tok))
		if _, dup := m.vocab.lookupBytes(buf); dup {
			return nil, fmt.Errorf("line %d: the token %q is there twice", n, tok)
		}
		if _, dup := m.vocab.token(rank); dup {
			return nil, fmt.Errorf("line %d: the rank %d is there twice", n, rank)
		}
		m.vocab.add(buf, rank)
	}
	if m.vocab.size == 0 {
		return nil, fmt.Errorf("the file is empty")
	}
	m.rankMerges()
	if err := m.link(); err != nil {
		return nil, err
	}
	for b, id := range m.rawIDs {
		if id < 0 {
			return nil, fmt.Errorf("the byte 0x%02x has no rank, so that not all text could be written", b)
		}
	}
	return tiktokenPipeline(m, o)
}

// rankMerges makes a rule of every way to cut a token into two tokens. The rank of a rule is the id of
// the result, since that is what tiktoken compares.
func (m *bpe) rankMerges() {
	m.merges = newMergeTable(2 * m.vocab.size)
	for e := range m.vocab.ids {
		s, id := m.vocab.entry(int32(e)), m.vocab.ids[e]
		for k := range s {
			if k == 0 {
				continue
			}
			left, ok := m.vocab.lookup(s[:k])
			if !ok {
				continue
			}
			if right, ok := m.vocab.lookup(s[k:]); ok {
				m.merges.set(left, right, mergeRule{id, id})
				m.pairs = append(m.pairs, [2]int32{left, right})
			}
		}
	}
	m.sortPairs()
}
