package spec

import (
	"strings"
	"testing"
	"testing/fstest"
)

const good = `# A tiny model.
# Source: nowhere.
name = "tiny"
kind = "causal"
model_types = ["tiny", "tinier"]

[config]
hidden_size = "int n_embd hidden_size"
act         = "string = 'silu'"

[let]
half = "hidden_size / 2"

[check]
"hidden_size % 2 == 0" = "halves must be whole"

[fn.model]
sig = "tokens -> h"
ops = '''
embed tokens -> x weight=wte.weight rows=8 cols=hidden_size   # a comment
@layer x -> h repeat=2 prefix=h.{i}.
'''
`

func loadText(text string) (*Arch, error) {
	return Load(fstest.MapFS{"tiny.toml": {Data: []byte(text)}}, "specs", "tiny")
}

func TestLoad(t *testing.T) {
	a, err := loadText(good)
	if err != nil {
		t.Fatal(err)
	}
	if a.Doc != "A tiny model.\nSource: nowhere." || len(a.ModelTypes) != 2 || len(a.Config) != 2 || a.Config[0].Keys[0] != "n_embd" {
		t.Errorf("loaded %+v", a)
	}
	fn := a.Fn("model")
	if fn == nil || len(fn.Lines) != 2 {
		t.Fatalf("fn.model: %+v", fn)
	}
	l := fn.Lines[0]
	if l.Op != "embed" || l.Call || l.Pos.Line != 20 || l.Text != "embed tokens -> x weight=wte.weight rows=8 cols=hidden_size" {
		t.Errorf("first line: %+v", l)
	}
	if l := fn.Lines[1]; !l.Call || l.Op != "layer" || l.In[0] != "x" || l.Out[0] != "h" || l.Pos.Line != 21 {
		t.Errorf("second line: %+v", l)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"name", `name = "tiny"`, `name = "other"`, `specs/tiny.toml:3: name = "other", want "tiny" as the file is named`},
		{"kind", `"causal"`, `"casual"`, `specs/tiny.toml:4: kind = "casual", want causal, masked or seq2seq`},
		{"key", `kind = `, "color = 3\nkind = ", `specs/tiny.toml:4: unknown key color`},
		{"type", `"int n_embd`, `"number n_embd`, `specs/tiny.toml:8: config hidden_size: unknown type "number"`},
		{"default", `'silu'`, `silu(`, `specs/tiny.toml:9: config act: default: expression "silu("`},
		{"let", `hidden_size / 2`, `hidden_size . 2`, `specs/tiny.toml:12: let half`},
		{"arrow", `tokens -> x weight`, `tokens x weight`, "specs/tiny.toml:20: embed: no `-> output`"},
		{"twice", `rows=8`, `rows=8 rows=9`, `specs/tiny.toml:20: embed: key rows is given twice`},
		{"quote", `# a comment`, `'open`, `specs/tiny.toml:20: EOF found when expecting closing quote`},
		{"after", `rows=8`, `rows=8 more`, `specs/tiny.toml:20: embed: value "more" after the keys`},
		{"sig", `"tokens -> h"`, `"tokens h"`, `specs/tiny.toml:17: fn.model: sig = "tokens h"`},
		{"toml", `[let]`, `[let`, `specs/tiny.toml:12: expected`},
		{"extends", `kind = "causal"`, `extends = "nothing"`, `specs/tiny.toml: extends "nothing"`},
		{"itself", `kind = "causal"`, `extends = "tiny"`, `extends itself`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadText(strings.Replace(good, c.old, c.new, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestExtends: a child replaces functions whole and merges values by name.
func TestExtends(t *testing.T) {
	child := "name = \"child\"\nextends = \"tiny\"\n[config]\nact = \"string = 'relu'\"\n[fn.model]\nsig = \"t -> h\"\nops = '''\n@layer t -> h repeat=1 prefix=x.{i}.\n'''\n"
	a, err := Load(fstest.MapFS{"tiny.toml": {Data: []byte(good)}, "child.toml": {Data: []byte(child)}}, "specs", "child")
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Fns) != 1 || len(a.Fns[0].Lines) != 1 || a.Config[1].Default.Src != "'relu'" || len(a.ModelTypes) != 1 || a.ModelTypes[0] != "child" {
		t.Errorf("merged %+v", a)
	}
	if a.Fns[0].Pos.File != "specs/child.toml" || a.Config[0].Pos.File != "specs/tiny.toml" {
		t.Errorf("positions %v %v", a.Fns[0].Pos, a.Config[0].Pos)
	}
}

// TestLetOrder: what a child declares may stand in what its parent computes.
func TestLetOrder(t *testing.T) {
	child := "name = \"child\"\nextends = \"tiny\"\n[config]\nwindow = \"int? = 4\"\n[let]\nhalf = \"mine / 2\"\nmine = \"hidden_size\"\n"
	a, err := Load(fstest.MapFS{"tiny.toml": {Data: []byte(good)}, "child.toml": {Data: []byte(child)}}, "specs", "child")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, l := range a.Lets {
		order = append(order, l.Name)
	}
	if got := strings.Join(order, " "); got != "mine half" {
		t.Errorf("lets in the order %s, want mine half", got)
	}
	if c := a.Config[len(a.Config)-1]; !c.Null {
		t.Errorf("config %+v, want one whose null is zero", c)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(good)
	f.Add("name = \"tiny\"\n[fn.x]\nsig = \"->\"\nops = '''\n@ -> =\n'''")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		_, _ = loadText(text) // must not panic
	})
}
