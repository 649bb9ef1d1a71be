package hfconfig

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustParse(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse("c.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGet(t *testing.T) {
	f := mustParse(t, `{"n": 3, "whole": 1e4, "x": 0.5, "b": true, "s": "gelu", "null": null, "list": [1, 2],
		"words": ["a"], "flags": [true], "a.b": 7, "deep": {"er": {"k": 9}, "inf": [0.0, Infinity, -Infinity]},
		"new": {"__float__": "Infinity"}, "nan": NaN}`)
	deep := f.Sub("deep")
	tests := []struct {
		name      string
		got, want any
	}{
		{"int", f.Int("n"), 3},
		{"whole float", f.Int("whole"), 10000},
		{"first present", f.Int("none", "null", "n"), 3},
		{"default", f.IntOr(8, "none", "null"), 8},
		{"null", f.Null("none", "null"), true},
		{"null beside a value", f.Null("null", "n"), false},
		{"text", f.Text("none", "s"), true},
		{"a number is no text", f.Text("n"), false},
		{"absent is not null", f.Null("none", "deep.none"), false},
		{"dotted key", f.Int("a.b"), 7},
		{"nested", f.Int("deep.er.k"), 9},
		{"sub", deep.Int("er.k"), 9},
		{"sub sub", deep.Sub("er").Int("k"), 9},
		{"self", f.Sub("").Int("n"), 3},
		{"float", f.Float("x"), 0.5},
		{"int as float", f.Float("n"), 3.0},
		{"float default", f.FloatOr(1e-5, "none"), 1e-5},
		{"infinities", deep.Floats("inf"), []float64{0, math.Inf(1), math.Inf(-1)}},
		{"new infinity", f.Float("new"), math.Inf(1)},
		{"nan", f.Float("nan") != f.Float("nan"), true},
		{"bool", f.Bool("b"), true},
		{"bool default", f.BoolOr(true, "none"), true},
		{"string", f.String("s"), "gelu"},
		{"string default", f.StringOr("silu", "none"), "silu"},
		{"ints", f.Ints("list"), []int{1, 2}},
		{"one int", f.Ints("n"), []int{3}},
		{"ints default", f.IntsOr([]int{4}, "none"), []int{4}},
		{"floats default", f.FloatsOr([]float64{4}, "none"), []float64{4}},
		{"strings", f.Strings("words"), []string{"a"}},
		{"strings default", f.StringsOr(nil, "none"), []string(nil)},
		{"bools", f.BoolsOr(nil, "flags"), []bool{true}},
		{"one of", f.OneOf("silu", []string{"silu", "gelu"}, "s"), "gelu"},
		{"one of default", f.OneOf("silu", []string{"silu", "gelu"}, "none"), "silu"},
		{"has", f.Has("deep.er"), true},
		{"has null", f.Has("null"), false},
		{"any", f.Any("deep.er"), map[string]any{"k": 9}},
		{"any none", f.Any("none"), nil},
		{"keys", deep.Keys(), []string{"er", "inf"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
	if got := mustParse(t, `{"a":1,"b":{"c":2}}`); true {
		got.Int("b.c")
		if diff := cmp.Diff([]string{"a"}, got.Unread()); diff != "" {
			t.Errorf("unread (-want +got):\n%s", diff)
		}
	}
}

func TestSubOver(t *testing.T) {
	f := mustParse(t, `{"tied": false, "n": 1, "none": null, "text": {"tied": true, "n": 2, "none": 3}}`)
	s := f.SubOver("text", "tied", "none", "gone")
	got := []any{s.Bool("tied"), s.Int("n"), s.Int("none"), s.Has("gone"), f.Sub("text").Bool("tied")}
	if diff := cmp.Diff([]any{false, 2, 3, false, true}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFirstOfAlike(t *testing.T) {
	f := mustParse(t, `{"layers": {"3": {"n": 1}, "5": {"n": 1}}, "none": {}}`)
	got := []any{f.Int("layers.*.n"), f.Has("none.*.n"), f.Has("gone.*.n"), f.Has("layers.*.m")}
	if diff := cmp.Diff([]any{1, false, false, false}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFixed(t *testing.T) {
	f := mustParse(t, `{"n": 1, "m": 2}`).Fixed(mustParse(t, `{"n": 3, "new": true}`))
	got := []any{f.Int("n"), f.Int("m"), f.Bool("new")}
	if diff := cmp.Diff([]any{3, 2, true}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestErrorsCollect(t *testing.T) {
	f := mustParse(t, `{"n": "64", "x": [], "b": 1, "s": 2, "list": [1, "2"], "half": 1.5, "act": "swosh",
		"text": {"k": {}}, "big": 1e30, "rope": {"rope_type": 3}, "rope2": 5,
		"long": "0123456789012345678901234567890123456789012345"}`)
	f.Int("n")
	f.Int("half")
	f.IntOr(1, "big")
	f.Float("x")
	f.Bool("b")
	f.String("s")
	f.Ints("list")
	f.Int("missing", "also")
	f.Int("missing", "also") // noted once
	f.OneOf("silu", []string{"silu", "gelu"}, "act")
	f.Sub("text").Int("k")
	f.Sub("text").Float("gone")
	f.Sub("none").Int("quiet")
	f.Sub("n")
	f.Int("long")
	f.Rope("rope")
	f.Rope("rope2")
	f.Fail("n", "odd", "even")
	want := `c.json: "n" is "64", want a whole number
c.json: "half" is 1.5, want a whole number
c.json: "big" is 1e30, want a whole number
c.json: "x" is a list of 0, want a number
c.json: "b" is 1, want true or false
c.json: "s" is 2, want a string
c.json: "list" is a list of 2, want a list of whole numbers
c.json: "missing" or "also" is missing, want a whole number
c.json: "act" is "swosh", want one of silu, gelu
c.json: "text.k" is an object, want a whole number
c.json: "text.gone" is missing, want a number
c.json: "none" is missing, want an object
c.json: "n" is "64", want an object
c.json: "long" is "0123456789012345678901234567890123456789"..., want a whole number
c.json: "rope.rope_type" is 3, want a string
c.json: "rope2" is 5, want an object
c.json: "n" is odd, want even`
	if diff := cmp.Diff(want, f.Err().Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRope(t *testing.T) {
	f := mustParse(t, `{"rope_scaling": {"type": "linear", "factor": 2, "m": [1, 2.5], "bad": ["x"], "flag": false},
		"rope_parameters": {"full": {"rope_type": "yarn", "rope_theta": 1e6}}, "none": null, "nul": {"rope_type": null}}`)
	old, fresh, none := f.Rope("gone", "rope_scaling"), f.Rope("rope_parameters.full"), f.Rope("none")
	tests := []struct {
		name      string
		got, want any
	}{
		{"old type", old.Type, "linear"}, {"factor", old.Float("factor", 1), 2.0}, {"list", old.Floats("m"),
			[]float64{1, 2.5}},
		{"bad list", old.Floats("bad"), []float64(nil)}, {"no list", old.Floats("none"), []float64(nil)},
		{"flag", old.Bool("flag", true), false}, {"no flag", old.Bool("none", true), true},
		{"new type", fresh.Type, "yarn"}, {"theta", fresh.Float("rope_theta", 0), 1e6}, {"key", fresh.Key,
			"rope_parameters.full"},
		{"none", none.Type, "default"}, {"none value", none.Float("factor", 3), 3.0}, {"null type",
			f.Rope("nul").Type, "default"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", "c.json: line 1, column 1: want a value"},
		{"list", "[]", "c.json: the document is a list of 0, want an object"},
		{"not utf8", "{\"\xff\":1}", "c.json: text is not UTF-8"},
		{"no key", "{1:2}", "c.json: line 1, column 2: want a quoted key or '}'"},
		{"no colon", `{"a" 2}`, `c.json: line 1, column 6: want ':' after key "a"`},
		{"twice", `{"a":1,"a":2}`, `c.json: line 1, column 11: key "a" stands twice in one object`},
		{"comma object", "{\n\"a\":1,\n}", "c.json: line 3, column 1: ',' before '}'"},
		{"comma list", `{"a":[1,]}`, "c.json: line 1, column 9: ',' before ']'"},
		{"no comma", `{"a":1 "b":2}`, "c.json: line 1, column 8: want ',' or '}'"},
		{"open string", `{"a`, "c.json: line 1, column 2: string without an end"},
		{"bad escape", `{"a":"\q"}`,
			"c.json: line 1, column 6: bad string: invalid character 'q' in string escape code"},
		{"word", `{"a":True}`, `c.json: line 1, column 6: "True" is no JSON value`},
		{"number", `{"a":01}`, `c.json: line 1, column 6: "01" is no JSON value`},
		{"cut", `{"a":`, `c.json: line 1, column 6: want a value`},
		{"after", `{} {}`, `c.json: line 1, column 4: text after the document`},
		{"deep", strings.Repeat(`{"a":`, 300), "c.json: line 1, column 1006: nested deeper than 200"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("c.json", []byte(tt.in))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	tests := []struct{ name, in, key, want string }{
		{"replace", "{\n  \"a\":  1,\n  \"b\": [1,  2]\n}\n", "b", "{\n  \"a\":  1,\n  \"b\": \"v\"\n}\n"},
		{"add", "{\n    \"a\": 1\n}", "z", "{\n    \"a\": 1,\n    \"z\": \"v\"\n}"},
		{"add compact", `{"a":1}`, "z", `{"a":1, "z": "v"}`},
		{"add to empty", `{}`, "z", `{"z": "v"}`},
	}
	for _, tt := range tests {
		f := mustParse(t, tt.in)
		if err := f.Set(tt.key, "v"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(f.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got := f.String(tt.key); got != "v" {
			t.Errorf("%s: reads back as %q", tt.name, got)
		}
	}
	f := mustParse(t, "{\n  \"t\": {\n    \"k\": 1\n  },\n  \"u\": {}\n}")
	sub, other := f.Sub("t"), f.Sub("u")
	for _, err := range []error{f.Set("a", 0.5), sub.Set("k", []int{1}), other.Set("x", true), sub.Set("l",
		nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "{\n  \"t\": {\n    \"k\": [\n      1\n    ],\n    \"l\": null\n  },\n  \"u\": {\"x\": true},\n  \"a\": 0.5\n}"
	if diff := cmp.Diff(want, string(f.Bytes())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := f.Ints("t.k"); len(got) != 1 || !other.Bool("x") || f.Float("a") != 0.5 {
		t.Errorf("views are stale: %v", got)
	}
	missing := f.Sub("gone")
	if err := missing.Set("x", 1); err == nil ||
		err.Error() != `c.json: "gone" is missing, so "x" cannot be set in it` {
		t.Errorf("error is %v", err)
	}
	if err := f.Set("x", math.NaN()); err == nil || !strings.HasPrefix(err.Error(),
		`c.json: "x": json: unsupported value`) {
		t.Errorf("error is %v", err)
	}
}

// TestSetProperty: setting one key changes what that key reads and nothing else.
func TestSetProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.MapOf(rapid.StringMatching(`[a-z."\\é]{1,3}`), rapid.Int()).Draw(t, "in")
		key := rapid.StringMatching(`[a-z"\\]{1,3}`).Draw(t, "key")
		value := rapid.Int().Draw(t, "value")
		var text []byte
		if rapid.Bool().Draw(t, "indented") {
			text, _ = json.MarshalIndent(in, "", "  ")
		} else {
			text, _ = json.Marshal(in)
		}
		f, err := Parse("c", text)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Set(key, value); err != nil {
			t.Fatal(err)
		}
		in[key] = value
		var got map[string]int
		if err := json.Unmarshal(f.Bytes(), &got); err != nil || !reflect.DeepEqual(got, in) {
			t.Fatalf("%s: %v, want %v (%v)", f.Bytes(), got, in, err)
		}
	})
}

// FuzzParse: no panic; what parses keeps its bytes; and what encoding/json reads is read alike.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-2.5e3,null,true,"x\u00e9"],"b":{"c":{}}}`, `{"a":NaN}`,
		`{"a":01}`, `[`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("c", data)
		if err != nil {
			return
		}
		if string(file.Bytes()) != string(data) {
			t.Fatal("bytes changed")
		}
		for _, k := range file.Keys() {
			file.Int(k)
			file.FloatsOr(nil, k)
			file.Rope(k)
			_ = file.Any(k)
		}
		_ = file.Err()
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) == nil && len(want) != len(file.Keys()) {
			t.Fatalf("%d keys, encoding/json finds %d", len(file.Keys()), len(want))
		}
	})
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if _, err := Load(dir); !os.IsNotExist(err) {
		t.Errorf("error is %v", err)
	}
	if _, err := Load(path); !os.IsNotExist(err) {
		t.Errorf("error is %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{dir, path} {
		if f, err := Load(p); err != nil || f.Int("a") != 1 || f.Name() != path {
			t.Errorf("%s: %v", p, err)
		}
	}
}
