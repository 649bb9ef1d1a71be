package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// charsmap is sentencepiece's compiled rewriting table: a double-array trie over UTF-8 bytes whose
// values are offsets of zero-terminated strings.
// Source: https://github.com/google/sentencepiece (normalizer.cc), https://github.com/s-yata/darts-clone
type charsmap struct {
	units   []uint32
	strings []byte
}

func parseCharsmap(b []byte) (*charsmap, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) < 4 {
		return nil, fmt.Errorf("charsmap has %d bytes, wanted at least 4", len(b))
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n%4 != 0 || n == 0 || n > int64(len(b)-4) {
		return nil, fmt.Errorf("charsmap: trie size %d does not fit into %d bytes", n, len(b)-4)
	}
	if longest := longestString(b[4+n:]); longest > maxReplacement {
		return nil, fmt.Errorf("charsmap: a replacement has %d bytes, the limit is %d", longest, maxReplacement)
	}
	c := &charsmap{units: make([]uint32, n/4), strings: b[4+n:]}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(b[4+4*i:])
	}
	return c, nil
}

// maxReplacement bounds what one key can turn into; the longest in use has 33 bytes.
const maxReplacement = 4096

// longestString returns the length of the longest zero-terminated string.
func longestString(b []byte) int {
	longest := 0
	for len(b) > 0 {
		n := bytes.IndexByte(b, 0)
		if n < 0 {
			n = len(b) - 1
		}
		longest = max(longest, n)
		b = b[n+1:]
	}
	return longest
}

func trieOffset(unit uint32) int { return int((unit >> 10) << ((unit & (1 << 9)) >> 6)) }

// prefixes calls found with the length and value of every key that is a prefix of s, shortest first,
// until found returns false.
func (c *charsmap) prefixes(s string, found func(n int, value int) bool) {
	pos := trieOffset(c.units[0])
	for i := 0; i < len(s) && s[i] != 0; i++ {
		pos ^= int(s[i])
		if pos < 0 || pos >= len(c.units) {
			return
		}
		unit := c.units[pos]
		if unit&(1<<31|0xff) != uint32(s[i]) {
			return
		}
		pos ^= trieOffset(unit)
		if unit>>8&1 == 1 && pos < len(c.units) {
			if !found(i+1, int(c.units[pos]&(1<<31-1))) {
				return
			}
		}
	}
}

// value returns the string at an offset.
func (c *charsmap) value(at int) string {
	if at >= len(c.strings) {
		return ""
	}
	if n := bytes.IndexByte(c.strings[at:], 0); n >= 0 {
		return string(c.strings[at : at+n])
	}
	return string(c.strings[at:])
}

// shortest returns the replacement of the shortest key that s begins with. That the rest of s vanishes
// is a quirk of the tokenizers library that its models rely on.
func (c *charsmap) shortest(s string) (string, bool) {
	value := -1
	c.prefixes(s, func(_, v int) bool {
		value = v
		return false
	})
	if value < 0 {
		return "", false
	}
	return c.value(value), true
}

// normPrecompiled applies a charsmap the way the tokenizers library does: to each grapheme cluster of
// under six bytes, else to each of its runes.
type normPrecompiled struct{ table *charsmap }

func parsePrecompiled(raw json.RawMessage) (normalizer, error) {
	var c struct {
		Map string `json:"precompiled_charsmap"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("normalizer Precompiled: %w", err)
	}
	b, err := base64.StdEncoding.DecodeString(c.Map)
	if err != nil {
		return nil, fmt.Errorf("normalizer Precompiled: %w", err)
	}
	table, err := parseCharsmap(b)
	if err != nil {
		return nil, fmt.Errorf("normalizer Precompiled: %w", err)
	}
	return &normPrecompiled{table}, nil
}

func (n *normPrecompiled) normalize(t *text) error {
	if n.table == nil {
		return nil
	}
	out := make([]change, 0, len(t.s))
	modified := false
	try := func(old string) bool {
		s, ok := n.table.shortest(old)
		if ok {
			out = appendReplacement(out, old, s)
			modified = true
		}
		return ok
	}
	rest, state := t.s, -1
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(cluster) < 6 && try(cluster) {
			continue
		}
		for i, r := range cluster {
			if !try(cluster[i : i+utf8.RuneLen(r)]) {
				out = append(out, change{r: r})
			}
		}
	}
	if err := t.mayGrow(len(out)); err != nil {
		return err
	}
	if modified {
		t.rewrite(out, 0)
	}
	return nil
}

// appendReplacement adds the changes that turn old into s.
func appendReplacement(out []change, old, s string) []change {
	diff := utf8.RuneCountInString(s) - utf8.RuneCountInString(old)
	for _, r := range s {
		out = append(out, change{r: r})
	}
	for i := range max(diff, 0) {
		out[len(out)-1-i].n = 1
	}
	if diff < 0 && len(out) > 0 {
		out[len(out)-1].n += diff
	}
	return out
}
