package tokenizer

import (
	"encoding/json"
	"fmt"
)

// Truncation says how EncodeFull shortens long texts.
type Truncation struct {
	MaxLength int
	Strategy  string // "LongestFirst", "OnlyFirst" or "OnlySecond"
	Stride    int    // how many tokens the overflowing parts share with their neighbours
	Left      bool   // cut at the beginning instead of the end
}

// Padding says how EncodeFull and EncodeBatch lengthen short texts.
type Padding struct {
	Fixed      int // length to pad to; 0 means the longest text of the batch
	MultipleOf int // 0 means any
	Left       bool
	ID, TypeID int32
	Token      string
}

func (p *Truncation) UnmarshalJSON(raw []byte) error {
	c := struct {
		Direction string
		MaxLength int `json:"max_length"`
		Strategy  string
		Stride    int
	}{Direction: "Right", Strategy: "LongestFirst"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	switch c.Strategy {
	case "LongestFirst", "OnlyFirst", "OnlySecond":
	default:
		return fmt.Errorf("truncation strategy %q is not known", c.Strategy)
	}
	if c.MaxLength < 0 || c.Stride < 0 {
		return fmt.Errorf("truncation: max_length %d and stride %d must not be negative", c.MaxLength, c.Stride)
	}
	left, err := direction(c.Direction)
	*p = Truncation{c.MaxLength, c.Strategy, c.Stride, left}
	return err
}

func (p Truncation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Direction string `json:"direction"`
		MaxLength int    `json:"max_length"`
		Strategy  string `json:"strategy"`
		Stride    int    `json:"stride"`
	}{directionName(p.Left), p.MaxLength, p.Strategy, p.Stride})
}

// maxPadding bounds the memory that a file can ask for.
const maxPadding = 1 << 24

func (p *Padding) UnmarshalJSON(raw []byte) error {
	c := struct {
		Strategy   json.RawMessage
		Direction  string
		MultipleOf *int   `json:"pad_to_multiple_of"`
		ID         int32  `json:"pad_id"`
		TypeID     int32  `json:"pad_type_id"`
		Token      string `json:"pad_token"`
	}{Direction: "Right", Token: "[PAD]"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	left, err := direction(c.Direction)
	if err != nil {
		return err
	}
	*p = Padding{Left: left, ID: c.ID, TypeID: c.TypeID, Token: c.Token}
	if c.MultipleOf != nil {
		p.MultipleOf = *c.MultipleOf
	}
	var fixed struct{ Fixed *int }
	if s := string(c.Strategy); s != `"BatchLongest"` && len(c.Strategy) > 0 {
		if json.Unmarshal(c.Strategy, &fixed) != nil || fixed.Fixed == nil {
			return fmt.Errorf(`padding strategy %.40s is not known, wanted "BatchLongest" or {"Fixed": n}`, s)
		}
		p.Fixed = *fixed.Fixed
	}
	for _, n := range []int{p.Fixed, p.MultipleOf} {
		if n < 0 || n > maxPadding {
			return fmt.Errorf("padding length %d is outside 0 to %d", n, maxPadding)
		}
	}
	return nil
}

func (p Padding) MarshalJSON() ([]byte, error) {
	var strategy any = "BatchLongest"
	if p.Fixed > 0 {
		strategy = map[string]int{"Fixed": p.Fixed}
	}
	var multiple *int
	if p.MultipleOf > 0 {
		multiple = &p.MultipleOf
	}
	return json.Marshal(struct {
		Strategy  any    `json:"strategy"`
		Direction string `json:"direction"`
		Multiple  *int   `json:"pad_to_multiple_of"`
		ID        int32  `json:"pad_id"`
		TypeID    int32  `json:"pad_type_id"`
		Token     string `json:"pad_token"`
	}{strategy, directionName(p.Left), multiple, p.ID, p.TypeID, p.Token})
}

func direction(s string) (left bool, err error) {
	if s != "Left" && s != "Right" {
		return false, fmt.Errorf("direction is %q, wanted Left or Right", s)
	}
	return s == "Left", nil
}

func directionName(left bool) string {
	if left {
		return "Left"
	}
	return "Right"
}

// apply shortens one or two encodings to a total of limit tokens.
func (p *Truncation) apply(encs []Encoding, limit int) error {
	total := 0
	for i := range encs {
		total += encs[i].Len()
	}
	if limit <= 0 {
		for i := range encs {
			if err := encs[i].truncate(0, p.Stride, p.Left); err != nil {
				return err
			}
		}
		return nil
	}
	if total <= limit {
		return nil
	}
	if p.Strategy == "LongestFirst" {
		if len(encs) == 1 {
			return encs[0].truncate(limit, p.Stride, p.Left)
		}
		a, b := longestFirst(encs[0].Len(), encs[1].Len(), limit)
		if err := encs[0].truncate(a, p.Stride, p.Left); err != nil {
			return err
		}
		return encs[1].truncate(b, p.Stride, p.Left)
	}
	target := 0
	if p.Strategy == "OnlySecond" {
		if target = 1; len(encs) < 2 {
			return fmt.Errorf("truncation strategy OnlySecond needs a second text")
		}
	}
	keep := encs[target].Len() - (total - limit)
	if keep <= 0 {
		return fmt.Errorf("truncation %s to %d tokens: text %d has only %d and the texts are %d too long",
			p.Strategy, limit, target+1, encs[target].Len(), total-limit)
	}
	return encs[target].truncate(keep, p.Stride, p.Left)
}

// longestFirst returns how many tokens remain of a and b.
func longestFirst(a, b, limit int) (int, int) {
	short := min(a, b)
	long := max(short, limit-short)
	if short > limit {
		long = short
	}
	if short+long > limit {
		short = limit / 2
		long = short + limit%2
	}
	if a > b {
		return long, short
	}
	return short, long
}

// length returns the length to pad encodings to whose longest has n tokens.
func (p *Padding) length(n int) int {
	if p.Fixed > 0 {
		n = p.Fixed
	}
	if p.MultipleOf > 0 && n%p.MultipleOf > 0 {
		n += p.MultipleOf - n%p.MultipleOf
	}
	return n
}
