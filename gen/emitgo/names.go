package emitgo

import (
	"go/token"
	"strings"
	"unicode"

	"github.com/vulcast/vulcast/gen/ir"
)

// initialisms are written in capitals inside Go names.
var initialisms = map[string]string{"rms": "RMS", "mlp": "MLP", "lm": "LM", "id": "ID", "qkv": "QKV", "ln": "LN", "nn": "NN",
	"moe": "MoE", "kv": "KV", "glu": "GLU", "bf16": "BF16", "ids": "IDs"}

// camel turns snake_case and dots into CamelCase.
func camel(s string) string {
	var b strings.Builder
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		if up, ok := initialisms[strings.ToLower(w)]; ok {
			b.WriteString(up)
			continue
		}
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	out := b.String()
	if out == "" || unicode.IsDigit(rune(out[0])) {
		out = "X" + out
	}
	return out
}

// lowerCamel is camel with a small first word, for locals and methods.
func lowerCamel(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return "x"
	}
	first := words[0]
	rest := ""
	if len(words) > 1 {
		rest = camel(strings.Join(words[1:], "_"))
	}
	return strings.ToLower(first[:1]) + first[1:] + rest
}

// reservedLocals are names that generated functions use themselves.
var reservedLocals = map[string]bool{"m": true, "r": true, "w": true, "s": true, "b": true, "i": true, "j": true, "st": true,
	"g": true, "c": true, "nn": true, "gpu": true, "kernels": true, "math": true, "slices": true, "model": true, "len": true,
	"make": true, "min": true, "max": true, "cap": true, "in": true, "strings": true}

// locals names the values of one function.
type locals struct {
	names map[*ir.Value]string
	taken map[string]bool
}

func newLocals() *locals { return &locals{map[*ir.Value]string{}, map[string]bool{}} }

// of returns the Go name of a value.
func (l *locals) of(v *ir.Value) string {
	if n, ok := l.names[v]; ok {
		return n
	}
	name := lowerCamel(v.Name)
	for reservedLocals[name] || token.IsKeyword(name) || l.taken[name] {
		name += "_"
	}
	l.names[v], l.taken[name] = name, true
	return name
}

// fields names the fields of a generated struct, without repeats.
type fields struct{ taken map[string]bool }

func (f *fields) name(s string) string {
	if f.taken == nil {
		f.taken = map[string]bool{}
	}
	name := camel(s)
	for f.taken[name] {
		name += "2"
	}
	f.taken[name] = true
	return name
}
