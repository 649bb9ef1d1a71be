package chat

import (
	"fmt"
	"strings"
)

// continueTag marks the end of the final message while the template runs. The space at its end shows
// whether the template trims the message.
const continueTag = "CONTINUE_FINAL_MESSAGE_TAG "

// messages converts the input's messages. With ContinueFinalMessage it adds the tag to the last one
// and returns the text before the tag.
func (t *Template) messages(input Input) (*List, *string, error) {
	v, err := FromGo(input.Messages)
	if err != nil {
		return nil, nil, inputErr("messages: %v", err)
	}
	list := v.(*List)
	for i, m := range list.Items {
		if _, ok := m.(*Dict); !ok {
			return nil, nil, inputErr("message %d is a %s; want a dict with role and content", i, typeName(m))
		}
	}
	if !input.ContinueFinalMessage {
		return list, nil, nil
	}
	if input.AddGenerationPrompt {
		return nil, nil, inputErr("ContinueFinalMessage and AddGenerationPrompt exclude each other: " +
			"the one goes on with the last message, the other opens a new one")
	}
	if len(list.Items) == 0 {
		return nil, nil, inputErr("ContinueFinalMessage is set but the conversation is empty")
	}
	if !strings.Contains(t.src, "content") {
		return nil, nil, inputErr("ContinueFinalMessage is set but the template does not use 'content'")
	}
	tag, err := tagMessage(list.Items[len(list.Items)-1].(*Dict))
	return list, tag, err
}

// tagMessage appends the tag to a message's content, or to the last text part of it. The message is a
// copy made by FromGo.
func tagMessage(m *Dict) (*string, error) {
	content, _ := m.Get("content")
	if text, ok := content.(string); ok {
		m.Set("content", text+continueTag)
		return &text, nil
	}
	parts, ok := content.(*List)
	if !ok {
		return nil, inputErr("ContinueFinalMessage is set but the final message has no content to continue")
	}
	for i := len(parts.Items) - 1; i >= 0; i-- {
		part, ok := parts.Items[i].(*Dict)
		if !ok {
			continue
		}
		v, _ := part.Get("text")
		if text, ok := v.(string); ok {
			part.Set("text", text+continueTag)
			return &text, nil
		}
	}
	return nil, inputErr("ContinueFinalMessage is set but the final message has no text part to continue")
}

// cutContinued ends the text where the final message ends.
func (in *interp) cutContinued(text, final string) string {
	mark := strings.TrimSpace(continueTag)
	i := strings.LastIndex(text, mark)
	if i < 0 || !strings.Contains(text, strings.TrimFunc(final, isPySpace)) {
		in.fail(KindInput, "ContinueFinalMessage is set but the final message is not in the rendered text; "+
			"the template drops or changes it")
	}
	if strings.HasPrefix(text[i:], continueTag) {
		return text[:i]
	}
	return strings.TrimRightFunc(text[:i], isPySpace)
}

func inputErr(format string, a ...any) error {
	return &Error{Kind: KindInput, Msg: fmt.Sprintf(format, a...)}
}
