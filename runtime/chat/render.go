package chat

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Template is a parsed chat template. It is safe for use by several goroutines.
type Template struct {
	src    string
	body   []stmt
	scope  scope
	tables *tables
	lim    Limits
}

// Parse reads a template under the default limits. The error is an *Error with the place of the fault.
func Parse(template string) (*Template, error) { return ParseLimits(template, Limits{}) }

// ParseLimits is Parse with bounds of one's own, which hold for every Render of the template too.
func ParseLimits(template string, lim Limits) (t *Template, err error) {
	lim = lim.filled()
	if len(template) > lim.MaxSource {
		return nil, &Error{Kind: KindLimit, Msg: fmt.Sprintf("template of %d bytes; the limit is %d",
			len(template), lim.MaxSource)}
	}
	if !utf8.ValidString(template) {
		return nil, &Error{Kind: KindSyntax, Msg: "template is not valid UTF-8"}
	}
	t = &Template{src: normalize(template), tables: newTables(), lim: lim}
	defer func() {
		if err != nil {
			t = nil
		}
	}()
	defer catch(t.src, nil, &err)
	p := &parser{toks: lex(t.src), tables: t.tables, lim: lim, src: t.src}
	p.start()
	t.body = p.block()
	p.checkAbsent()
	root := newSymbols(nil)
	root.walkStmts(t.body)
	root.resolve(t.body)
	t.scope = root.scope
	return t, nil
}

// Input is what one rendering is given.
type Input struct {
	// Messages are the turns of the conversation, each a *Dict, Message or map[string]any.
	Messages []Value
	// Tools are JSON schemas of the functions the model may call; nil is None.
	Tools []Value
	// Documents are texts for retrieval, as dicts of title and text; nil is None.
	Documents []Value
	// AddGenerationPrompt asks for the header of an assistant turn at the end.
	AddGenerationPrompt bool
	// ContinueFinalMessage cuts the text right after the last message's content, so that the model
	// goes on with it. It excludes AddGenerationPrompt.
	ContinueFinalMessage bool
	// Special holds bos_token, eos_token and the other special tokens by name.
	Special map[string]Value
	// Extra holds further variables (chat_template_kwargs); they win over Special.
	Extra map[string]Value
	// Now is the time strftime_now tells; zero means the current local time.
	Now time.Time
}

// Message is a plain turn of a conversation. Use *Dict for tool calls, images and other keys.
type Message struct{ Role, Content string }

func (m Message) dict() *Dict { return NewDict("role", m.Role, "content", m.Content) }

// Span is a half-open range of bytes of Result.Text.
type Span struct{ Start, End int }

// Result is a rendered conversation.
type Result struct {
	Text string
	// Assistant are the parts written by {% generation %} blocks, in order: what a model is trained on.
	Assistant []Span
	// AssistantErr is set where a block's place is not known, because a macro, set or filter block
	// holds it. Assistant is then nil.
	AssistantErr error
}

// Render runs the template. The error is an *Error; KindRaised carries the template's own message.
func (t *Template) Render(input Input) (res Result, err error) {
	messages, tag, err := t.messages(input)
	if err != nil {
		return Result{}, err
	}
	in := &interp{tmpl: t, lim: t.lim, ctx: globals(), now: input.Now, root: &strings.Builder{}, pos: -1}
	if in.now.IsZero() {
		in.now = time.Now()
	}
	in.out = in.root
	if err := in.fill(input, messages); err != nil {
		return Result{}, err
	}
	defer func() {
		if err != nil {
			res = Result{}
		}
	}()
	defer catch(t.src, &in.pos, &err)
	in.run(t.body, in.push(&t.scope, nil))
	res.Text = in.root.String()
	in.pos = -1
	res.Assistant, res.AssistantErr = in.assistant(res.Text)
	if tag != nil {
		res.Text = in.cutContinued(res.Text, *tag)
		for i, s := range res.Assistant {
			res.Assistant[i] = Span{min(s.Start, len(res.Text)), min(s.End, len(res.Text))}
		}
	}
	return res, nil
}

// fill puts the input's values into the context.
func (in *interp) fill(input Input, messages *List) error {
	put := func(name string, v any) error {
		val, err := FromGo(v)
		if err != nil {
			return &Error{Kind: KindInput, Msg: fmt.Sprintf("%s: %v", name, err)}
		}
		in.ctx[name] = val
		return nil
	}
	for _, m := range []map[string]Value{input.Special, input.Extra} {
		for name, v := range m {
			if err := put(name, v); err != nil {
				return err
			}
		}
	}
	in.ctx["messages"] = messages
	in.ctx["add_generation_prompt"] = input.AddGenerationPrompt
	for name, list := range map[string][]Value{"tools": input.Tools, "documents": input.Documents} {
		in.ctx[name] = nil
		if list == nil {
			continue
		}
		if err := put(name, list); err != nil {
			return err
		}
	}
	return nil
}

// assistant places the generation blocks in the text and checks that they are there.
func (in *interp) assistant(text string) ([]Span, error) {
	var out []Span
	for _, g := range in.spans {
		if !strings.HasPrefix(text[g.start:], g.text) {
			return nil, &Error{Kind: KindInput, Msg: "a generation block inside a macro, set or filter block " +
				"cannot be placed in the text; the template must write it directly"}
		}
		out = append(out, Span{g.start, g.start + len(g.text)})
	}
	return out, nil
}
