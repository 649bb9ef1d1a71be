package tokenizer

import (
	"encoding/json"
	"fmt"
)

// typeOf reads the "type" of a component.
func typeOf(raw json.RawMessage) (string, error) {
	var c struct{ Type string }
	if err := json.Unmarshal(raw, &c); err != nil {
		return "", err
	}
	if c.Type == "" {
		return "", fmt.Errorf(`the component has no "type"`)
	}
	return c.Type, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// sequence reads each member of a Sequence with parse.
func sequence[T any](raw json.RawMessage, key string, parse func(json.RawMessage) (T, error)) ([]T, error) {
	var c map[string]json.RawMessage
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	var members []json.RawMessage
	if err := json.Unmarshal(c[key], &members); err != nil {
		return nil, fmt.Errorf("a Sequence: %q: %w", key, err)
	}
	out := make([]T, 0, len(members))
	for i, m := range members {
		p, err := parse(m)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// pattern is the "pattern" of Split and Replace: a literal string or a regular expression.
type pattern struct {
	literal string
	re      *regex // nil for a literal
}

func (p *pattern) UnmarshalJSON(raw []byte) error {
	var c struct{ String, Regex *string }
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	switch {
	case c.String != nil:
		p.literal = *c.String
	case c.Regex != nil:
		re, err := compileRegex(*c.Regex)
		if err != nil {
			return err
		}
		p.re = re
	default:
		return fmt.Errorf(`a pattern needs "String" or "Regex", found %.60s`, raw)
	}
	return nil
}

// matches returns the places of the pattern in s. Time: see regex.matches.
func (p *pattern) matches(s string) ([]span, error) {
	if p.re == nil {
		return literalMatches(s, p.literal), nil
	}
	return p.re.matches(s)
}

// runeValue is a JSON string of exactly one character.
type runeValue rune

func (r *runeValue) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	rs := []rune(s)
	if len(rs) != 1 {
		return fmt.Errorf("found %q, wanted one character", s)
	}
	*r = runeValue(rs[0])
	return nil
}
