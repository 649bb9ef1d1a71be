package emitgo

import (
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/spec"
)

// config prints config.go: the Config struct, its loader, derived values and checks.
func (e *emitter) config() *source {
	s := e.source("config.go")
	s.comment("Config is the configuration of " + e.mod.Name + " under the names of its spec; each field tells its key in config.json.")
	s.line("type Config struct {")
	for _, c := range e.arch.Config {
		s.line("%s %s // %s", camel(c.Name), c.Type.GoType(), strings.Join(c.Keys, ", "))
	}
	s.line("}")
	s.gap()
	e.newConfig(s)
	sc := newScope(e.arch, "c")
	for _, l := range e.arch.Lets {
		s.gap()
		arg := ""
		if sc.lets[l.Name] {
			arg = "i int"
		}
		s.comment(fmt.Sprintf("%s is %s.", camel(l.Name), l.Expr.Src))
		s.line("func (c *Config) %s(%s) %s {", camel(l.Name), arg, sc.types[l.Name].GoType())
		s.line("return %s", sc.expr(l.Expr, sc.types[l.Name]))
		s.line("}")
	}
	return s
}

// readers maps types to the methods of hfconfig.File that read them.
var readers = map[expr.Type]string{expr.Int: "Int", expr.Float: "Float", expr.Bool: "Bool", expr.String: "String",
	expr.Ints: "Ints", expr.Floats: "Floats", expr.Strings: "Strings", expr.Bools: "Bools"}

// zeros are the values that a null stands for where the spec says so (`int?`).
var zeros = map[expr.Type]string{expr.Int: "0", expr.Float: "0", expr.Bool: "false", expr.String: `""`,
	expr.Ints: "nil", expr.Floats: "nil", expr.Strings: "nil", expr.Bools: "nil"}

func (e *emitter) newConfig(s *source) {
	sc := newScope(e.arch, "c")
	s.comment("NewConfig reads the configuration. All faults of the file come in one error.")
	s.line("func NewConfig(f *hfconfig.File) (*Config, error) {")
	s.line("c := &Config{}")
	divisors := e.divisors()
	for _, c := range e.sortedConfig() {
		keys := fmt.Sprintf("%q", c.Keys)
		keys = strings.ReplaceAll(strings.Trim(keys, "[]"), `" "`, `", "`)
		field := "c." + camel(c.Name)
		switch {
		case c.Type == expr.Rope:
			if len(c.Keys) == 1 && c.Keys[0] == c.Name {
				keys = `"rope_parameters", "rope_scaling"`
			}
			s.line("%s = f.Object(%s)", field, keys)
		case c.Default == nil:
			s.line("%s = f.%s(%s)", field, readers[c.Type], keys)
		default:
			def := sc.expr(c.Default, c.Type)
			if c.Wordy {
				s.line("if %s = %s; !f.Text(%s) {", field, def, keys)
				def = field
			}
			s.line("%s = f.%sOr(%s, %s)", field, readers[c.Type], def, keys)
			if c.Wordy {
				s.line("}")
			}
			if c.Null {
				s.line("if f.Null(%s) {", keys)
				s.line("%s = %s", field, zeros[c.Type])
				s.line("}")
			}
		}
		if divisors[c.Name] {
			s.line("if !f.Positive(%s, %s) {", field, keys)
			s.line("return nil, f.Err()")
			s.line("}")
		}
	}
	if len(e.arch.Checks) > 0 {
		s.line("if err := f.Err(); err != nil {")
		s.line("return nil, err")
		s.line("}")
	}
	for _, c := range e.arch.Checks {
		s.line("if %s {", sc.negated(c.Expr))
		s.line("f.Refuse(%q, %q)", c.Expr.Src, c.Say)
		s.line("}")
	}
	s.line("return c, f.Err()")
	s.line("}")
}

// sortedConfig orders the values so that defaults come after what they mention.
func (e *emitter) sortedConfig() []spec.ConfigVar {
	byName := map[string]spec.ConfigVar{}
	for _, c := range e.arch.Config {
		byName[c.Name] = c
	}
	lets := map[string]*expr.Expr{}
	for _, l := range e.arch.Lets {
		lets[l.Name] = l.Expr
	}
	var out []spec.ConfigVar
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		if l, ok := lets[name]; ok {
			for _, n := range l.Names() {
				visit(n)
			}
			return
		}
		c, ok := byName[name]
		if !ok {
			return
		}
		if c.Default != nil {
			for _, n := range c.Default.Names() {
				visit(n)
			}
		}
		out = append(out, c)
	}
	for _, c := range e.arch.Config {
		visit(c.Name)
	}
	return out
}
