package data

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/runtime/chat"
)

// chatExample reads the turns of a conversation: role and content, or from and value as ShareGPT has them.
func (m *Maker) chatExample(d *chat.Dict, key string) (*Example, error) {
	v, _ := d.Get(key)
	list, ok := v.(*chat.List)
	if !ok {
		return nil, fmt.Errorf("%s is %T, want a list of messages", key, v)
	}
	var turns []chat.Value
	for i, x := range list.Items {
		turn, err := turnOf(x)
		if err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", key, i+1, err)
		}
		turns = append(turns, turn)
	}
	if len(turns) == 0 {
		return nil, fmt.Errorf("%s is empty", key)
	}
	var tools []chat.Value
	if t, ok := d.Get("tools"); ok {
		if l, ok := t.(*chat.List); ok {
			tools = l.Items
		}
	}
	return m.talk(turns, tools)
}

// shareRoles are ShareGPT's names of roles.
var shareRoles = map[string]string{"human": "user", "gpt": "assistant", "user": "user", "assistant": "assistant",
	"system": "system", "tool": "tool", "function": "tool", "observation": "tool"}

func turnOf(x chat.Value) (*chat.Dict, error) {
	d, ok := x.(*chat.Dict)
	if !ok {
		return nil, fmt.Errorf("it is %T, want an object", x)
	}
	if from, ok := d.Get("from"); ok {
		name, _ := from.(string)
		role, ok := shareRoles[name]
		if !ok {
			return nil, fmt.Errorf("from is %v, want human, gpt, system or tool", from)
		}
		value, err := field(d, "value")
		if err != nil {
			return nil, err
		}
		return chat.NewDict("role", role, "content", value), nil
	}
	role, err := field(d, "role")
	if err != nil {
		return nil, err
	}
	switch role {
	case "system", "user", "assistant", "tool", "developer", "function":
	default:
		return nil, fmt.Errorf("role is %q, want system, user, assistant, tool or developer", role)
	}
	return d, nil
}

// talk renders a conversation. What the assistant says is learnt: by the template's generation blocks where
// it has them, else by rendering the conversation up to and with each of its turns.
func (m *Maker) talk(turns, tools []chat.Value) (*Example, error) {
	if m.Templates == nil {
		return nil, errors.New("a conversation, but the package has no chat template")
	}
	turns, err := chat.Normalize(turns)
	if err != nil {
		return nil, err
	}
	page, err := m.Templates.Render(chat.Input{Messages: turns, Tools: tools})
	if err != nil {
		return nil, err
	}
	if m.All {
		return m.encode(page.Text, []text{{page.Text, true}}, false)
	}
	spans := page.Assistant
	if len(spans) == 0 {
		if spans, err = m.spans(page.Text, turns, tools); err != nil {
			return nil, err
		}
	}
	var pieces []text
	at := 0
	for _, s := range spans {
		pieces = append(pieces, text{page.Text[at:s.Start], false}, text{page.Text[s.Start:s.End], true})
		at = s.End
	}
	return m.encode(page.Text, append(pieces, text{page.Text[at:], false}), false)
}

// spans finds what the assistant's turns add to the text: from where the text before one ends with the header
// of an answer, to where the text with it ends.
func (m *Maker) spans(whole string, turns, tools []chat.Value) ([]chat.Span, error) {
	var list []chat.Span
	for i, turn := range turns {
		if role, _ := turn.(*chat.Dict).Get("role"); role != "assistant" {
			continue
		}
		before, err := m.Templates.Render(chat.Input{Messages: turns[:i], Tools: tools, AddGenerationPrompt: true})
		if err != nil {
			return nil, err
		}
		with, err := m.Templates.Render(chat.Input{Messages: turns[:i+1], Tools: tools})
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(whole, before.Text) || !strings.HasPrefix(whole, with.Text) || len(with.Text) < len(before.Text) {
			return nil, fmt.Errorf("message %d: the chat template writes earlier turns differently once more follow, so that what "+
				"the assistant says cannot be told apart: use a template with generation blocks, or learn everything", i+1)
		}
		list = append(list, chat.Span{Start: len(before.Text), End: len(with.Text)})
	}
	return list, nil
}
