package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Set is what a checkpoint's files say about chats: its templates by name ("default", and perhaps
// "tool_use", "rag" ...) and its special tokens.
type Set struct {
	Templates map[string]*Template
	Special   map[string]Value

	broken map[string]error // templates that did not parse, by name
}

// Files of a checkpoint that hold chat templates, the later ones overriding the earlier.
const (
	tokenizerConfig = "tokenizer_config.json"
	specialTokens   = "special_tokens_map.json"
	processorJSON   = "chat_template.json"
	templateFile    = "chat_template.jinja"
	templateFolder  = "additional_chat_templates"
)

// FromTokenizerConfig reads the chat templates and special tokens of the checkpoint in dir. Templates
// come from tokenizer_config.json (one text, or a list of names and texts), chat_template.json,
// chat_template.jinja and additional_chat_templates/*.jinja, the later ones winning. It is an error if
// there is none. A template that does not parse is an error only when it is picked.
func FromTokenizerConfig(dir string) (*Set, error) {
	s := &Set{Templates: map[string]*Template{}, Special: map[string]Value{}, broken: map[string]error{}}
	for _, name := range []string{specialTokens, tokenizerConfig, processorJSON} {
		if err := s.readJSON(filepath.Join(dir, name), name); err != nil {
			return nil, err
		}
	}
	if err := s.readText(filepath.Join(dir, templateFile), "default"); err != nil {
		return nil, err
	}
	more, err := filepath.Glob(filepath.Join(globQuote(dir), templateFolder, "*.jinja"))
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	for _, path := range more {
		if err := s.readText(path, strings.TrimSuffix(filepath.Base(path), ".jinja")); err != nil {
			return nil, err
		}
	}
	if len(s.Templates)+len(s.broken) == 0 {
		return nil, fmt.Errorf("chat: %s has no chat template: looked for 'chat_template' in %s and %s, "+
			"for %s and for %s/*.jinja",
			dir, tokenizerConfig, processorJSON, templateFile, templateFolder)
	}
	return s, nil
}

// globQuote escapes the characters of a path that Glob would take as patterns.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func (s *Set) add(path, name, text string) {
	delete(s.Templates, name)
	delete(s.broken, name)
	t, err := Parse(text)
	if err != nil {
		s.broken[name] = fmt.Errorf("chat: template '%s' of %s: %w", name, path, err)
		return
	}
	s.Templates[name] = t
}

func (s *Set) readText(path, name string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	s.add(path, name, string(data))
	return nil
}

// readJSON takes the template and the tokens of one JSON file; a file that is not there is fine.
func (s *Set) readJSON(path, file string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	d, ok := v.(*Dict)
	if !ok {
		return fmt.Errorf("chat: %s holds a %s; want an object", path, typeName(v))
	}
	if file != processorJSON {
		s.tokens(d)
	}
	if file == specialTokens {
		return nil
	}
	t, _ := d.Get("chat_template")
	return s.templates(path, t)
}

// templates takes the chat_template value: a text, a list of {name, template}, or a dict of them.
func (s *Set) templates(path string, v Value) error {
	switch v := v.(type) {
	case nil:
	case string:
		s.add(path, "default", v)
	case *Dict:
		for i := range v.Len() {
			name, text := v.At(i)
			if _, ok := text.(string); !ok {
				return fmt.Errorf("chat: %s: chat_template %v is a %s; want a string", path, name, typeName(text))
			}
			s.add(path, name.(string), text.(string))
		}
	case *List:
		return s.named(path, v)
	default:
		return fmt.Errorf("chat: %s: chat_template is a %s; want a string or a list of names and templates",
			path, typeName(v))
	}
	return nil
}

func (s *Set) named(path string, l *List) error {
	for i, x := range l.Items {
		d, _ := x.(*Dict)
		if d == nil {
			d = &Dict{}
		}
		name, _ := d.Get("name")
		text, _ := d.Get("template")
		n, ok1 := name.(string)
		t, ok2 := text.(string)
		if !ok1 || !ok2 {
			return fmt.Errorf("chat: %s: chat_template[%d] wants the strings 'name' and 'template'", path, i)
		}
		s.add(path, n, t)
	}
	return nil
}

// tokenNames are the special tokens every tokenizer may have.
var tokenNames = []string{
	"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
}

// tokens takes the special tokens: texts or objects with a content. extra_special_tokens holds further
// named ones, such as image_token.
func (s *Set) tokens(d *Dict) {
	for _, name := range tokenNames {
		v, _ := d.Get(name)
		if text, ok := tokenText(v); ok {
			s.Special[name] = text
		}
	}
	if v, _ := d.Get("extra_special_tokens"); v != nil {
		if extra, ok := v.(*Dict); ok {
			for i := range extra.Len() {
				name, val := extra.At(i)
				if text, ok := tokenText(val); ok {
					s.Special[name.(string)] = text
				}
			}
		}
	}
	v, _ := d.Get("additional_special_tokens")
	if l, ok := v.(*List); ok && len(l.Items) > 0 {
		list := &List{}
		for _, x := range l.Items {
			if text, ok := tokenText(x); ok {
				list.Items = append(list.Items, text)
			}
		}
		s.Special["additional_special_tokens"] = list
	}
}

func tokenText(v Value) (string, bool) {
	if d, ok := v.(*Dict); ok {
		v, _ = d.Get("content")
	}
	text, ok := v.(string)
	return text, ok
}

// Names lists the templates of the set in order.
func (s *Set) Names() []string {
	names := slices.Collect(maps.Keys(s.Templates))
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(s.broken))))
}

// Pick chooses a template as transformers does: the named one; else, with tools, "tool_use" if there
// is one; else "default".
func (s *Set) Pick(name string, tools bool) (*Template, error) {
	has := func(n string) bool { return s.Templates[n] != nil || s.broken[n] != nil }
	if name == "" {
		name = "default"
		if tools && has("tool_use") {
			name = "tool_use"
		}
	}
	if err := s.broken[name]; err != nil {
		return nil, err
	}
	if t := s.Templates[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("chat: no template '%s'; the checkpoint has %s", name, quoted(s.Names()))
}

// Render picks the template for the input and renders it with the set's special tokens; tokens in
// input.Special win over them.
func (s *Set) Render(input Input) (Result, error) {
	t, err := s.Pick("", input.Tools != nil)
	if err != nil {
		return Result{}, err
	}
	special := maps.Clone(s.Special)
	if special == nil {
		special = map[string]Value{}
	}
	maps.Copy(special, input.Special)
	input.Special = special
	return t.Render(input)
}
