package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// realDir names a folder of templates that are not part of this repository, with the texts Python made
// of them: DIR/templates/*.jinja and DIR/cases.jsonl, one oracleCase a line (testdata/oracle.py writes it).
var realDir = flag.String("chat.real", "", "folder of real templates and cases.jsonl to compare with")

// oracleCase is one rendering by Python. Error is empty where it succeeded.
type oracleCase struct {
	Name     string          `json:"name"`
	Template string          `json:"template"`
	Input    json.RawMessage `json:"input"`
	Want     string          `json:"want"`
	Spans    [][2]int        `json:"spans"`
	Error    string          `json:"error"`
	Line     int             `json:"line"`
}

// oracleNow is the time the oracle's strftime_now tells.
var oracleNow = time.Date(2026, 12, 1, 13, 5, 9, 123456000, time.UTC)

func (c oracleCase) decode(t *testing.T) Input {
	t.Helper()
	v, err := DecodeJSON(c.Input)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	d := v.(*Dict)
	list := func(key string) []Value {
		if l, ok := getOr(d, key).(*List); ok {
			return append([]Value{}, l.Items...)
		}
		return nil
	}
	named := func(key string) map[string]Value {
		out := map[string]Value{}
		if m, ok := getOr(d, key).(*Dict); ok {
			for i := range m.Len() {
				k, v := m.At(i)
				out[k.(string)] = v
			}
		}
		return out
	}
	return Input{
		Messages: list("messages"), Tools: list("tools"), Documents: list("documents"),
		AddGenerationPrompt: getOr(d, "g") == true, ContinueFinalMessage: getOr(d, "c") == true,
		Special: named("special"), Extra: named("extra"), Now: oracleNow,
	}
}

func getOr(d *Dict, key string) Value {
	v, _ := d.Get(key)
	return v
}

func readCases(t *testing.T, path string) []oracleCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []oracleCase
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var c oracleCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func TestRealTemplates(t *testing.T) {
	if *realDir == "" {
		t.Skip("no -chat.real folder given")
	}
	parsed := map[string]*Template{}
	parseErr := map[string]error{}
	counts := map[string]int{}
	for _, c := range readCases(t, filepath.Join(*realDir, "cases.jsonl")) {
		tmpl, err := parsed[c.Template], parseErr[c.Template]
		if tmpl == nil && err == nil {
			src, readErr := os.ReadFile(filepath.Join(*realDir, "templates", c.Template))
			if readErr != nil {
				t.Fatal(readErr)
			}
			tmpl, err = Parse(string(src))
			parsed[c.Template], parseErr[c.Template] = tmpl, err
			if err != nil {
				t.Logf("%s: %v", c.Template, err)
			}
		}
		var res Result
		if err == nil {
			res, err = tmpl.Render(c.decode(t))
		}
		counts[verdict(t, c, res, err)]++
	}
	t.Logf("templates %d, cases: %v", len(parsed), counts)
}

// verdict compares one case; both failing counts as equal.
func verdict(t *testing.T, c oracleCase, res Result, err error) string {
	t.Helper()
	switch {
	case c.Error != "" && err != nil:
		want, msg := wantKind(c)
		var e *Error
		errors.As(err, &e)
		if e.Kind != want && e.Kind != KindInput || want == KindRaised && e.Msg != msg {
			t.Errorf("%s %s: error %v; want %s", c.Template, c.Name, err, c.Error)
			return "both fail, differently"
		}
		return "both fail"
	case c.Error != "":
		t.Errorf("%s %s: want error %s, got %q", c.Template, c.Name, c.Error, res.Text)
		return "only Go renders"
	case err != nil:
		t.Errorf("%s %s: %v; input %s", c.Template, c.Name, err, c.Input)
		return "only Go fails"
	}
	var spans [][2]int
	for _, s := range res.Assistant {
		spans = append(spans, [2]int{s.Start, s.End})
	}
	if len(c.Spans) == 0 {
		c.Spans = nil
	}
	if diff := cmp.Diff(c.Want, res.Text); diff != "" {
		t.Errorf("%s %s: input %s\n%s", c.Template, c.Name, c.Input, diff)
		return "text differs"
	}
	if diff := cmp.Diff(c.Spans, spans); diff != "" {
		t.Errorf("%s %s spans: %v\n%s", c.Template, c.Name, res.AssistantErr, diff)
		return "spans differ"
	}
	return "equal"
}
