package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, template string) *Template {
	t.Helper()
	tmpl, err := Parse(template)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

const turns = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}" +
	"{% if add_generation_prompt %}<assistant>{% endif %}"

func TestContinueFinalMessage(t *testing.T) {
	const parts = "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{{ p.text }}{% endfor %}</>" +
		"{% endfor %}"
	text := func(s string) Value { return NewDict("type", "text", "text", s) }
	tests := []struct{ name, template, final, want string }{
		{"plain", turns, "The answer", "<user>Q</><assistant>The answer"},
		{"keeps spaces", turns, "a  ", "<user>Q</><assistant>a  "},
		{"trimming template", strings.Replace(turns, "m.content", "m.content | trim", 1), "a  ",
			"<user>Q</><assistant>a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := []Value{Message{"user", "Q"}, Message{"assistant", tt.final}}
			res, err := mustParse(t, tt.template).Render(Input{Messages: in, ContinueFinalMessage: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Text); diff != "" {
				t.Error(diff)
			}
		})
	}
	m := NewDict("role", "assistant", "content", NewList(text("x"), text("y"), NewDict("type", "image")))
	res, err := mustParse(t, parts).Render(Input{Messages: []Value{m}, ContinueFinalMessage: true})
	if err != nil || res.Text != "<assistant>xy" {
		t.Errorf("parts: %q, %v", res.Text, err)
	}
	if v, _ := m.Get("content"); v.(*List).Items[1].(*Dict).vals[1] != "y" {
		t.Error("the caller's message was changed")
	}
}

func TestInputErrors(t *testing.T) {
	user := Message{"user", "Q"}
	tests := []struct {
		name, template string
		in             Input
		want           string
	}{
		{"both flags", turns, Input{Messages: []Value{user}, AddGenerationPrompt: true, ContinueFinalMessage: true},
			"exclude each other"},
		{"no messages", turns, Input{ContinueFinalMessage: true}, "conversation is empty"},
		{"no content", turns, Input{Messages: []Value{NewDict("role", "user")}, ContinueFinalMessage: true},
			"no content to continue"},
		{"template ignores content", "{{ messages }}", Input{Messages: []Value{user}, ContinueFinalMessage: true},
			"does not use 'content'"},
		{"dropped message", "{# content #}x", Input{Messages: []Value{user}, ContinueFinalMessage: true},
			"not in the rendered text"},
		{"message is text", turns, Input{Messages: []Value{"Q"}}, "message 0 is a str"},
		{"odd value", turns, Input{Messages: []Value{user}, Extra: map[string]Value{"f": func() {}}},
			"a template cannot take a func()"},
		{"bad UTF-8", turns, Input{Messages: []Value{Message{"user", "\xff"}}}, "not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mustParse(t, tt.template).Render(tt.in)
			var e *Error
			if !errors.As(err, &e) || e.Kind != KindInput || !strings.Contains(e.Msg, tt.want) {
				t.Errorf("error %v; want %q in one of KindInput", err, tt.want)
			}
		})
	}
}

func TestErrorPositions(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"raise", "a\n  {{ raise_exception('no ' ~ 1) }}", "chat template 2:21: raised by the template: no 1"},
		{"undefined", "{% if x %}{% endif %}\n日本 {{ a.b }}",
			"chat template 2:8: undefined value: 'a' is undefined"},
		{"in macro", "{% macro m() %}\n{{ 1 + 'a' }}{% endmacro %}\n{{ m() }}",
			"chat template 2:6: error: TypeError: unsupported operand type(s) for +: 'int' and 'str'"},
		{"filter", "{{ 1 | nope }}", "chat template 1:8: syntax error: filter 'nope' is not supported"},
		{"tag", "\n\n {% include 'x' %}",
			"chat template 3:5: syntax error: tag 'include' is not supported in chat templates"},
		{"crlf", "a\r\nb\r\n{{ 1/0 }}", "chat template 3:5: error: ZeroDivisionError: division by zero"},
		{"unclosed", "{% for a in b %}x", "chat template 1:18: syntax error: unexpected end of template; " +
			"looking for 'endfor' or 'else' to close 'for' of line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, err := Parse(tt.template)
			if err == nil {
				_, err = tmpl.Render(Input{})
			}
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	const direct = "é{% for m in messages %}{% generation %}{{ m.content }}é{% endgeneration %}|{% endfor %}"
	res, err := mustParse(t, direct).Render(Input{Messages: []Value{Message{"a", "日"}, Message{"a", "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range res.Assistant {
		got = append(got, res.Text[s.Start:s.End])
	}
	if diff := cmp.Diff([]string{"日é", "xé"}, got); diff != "" || res.AssistantErr != nil {
		t.Error(diff, res.AssistantErr)
	}
	held := "{% macro m() %}ab{% generation %}c{% endgeneration %}{% endmacro %}{{ m() }}"
	res, err = mustParse(t, held).Render(Input{})
	if err != nil || res.Text != "abc" || res.AssistantErr == nil || res.Assistant != nil {
		t.Errorf("held in a macro: %+v, %v", res, err)
	}
}

func TestDecodeJSON(t *testing.T) {
	big1, _ := new(big.Int).SetString("12345678901234567890", 10)
	tests := []struct {
		name, in string
		want     string // as Python prints it
	}{
		{"order", `{"b": 1, "a": {"z": [], "y": {}}, "b": 2}`, "{'b': 2, 'a': {'z': [], 'y': {}}}"},
		{"numbers", `[1, -0, 1.0, 1e2, 12345678901234567890, 1e999, -1.5E-3]`,
			"[1, 0, 1.0, 100.0, " + big1.String() + ", inf, -0.0015]"},
		{"strings", `["\ud83d\ude42", "\u00e9\n", "\\ud800"]`, `['🙂', 'é\n', '\\ud800']`},
		{"constants", ` [true, false, null] `, "[True, False, None]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := DecodeJSON([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			res, err := mustParse(t, "{{ v }}").Render(Input{Extra: map[string]Value{"v": v}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Text); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, bad := range []string{"", "[", `{"a"}`, "[1,]", "1 2", `"\ud800"`, `"\udc00\ud800"`,
		"\"\xff\"", "nul",
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000)} {
		if v, err := DecodeJSON([]byte(bad)); err == nil {
			t.Errorf("%.20q decodes to %v", bad, v)
		}
	}
}

func TestFromGo(t *testing.T) {
	in := map[string]Value{
		"m": map[string]any{"b": []string{"x"}, "a": 1, "c": uint64(1) << 63, "d": float32(0.5)},
		"n": json.Number("7"), "r": json.RawMessage(`{"z": 1, "a": 2}`), "p": (*Dict)(nil), "t": Tuple{1, "a"},
	}
	res, err := mustParse(t, "{{ m }} {{ n }} {{ r }} {{ p }} {{ t }}").Render(Input{Extra: in})
	want := "{'a': 1, 'b': ['x'], 'c': 9223372036854775808, 'd': 0.5} 7 {'z': 1, 'a': 2} None (1, 'a')"
	if err != nil || res.Text != want {
		t.Errorf("%q, %v; want %q", res.Text, err, want)
	}
}

func TestConcurrentRender(t *testing.T) {
	tmpl := mustParse(t, "{% set ns = namespace(n=0) %}{% for i in range(50) %}"+
		"{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if res, err := tmpl.Render(Input{}); err != nil || res.Text != "1225" {
				t.Errorf("%q, %v", res.Text, err)
			}
		})
	}
	wg.Wait()
}

func ExampleTemplate_Render() {
	tmpl, err := Parse("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}" +
		"{% if add_generation_prompt %}[assistant]{% endif %}")
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := tmpl.Render(Input{
		Messages:            []Value{Message{"system", "Be brief."}, Message{"user", "Hi"}},
		AddGenerationPrompt: true,
	})
	fmt.Println(res.Text, err)
	// Output:
	// [system] Be brief.
	// [user] Hi
	// [assistant] <nil>
}

func BenchmarkRender(b *testing.B) {
	cases := seedsChat()
	tmpl, err := Parse(cases)
	if err != nil {
		b.Fatal(err)
	}
	var messages []Value
	for range 50 {
		messages = append(messages, Message{"user", strings.Repeat("word ", 40)}, Message{"assistant", "ok"})
	}
	for b.Loop() {
		if _, err := tmpl.Render(Input{Messages: messages, AddGenerationPrompt: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// seedsChat is a template of the common form for the benchmark.
func seedsChat() string {
	return "{%- for m in messages %}{%- if m.role == 'user' or m.role == 'system' and not loop.first %}" +
		"{{- '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>' + '\n' }}{%- else %}" +
		"{%- set c = m.content.split('</think>')[-1].lstrip('\n') %}{{- '<|im_start|>' ~ m.role ~ c }}" +
		"{%- endif %}{%- endfor %}"
}
