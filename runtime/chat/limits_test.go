package chat

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// small are bounds that keep the hostile tests quick.
var small = Limits{MaxSteps: 2_000_000, MaxBytes: 64 << 20, MaxOutput: 8 << 20}

// TestHostile: each template must end in an error of KindLimit, and soon.
func TestHostile(t *testing.T) {
	nested := func(open, mid, end string, n int) string {
		return strings.Repeat(open, n) + mid + strings.Repeat(end, n)
	}
	tests := []struct{ name, template string }{
		{"nested loops", nested("{% for a in range(1000) %}", "x", "{% endfor %}", 6)},
		{"string doubling",
			"{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"},
		{"list doubling",
			"{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"},
		{"shared lists printed",
			"{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}" +
				"{% endfor %}{{ ns.s }}"},
		{"shared lists to json",
			"{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}" +
				"{% endfor %}{{ ns.s | tojson }}"},
		{"shared lists compared", "{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(99) %}" +
			"{% set ns.s = [ns.s, ns.s] %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.s == ns.t }}"},
		{"deep list printed",
			"{% set ns = namespace(s=[1]) %}{% for i in range(9999) %}{% set ns.s = [ns.s] %}" +
				"{% endfor %}{{ ns.s }}"},
		{"deep list compared", "{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(9999) %}" +
			"{% set ns.s = [ns.s] %}{% set ns.t = [ns.t] %}{% endfor %}{{ ns.s == ns.t }}"},
		{"repetition", "{{ 'x' * 9999999999999 }}"},
		{"repetition of repetition", "{{ ('x' * 8000000) * 8000000 }}"},
		{"list repetition", "{{ [1, 2] * 99999999999 }}"},
		{"huge repetition", "{{ 'x' * 10 ** 100 }}"},
		{"range", "{{ range(10 ** 18) }}"},
		{"range of negative step", "{{ range(9223372036854775807, -9223372036854775807, -1) }}"},
		{"power", "{{ 10 ** (10 ** 10) }}"},
		{"power of max int", "{{ 3 ** 9223372036854775807 }}"},
		{"big int growth",
			"{% set ns = namespace(n=10) %}{% for i in range(99999) %}{% set ns.n = ns.n * ns.n %}" +
				"{% endfor %}"},
		{"macro recursion", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"},
		{"mutual recursion",
			"{% macro a(n) %}{{ b(n) }}{% endmacro %}{% macro b(n) %}{{ a(n) }}{% endmacro %}{{ a(1) }}"},
		{"caller recursion", "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}"},
		{"recursive loop", "{% for x in [1] recursive %}{{ loop([x]) }}{% endfor %}"},
		{"branching recursion",
			"{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(99) }}"},
		{"percent width", "{{ '%99999999999999999999d' % 1 }}"},
		{"percent precision", "{{ '%.999999999f' % 1 }}"},
		{"percent star", "{{ '%*d' % (9223372036854775807, 1) }}"},
		{"format width", "{{ '{:99999999999}'.format(1) }}"},
		{"format zero width", "{{ '{:0999999999,}'.format(1) }}"},
		{"format precision", "{{ '{:.999999999f}'.format(1.5) }}"},
		{"center", "{{ 'a'.center(9999999999) }}"},
		{"zfill", "{{ 'a'.zfill(9999999999) }}"},
		{"center filter", "{{ 'a' | center(9999999999) }}"},
		{"indent", "{{ ('a\n' * 100000) | indent(100000) }}"},
		{"indent filter width", "{{ 'a' | indent(99999999999) }}"},
		{"json indent", "{{ [1] | tojson(indent=99999999999) }}"},
		{"json deep indent",
			"{% set ns = namespace(s=[1]) %}{% for i in range(800) %}{% set ns.s = [ns.s, 1] %}{% endfor %}" +
				"{{ ns.s | tojson(indent=100000) }}"},
		{"replace", "{{ ('a' * 100000).replace('a', 'b' * 100000) }}"},
		{"replace of nothing", "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}"},
		{"join", "{{ (['a' * 100000] * 100000) | join }}"},
		{"str join", "{{ ('a' * 100000).join(['b'] * 100000) }}"},
		{"expandtabs", "{{ ('\t' * 100000).expandtabs(1000000) }}"},
		{"batch", "{{ [1] | batch(99999999999, 'x') | list }}"},
		{"slice filter", "{{ [1] | slice(99999999999) | list }}"},
		{"output", "{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}"},
		{"captured output", "{% for i in range(100000) %}{% set q %}{{ 'x' * 1000000 }}{% endset %}{% endfor %}"},
		{"sort", "{{ (range(100000) | list * 9) | sort | length }}"},
		{"strftime", "{{ strftime_now('%c' * 4000000) }}"},
		{"cycle of contains", "{% for i in range(100000) %}{{ -1 in range(100000) }}{% endfor %}"},
		{"count", "{% set s = 'a' * 8000000 %}{% for i in range(100000) %}{% set q = s.count('b') %}{% endfor %}"},
		{"length", "{% set s = 'é' * 4000000 %}{% for i in range(100000) %}{% set q = s | length %}{% endfor %}"},
		{"index", "{% set s = 'é' * 4000000 %}{% for i in range(100000) %}{% set q = s[-1] %}{% endfor %}"},
		{"strip", "{% set s = ' ' * 8000000 %}{% for i in range(100000) %}{% set q = s.strip() %}{% endfor %}"},
		{"compare",
			"{% set s = 'a' * 4000000 %}{% set t = 'a' * 4000000 %}{% for i in range(100000) %}" +
				"{% set q = s == t %}{% endfor %}"},
		{"slice", "{% set s = 'é' * 4000000 %}{% for i in range(100000) %}{% set q = s[1:2] %}{% endfor %}"},
		{"upper test",
			"{% set s = 'A' * 8000000 %}{% for i in range(100000) %}{% set q = s is upper %}{% endfor %}"},
		{"big int printed", "{% set n = 9 ** 5000 %}{% for i in range(100000) %}{% set q = n ~ '' %}{% endfor %}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			tmpl, err := ParseLimits(tt.template, small)
			if err == nil {
				_, err = tmpl.Render(Input{})
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != KindLimit {
				t.Errorf("error %v; want one of KindLimit", err)
			}
			if d := time.Since(start); d > time.Minute { // minutes would be a hang; a loaded machine needs seconds
				t.Errorf("took %v", d)
			}
		})
	}
}

// TestHostileSource: sources that a recursive parser could die of.
func TestHostileSource(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	tests := []struct{ name, template string }{
		{"parentheses", "{{ " + many("(", 100000)},
		{"brackets", "{{ " + many("[", 100000)},
		{"braces", "{{ " + many("{1:", 100000)},
		{"not", "{{ " + many("not ", 100000) + "1 }}"},
		{"minus", "{{ " + many("-", 100000) + "1 }}"},
		{"if blocks", many("{% if 1 %}", 100000)},
		{"for blocks", many("{% for a in b %}", 100000)},
		{"inline ifs", "{{ 1 " + many("if 1 else 1 ", 100000) + "}}"},
		{"plus chain", "{{ 1" + many("+1", 100000) + " }}"},
		{"filter chain", "{{ 1" + many("|int", 100000) + " }}"},
		{"attribute chain", "{{ a" + many(".a", 100000) + " }}"},
		{"test arguments", "{{ 1 " + many("is eq(1 ", 100000) + " }}"},
		{"targets", "{% for " + many("(", 100000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse(tt.template); err == nil {
				t.Error("parsed; want an error")
			}
		})
	}
	for _, ok := range []string{
		many("{% if 1 %}{% set a = 1 %}{% endif %}", 20000), many("{{ a }}", 100000),
		many("{% raw %", 50000) + "{% endraw %}",
	} {
		if _, err := Parse(ok); err != nil && !strings.Contains(err.Error(), "raw") {
			t.Error(err)
		}
	}
}
