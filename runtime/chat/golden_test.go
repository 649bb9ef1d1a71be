package chat

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenFile can name a larger file of the same form, made for one occasion.
var goldenFile = flag.String("chat.golden", "testdata/golden.jsonl", "cases with Python's results")

// TestGolden compares with Python's Jinja2: text and spans where it renders, a failure of the same
// sort where it fails. testdata/oracle.py writes the file from testdata/cases.txt.
func TestGolden(t *testing.T) {
	cases := readCases(t, *goldenFile)
	if len(cases) < 200 {
		t.Fatalf("only %d golden cases", len(cases))
	}
	input := cases[0].decode(t)
	for _, c := range cases[1:] {
		t.Run(c.Name, func(t *testing.T) {
			var res Result
			tmpl, err := Parse(c.Template)
			if err == nil {
				res, err = tmpl.Render(input)
			}
			if c.Error != "" {
				checkError(t, c, res, err)
				return
			}
			if err != nil {
				t.Fatalf("%v; want %q", err, c.Want)
			}
			if diff := cmp.Diff(c.Want, res.Text); diff != "" {
				t.Errorf("text (-python +go):\n%s\nwant %q\ngot  %q", diff, c.Want, res.Text)
			}
			if diff := cmp.Diff(c.Spans, pairs(res.Assistant)); diff != "" {
				t.Errorf("spans (-python +go):\n%s", diff)
			}
		})
	}
}

func pairs(spans []Span) [][2]int {
	out := [][2]int{}
	for _, s := range spans {
		out = append(out, [2]int{s.Start, s.End})
	}
	return out
}

// wantKinds maps Python's exceptions to kinds of Error; others are KindRuntime.
var wantKinds = map[string]Kind{
	"TemplateSyntaxError": KindSyntax, "TemplateAssertionError": KindSyntax, "SyntaxError": KindSyntax,
	"UndefinedError": KindUndefined, "SecurityError": KindSecurity, "TemplateError": KindRaised,
}

// wantKind gives the kind of Error that stands for Python's exception, and its message.
func wantKind(c oracleCase) (Kind, string) {
	class, msg, _ := strings.Cut(c.Error, ": ")
	if strings.Contains(msg, "Range too big") {
		return KindLimit, msg
	}
	if want, ok := wantKinds[class]; ok {
		return want, msg
	}
	return KindRuntime, msg
}

func checkError(t *testing.T, c oracleCase, res Result, err error) {
	t.Helper()
	if err == nil {
		t.Fatalf("rendered %q; want %s", res.Text, c.Error)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is no *Error", err)
	}
	want, msg := wantKind(c)
	if e.Kind != want {
		t.Errorf("%v has kind %d; want %d for %s", err, e.Kind, want, c.Error)
	}
	if want == KindRaised && e.Msg != msg {
		t.Errorf("message %q; want %q", e.Msg, msg)
	}
	if strings.HasPrefix(c.Error, "SyntaxError") {
		c.Line = 0 // counted in Jinja's compiled code
	}
	if e.Line < 1 || e.Col < 1 || c.Line > 0 && e.Line != c.Line {
		t.Errorf("%v at %d:%d; want line %d (%s)", err, e.Line, e.Col, c.Line, c.Error)
	}
}
