package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// UnmarshalJSON reads null, a text or a list of texts.
func (n *Names) UnmarshalJSON(text []byte) error {
	*n = Names{}
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	if json.Unmarshal(text, &n.Expr) == nil {
		return nil
	}
	n.Expr = ""
	if err := json.Unmarshal(text, &n.List); err != nil {
		return fmt.Errorf("found %s, want a text or a list of texts", text)
	}
	return nil
}

// MarshalJSON is the inverse of UnmarshalJSON.
func (n Names) MarshalJSON() ([]byte, error) {
	switch {
	case n.Expr != "":
		return json.Marshal(n.Expr)
	case n.List != nil:
		return json.Marshal(n.List)
	}
	return []byte("null"), nil
}

// oneOrMore reads a list, or a value that stands for a list of one.
type oneOrMore[T any] []T

func (l *oneOrMore[T]) UnmarshalJSON(text []byte) error {
	var one T
	if !bytes.Equal(text, []byte("null")) && json.Unmarshal(text, &one) == nil {
		*l = oneOrMore[T]{one}
		return nil
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// patterns keep the order of the object: the first that matches counts.
type patterns []Pattern

func (p *patterns) UnmarshalJSON(text []byte) error {
	*p = nil
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("found %s, want an object", text)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var v float64
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
		*p = append(*p, Pattern{key.(string), v}) // keys of objects are texts
	}
	return nil
}

func (p patterns) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, x := range p {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(x.Key)
		if err != nil {
			return nil, err
		}
		b = append(append(b, key...), ':')
		value, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}
