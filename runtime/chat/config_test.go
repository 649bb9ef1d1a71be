package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkpoint writes files into a fresh folder.
func checkpoint(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a [model]")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFromTokenizerConfig(t *testing.T) {
	const one = `{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null,
		"extra_special_tokens": {"image_token": "<img>"}, "chat_template": "{{ bos_token }}C{{ image_token }}"}`
	const list = `{"chat_template": [{"name": "default", "template": "D"},
		{"name": "tool_use", "template": "T"}]}`
	tests := []struct {
		name  string
		files map[string]string
		tools bool
		want  string
	}{
		{"one text", map[string]string{"tokenizer_config.json": one}, false, "<s>C<img>"},
		{"list without tools", map[string]string{"tokenizer_config.json": list}, false, "D"},
		{"list with tools", map[string]string{"tokenizer_config.json": list}, true, "T"},
		{"jinja file wins", map[string]string{"tokenizer_config.json": one,
			"chat_template.jinja": "J{{ eos_token }}"}, true, "J</s>"},
		{"processor file", map[string]string{"tokenizer_config.json": one,
			"chat_template.json": `{"chat_template": "P"}`}, false, "P"},
		{"folder", map[string]string{"chat_template.jinja": "J", "additional_chat_templates/tool_use.jinja": "F"},
			true, "F"},
		{"token map", map[string]string{"special_tokens_map.json": `{"bos_token": "<b>"}`,
			"chat_template.jinja": "{{ bos_token }}"}, false, "<b>"},
		{"broken one is not picked", map[string]string{"chat_template.jinja": "J",
			"additional_chat_templates/rag.jinja": "{% if %}"}, false, "J"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, err := FromTokenizerConfig(checkpoint(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			in := Input{Messages: []Value{Message{"user", "x"}}}
			if tt.tools {
				in.Tools = []Value{map[string]any{"name": "f"}}
			}
			res, err := set.Render(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFromTokenizerConfigErrors(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no files", nil, "has no chat template"},
		{"no template", map[string]string{"tokenizer_config.json": `{}`}, "has no chat template"},
		{"bad json", map[string]string{"tokenizer_config.json": `{"a": `}, "tokenizer_config.json"},
		{"no object", map[string]string{"tokenizer_config.json": `[]`}, "holds a list; want an object"},
		{"wrong type", map[string]string{"tokenizer_config.json": `{"chat_template": 5}`},
			"chat_template is a int"},
		{"wrong list", map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "x"}]}`},
			"chat_template[0] wants"},
		{"does not parse", map[string]string{"chat_template.jinja": "a\n{% if %}"}, "2:7"},
		{"no default", map[string]string{"additional_chat_templates/rag.jinja": "x"}, "the checkpoint has 'rag'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, err := FromTokenizerConfig(checkpoint(t, tt.files))
			if err == nil {
				_, err = set.Render(Input{})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want %q in it", err, tt.want)
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	in := []Value{NewDict("role", "assistant", "content", nil, "reasoning", "why")}
	out, err := Normalize(in)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := Parse("{{ messages }}")
	if err != nil {
		t.Fatal(err)
	}
	res, err := tmpl.Render(Input{Messages: out})
	if err != nil {
		t.Fatal(err)
	}
	want := "[{'thinking': 'why', 'role': 'assistant', 'reasoning': 'why', 'reasoning_content': 'why'}]"
	if diff := cmp.Diff(want, res.Text); diff != "" {
		t.Error(diff)
	}
}
