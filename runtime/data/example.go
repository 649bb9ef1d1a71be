package data

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/runtime/chat"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/tokenizer"
)

// Example is one sequence to train on.
type Example struct {
	Source []int32 // what an encoder reads; nil = there is no encoder
	Tokens []int32
	Learn  []bool // whether predicting the token counts in the loss; nil = every one
}

// labels gives position i the token behind it, where that is to be learnt.
func (e *Example) labels(dst []int32) {
	for i := range dst {
		dst[i] = nn.Ignored
		if i+1 < len(e.Tokens) && (e.Learn == nil || e.Learn[i+1]) {
			dst[i] = e.Tokens[i+1]
		}
	}
}

// Maker turns records into examples.
type Maker struct {
	Tokenizer *tokenizer.Tokenizer
	Templates *chat.Set // chat templates; nil = none
	End       int32     // token behind an example that has no chat template; -1 = none
	All       bool      // learn prompts too, not completions alone
	Max       int       // tokens of an example; 0 = any number
	Truncate  Truncation
	Vocab     int // the model's vocabulary size; 0 does not check
}

// Truncation is what becomes of examples that are too long.
type Truncation string

// The truncations.
const (
	CutEnd   Truncation = "end"   // lose the last tokens
	CutStart Truncation = "start" // lose the first tokens
	Refuse   Truncation = "error" // are bad records
)

// text is a piece of an example's text.
type text struct {
	text  string
	learn bool
}

// Make makes the example of a record by the fields that it has:
//
//	input_ids (labels)                     tokens, labels aligned with them, -100 = not learnt
//	messages or conversations              a chat, through the template; role and content, or from and value
//	prompt, completion
//	instruction (input), output            as chat where there is a template
//	question, answer                       likewise
//	text                                   everything is learnt
//
// Errors: no such fields; fields of a wrong type; roles that the template refuses; nothing to learn.
func (m *Maker) Make(r *Record) (*Example, error) {
	e, err := m.make(r.Values)
	if err == nil {
		err = m.limit(e)
	}
	if err == nil {
		err = CheckIDs(e.Tokens, m.Vocab)
	}
	if err != nil {
		return nil, &BadRecord{r.Place(), err}
	}
	return e, nil
}

func (m *Maker) make(d *chat.Dict) (*Example, error) {
	has := func(keys ...string) bool {
		for _, k := range keys {
			if v, ok := d.Get(k); !ok || v == nil {
				return false
			}
		}
		return true
	}
	switch {
	case has("input_ids"):
		return idsExample(d)
	case has("messages"):
		return m.chatExample(d, "messages")
	case has("conversations"):
		return m.chatExample(d, "conversations")
	case has("prompt", "completion"):
		return m.pair(d, "prompt", "", "completion", false)
	case has("instruction", "output"):
		return m.pair(d, "instruction", "input", "output", true)
	case has("question", "answer"):
		return m.pair(d, "question", "", "answer", true)
	case has("text"):
		s, err := field(d, "text")
		if err != nil {
			return nil, err
		}
		return m.encode(s, []text{{s, true}}, true)
	}
	return nil, fmt.Errorf("no known fields among %s: want text; prompt and completion; instruction and output; question and "+
		"answer; messages or conversations; or input_ids", strings.Join(keys(d), ", "))
}

func keys(d *chat.Dict) []string {
	var list []string
	for i := range d.Len() {
		k, _ := d.At(i)
		list = append(list, fmt.Sprint(k))
	}
	return list
}

// field returns a text.
func field(d *chat.Dict, key string) (string, error) {
	v, _ := d.Get(key)
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s is %T, want a text", key, v)
	}
	return s, nil
}

// pair is a prompt, perhaps with an input, and what is to be learnt.
func (m *Maker) pair(d *chat.Dict, prompt, input, answer string, talk bool) (*Example, error) {
	ask, err := field(d, prompt)
	if err != nil {
		return nil, err
	}
	say, err := field(d, answer)
	if err != nil {
		return nil, err
	}
	if v, ok := d.Get(input); input != "" && ok && v != nil && v != "" {
		more, err := field(d, input)
		if err != nil {
			return nil, err
		}
		ask += "\n\n" + more
	}
	if talk && m.Templates != nil {
		return m.talk([]chat.Value{chat.NewDict("role", "user", "content", ask), chat.NewDict("role", "assistant", "content", say)},
			nil)
	}
	if talk {
		ask += "\n\n"
	}
	return m.encode(ask+say, []text{{ask, m.All}, {say, true}}, true)
}

// idsExample takes tokens as they are.
func idsExample(d *chat.Dict) (*Example, error) {
	ids, err := ints(d, "input_ids")
	if err != nil {
		return nil, err
	}
	e := &Example{Tokens: ids}
	if v, ok := d.Get("labels"); ok && v != nil {
		labels, err := ints(d, "labels")
		if err != nil {
			return nil, err
		}
		if len(labels) != len(ids) {
			return nil, fmt.Errorf("%d labels for %d input_ids", len(labels), len(ids))
		}
		e.Learn = make([]bool, len(ids))
		for i, l := range labels {
			e.Learn[i] = l != nn.Ignored
			if l != nn.Ignored && l != ids[i] {
				return nil, fmt.Errorf("label %d is %d where input_ids has %d: want the token itself, or %d", i, l, ids[i], nn.Ignored)
			}
		}
	}
	return e, nil
}

func ints(d *chat.Dict, key string) ([]int32, error) {
	v, _ := d.Get(key)
	list, ok := v.(*chat.List)
	if !ok {
		return nil, fmt.Errorf("%s is %T, want a list of numbers", key, v)
	}
	out := make([]int32, len(list.Items))
	for i, x := range list.Items {
		n, ok := x.(int64)
		if !ok || int64(int32(n)) != n {
			return nil, fmt.Errorf("%s has %v at %d, want a token id", key, x, i)
		}
		out[i] = int32(n)
	}
	return out, nil
}

// encode encodes whole, whose pieces say what is learnt. A token that begins in one piece and ends in another
// counts as the latter's.
func (m *Maker) encode(whole string, pieces []text, end bool) (*Example, error) {
	enc, err := m.Tokenizer.WithLimits(nil, nil).EncodeFull(whole, end)
	if err != nil {
		return nil, err
	}
	e := &Example{Tokens: enc.IDs, Learn: make([]bool, len(enc.IDs))}
	for i := range enc.IDs {
		if enc.SpecialMask[i] != 0 { // put by the tokenizer: learnt only at the end, where it says that the text is over
			e.Learn[i] = i > 0 && pieces[len(pieces)-1].learn
			continue
		}
		last, at := max(enc.Offsets[i][1]-1, enc.Offsets[i][0]), 0
		for _, p := range pieces {
			if at += len(p.text); last < at {
				e.Learn[i] = p.learn
				break
			}
		}
	}
	if n := len(e.Tokens); end && m.End >= 0 && (n == 0 || e.Tokens[n-1] != m.End) {
		e.Tokens, e.Learn = append(e.Tokens, m.End), append(e.Learn, true)
	}
	return e, nil
}

// limit shortens an example, and wants something to learn in it.
func (m *Maker) limit(e *Example) error {
	if err := m.cut(e, m.Max); err != nil {
		return err
	}
	if len(e.Tokens) < 2 {
		return errors.New("the record is empty: it has fewer than two tokens")
	}
	for i := 1; i < len(e.Tokens); i++ {
		if e.Learn == nil || e.Learn[i] {
			return nil
		}
	}
	return errors.New("nothing to learn: no token of a completion or assistant is left")
}

// cut shortens an example to limit tokens; Max 0 = any number.
func (m *Maker) cut(e *Example, limit int) error {
	n := len(e.Tokens)
	if m.Max == 0 || n <= limit {
		return nil
	}
	switch m.Truncate {
	case CutEnd:
		*e = e.part(0, limit)
	case CutStart:
		*e = e.part(n-limit, n)
	default:
		return fmt.Errorf("%d tokens; the limit is %d", n, limit)
	}
	return nil
}

func (e *Example) part(from, to int) Example {
	x := Example{Tokens: e.Tokens[from:to]}
	if e.Learn != nil {
		x.Learn = e.Learn[from:to]
	}
	return x
}
