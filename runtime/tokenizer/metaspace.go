package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// metaspace writes spaces as a visible rune (usually U+2581) and cuts before each of them. It is a
// pre-tokenizer and, the other way round, a decoder.
type metaspace struct {
	replacement string
	scheme      string // "always", "first" or "never": where one more is put before the text
	cutting     bool
}

func parseMetaspace(raw json.RawMessage) (*metaspace, error) {
	c := struct {
		Replacement    runeValue
		AddPrefixSpace *bool  `json:"add_prefix_space"`
		PrependScheme  string `json:"prepend_scheme"`
		Split          *bool
	}{Replacement: '▁'}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("a Metaspace: %w", err)
	}
	m := &metaspace{string(rune(c.Replacement)), c.PrependScheme, c.Split == nil || *c.Split}
	never := c.AddPrefixSpace != nil && !*c.AddPrefixSpace
	switch {
	case m.scheme == "" && never:
		m.scheme = "never"
	case m.scheme == "":
		m.scheme = "always"
	case never && m.scheme != "never":
		return nil, fmt.Errorf("a Metaspace: add_prefix_space is false but prepend_scheme is %q", m.scheme)
	}
	switch m.scheme {
	case "always", "first", "never":
		return m, nil
	}
	return nil, fmt.Errorf("a Metaspace: prepend_scheme is %q, wanted always, first or never", m.scheme)
}

func (m *metaspace) split(t text, out []text) ([]text, error) {
	t.replace(literalMatches(t.s, " "), m.replacement)
	if m.scheme == "always" || m.scheme == "first" && t.start == 0 {
		if !strings.HasPrefix(t.s, m.replacement) {
			t.prepend(m.replacement)
		}
	}
	if m.cutting {
		return mergedWithNext.cut(t, literalMatches(t.s, m.replacement), false, out), nil
	}
	if t.s != "" {
		out = append(out, t)
	}
	return out, nil
}

// decode drops the spaces of the first token where one was put before the text.
func (m *metaspace) decode(tokens []string) []string {
	for i, tok := range tokens {
		space := " "
		if i == 0 && m.scheme != "never" {
			space = ""
		}
		tokens[i] = strings.ReplaceAll(tok, m.replacement, space)
	}
	return tokens
}
