package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vulcast/vulcast/gen/autodiff"
	"github.com/vulcast/vulcast/gen/emitgo"
	"github.com/vulcast/vulcast/gen/fuse"
	"github.com/vulcast/vulcast/gen/internal/golden"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/lower"
	"github.com/vulcast/vulcast/gen/ops"
	"github.com/vulcast/vulcast/gen/spec"
)

// tinySpec has one of everything the passes treat differently: a guard, a choice, a loop, a split, state, a shared input,
// an optional tensor and a tied one.
const tinySpec = `# A tiny model for the golden files.
name = "tiny"
kind = "causal"

[config]
vocab_size  = "int"
width       = "int"
heads       = "int"
layers      = "int"
gated       = "bool = true"
act         = "string = 'silu'"
eps         = "float = 1e-6"
tie_word_embeddings = "bool = false"

[let]
dim = "width / heads"

[fn.model]
sig = "tokens -> h"
ops = '''
embed    tokens -> x0  weight=wte.weight rows=vocab_size cols=width
@layer   x0 -> xn      repeat=layers prefix=h.{i}.
rms_norm xn -> h       weight=norm.weight eps=eps
'''
[fn.head]
sig = "h -> logits"
ops = '''
linear   h -> logits   weight=head.weight out=vocab_size tied=wte.weight
'''
[fn.layer]
sig = "x -> y"
ops = '''
rms_norm x -> h        weight=n1.weight eps=eps
@attend  h -> a        prefix=attn.
add      x a -> x1
rms_norm x1 -> h1      weight=n2.weight eps=eps if="i > 0"
@glu     h1 -> f       prefix=mlp. if=gated else=@plain
add      x1 f -> y
'''
[fn.attend]
sig = "x -> y"
ops = '''
linear   x -> qkv      weight=qkv.weight bias=qkv.bias?gated heads=heads out=3*dim
split    qkv -> q k v  sizes=dim,dim,dim
cache    k -> ks
cache    v -> vs
attention q ks vs -> a scale=1/sqrt(dim)
linear   a -> y        weight=out.weight out=width
'''
[fn.glu]
sig = "x -> y"
ops = '''
linear   x -> g        weight=gate.weight out=2*width
linear   x -> u        weight=up.weight out=2*width
glu      g u -> p      fn=act
linear   p -> y        weight=down.weight out=width
'''
[fn.plain]
sig = "x -> y"
ops = '''
linear   x -> g        weight=up.weight out=2*width
act      g -> p        fn=act
linear   p -> y        weight=down.weight out=width
'''
`

func tinyModule(t *testing.T) (*ir.Module, ops.Table) {
	t.Helper()
	inRoot(t)
	table, err := ops.Load(os.DirFS("specs/ops"), "specs/ops")
	if err != nil {
		t.Fatal(err)
	}
	a, err := spec.Load(fstest.MapFS{"tiny.toml": {Data: []byte(tinySpec)}}, "specs", "tiny")
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Module(a, table)
	if err != nil {
		t.Fatal(err)
	}
	return m, table
}

// TestPasses keeps the result of every pass as a golden file.
func TestPasses(t *testing.T) {
	m, table := tinyModule(t)
	golden.Equal(t, "gen/testdata/tiny.1.lower", m.String())
	if err := autodiff.Module(m, table); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "gen/testdata/tiny.2.autodiff", m.String())
	var b strings.Builder
	for _, f := range m.Funcs {
		fused := *f
		fused.Body = fuse.Body(f.Body, append(append([]*ir.Value{}, f.Out...), f.Saved...))
		b.WriteString(fused.String() + "\n")
		if f.Grad != nil {
			g := *f.Grad
			g.Body = fuse.Body(g.Body, g.Out)
			b.WriteString(g.String() + "\n")
		}
	}
	golden.Equal(t, "gen/testdata/tiny.3.fuse", b.String())
	out, err := emitgo.Module(m, table)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	for _, f := range out.Files {
		b.WriteString("-- " + f.Path + " --\n" + string(f.Text))
	}
	golden.Equal(t, "gen/testdata/tiny.4.go.txt", b.String())
	b.Reset()
	for _, k := range out.Kernels {
		_, main, _ := strings.Cut(k.Text, "void main()")
		b.WriteString("-- " + k.Name + " --\nvoid main()" + main)
	}
	golden.Equal(t, "gen/testdata/tiny.5.glsl", b.String())
}

// TestLowerErrors: each mistake in a spec is reported at its line, with what was found and what was wanted.
func TestLowerErrors(t *testing.T) {
	inRoot(t)
	table, err := ops.Load(os.DirFS("specs/ops"), "specs/ops")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"op", "rms_norm xn -> h ", "rmsnorm xn -> h ", "specs/tiny.toml:23: unknown op rmsnorm"},
		{"value", "add      x a -> x1", "add      x b -> x1", "specs/tiny.toml:35: unknown value b"},
		{"twice", "add      x1 f -> y", "add      x1 f -> h1", "specs/tiny.toml:38: h1 is assigned twice"},
		{"unused", "@attend  h -> a ", "@attend  x -> a ", "specs/tiny.toml:33: fn.layer: h is never used"},
		{"output", "add      x1 f -> y", "add      x1 f -> _", "specs/tiny.toml:30: fn.layer: output y is never assigned"},
		{"function", "@attend  h -> a ", "@attention h -> a ", "specs/tiny.toml:34: @attention: no [fn.attention]"},
		{"key", "scale=1/sqrt(dim)", "scale=1/sqrt(dim) colour=3", "specs/tiny.toml:47: attention: unknown key colour"},
		{"attribute", "scale=1/sqrt(dim)", "causal=true", "specs/tiny.toml:47: attention: no scale="},
		{"type", "scale=1/sqrt(dim)", "scale=act", "specs/tiny.toml:47: attention: scale = act is string, want float"},
		{"name", "eps=eps if", "eps=epsilon if", "specs/tiny.toml:36: rms_norm: eps: expression \"epsilon\": unknown name epsilon"},
		{"shape", "sizes=dim,dim,dim", "sizes=dim,dim", "specs/tiny.toml:44: split: sizes sum to 2*dim, dimension 3 is 3*dim"},
		{"sum", "out=width\n'''\n[fn.glu]", "out=dim\n'''\n[fn.glu]", "specs/tiny.toml:35: add: "},
		{"guard", `if="i > 0"`, `if="i + 1"`, "specs/tiny.toml:36: if = i + 1 is int, want bool"},
		{"loop", "repeat=layers prefix=h.{i}.", "prefix=h.", "specs/tiny.toml:18: fn.model mentions the layer number i"},
		{"prefix", "prefix=h.{i}.", "prefix=h.", "repeat= without {i} in prefix="},
		{"arity", "@glu     h1 -> f ", "@glu     h1 h1 -> f ", "specs/tiny.toml:37: @glu: 2 arguments, its sig has 1 (x)"},
		{"missing", "[fn.head]", "[fn.haed]", "no [fn.head], which a causal architecture must have"},
		{"config", "act         = \"string = 'silu'\"", "act         = \"string = 3\"", "config act is string, its default 3 is int"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(tinySpec, c.old, c.new, 1)
			if text == tinySpec {
				t.Fatal("the replacement found nothing")
			}
			a, err := spec.Load(fstest.MapFS{"tiny.toml": {Data: []byte(text)}}, "specs", "tiny")
			if err == nil {
				_, err = lower.Module(a, table)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
