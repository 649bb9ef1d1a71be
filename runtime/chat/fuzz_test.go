package chat

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// fuzzLimits keep one fuzz case short.
var fuzzLimits = Limits{MaxSteps: 200_000, MaxBytes: 8 << 20, MaxOutput: 1 << 20, MaxSource: 1 << 16}

func seeds(f *testing.F) []string {
	f.Helper()
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for _, block := range strings.Split(string(data), "=== ")[1:] {
		_, template, _ := strings.Cut(block, "\n")
		out = append(out, template)
	}
	return out
}

// checkFault fails on anything but an *Error of a kind that is the template's or the input's fault.
func checkFault(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if err != nil && (!errors.As(err, &e) || e.Kind == KindInternal) {
		t.Fatalf("internal error: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, template string) {
		_, err := ParseLimits(template, fuzzLimits)
		checkFault(t, err)
	})
}

func FuzzRender(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, `{"nums": [3, 1, 2], "d": {"z": 1, "a": "é"}, "pi": 3.5, "text": "The fox"}`)
	}
	f.Fuzz(func(t *testing.T, template, vars string) {
		tmpl, err := ParseLimits(template, fuzzLimits)
		checkFault(t, err)
		if err != nil {
			return
		}
		input := Input{Messages: []Value{Message{"user", "Hi"}}, AddGenerationPrompt: true, Now: oracleNow}
		if v, err := DecodeJSON([]byte(vars)); err == nil {
			if d, ok := v.(*Dict); ok {
				input.Extra = map[string]Value{}
				for i := range d.Len() {
					k, v := d.At(i)
					input.Extra[k.(string)] = v
				}
			}
		}
		res, err := tmpl.Render(input)
		checkFault(t, err)
		if !utf8.ValidString(res.Text) {
			t.Fatalf("invalid UTF-8: %q", res.Text)
		}
		for _, s := range res.Assistant {
			if s.Start < 0 || s.End < s.Start || s.End > len(res.Text) {
				t.Fatalf("span %v of %d bytes", s, len(res.Text))
			}
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,-0,null,true,"x\ud83d\ude42"]}`, `"\ud800"`,
		`12345678901234567890`, `[`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := DecodeJSON([]byte(s))
		if err != nil {
			return
		}
		if _, err := FromGo(v); err != nil {
			t.Fatalf("%q decodes to a value that is refused: %v", s, err)
		}
	})
}
