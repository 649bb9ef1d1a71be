package hub

import (
	"encoding/json"
	"os"
	"testing"
)

// TestGlob compares with Python's fnmatch, by testdata/make_fnmatch.py.
func TestGlob(t *testing.T) {
	b, err := os.ReadFile("testdata/fnmatch.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][3]any
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		pattern, name, want := c[0].(string), c[1].(string), c[2].(bool)
		re, err := glob(pattern)
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		if got := re.MatchString(name); got != want {
			t.Errorf("%q on %q: got %v, want %v (%s)", pattern, name, got, want, re)
		}
	}
	if len(cases) < 200 {
		t.Errorf("%d cases", len(cases))
	}
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"*.json", "[!a-c]?", "[]a]", "["} {
		f.Add(p, "a/b.json")
	}
	f.Fuzz(func(_ *testing.T, pattern, name string) {
		if re, err := glob(pattern); err == nil {
			re.MatchString(name)
		}
	})
}
