package tokenizer

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSplittersEqualTheirPatterns compares every hand-written splitter with the regular expression.
func TestSplittersEqualTheirPatterns(t *testing.T) {
	runes := []rune("aZséſS'tTdDmMvVrReElL09٣½ \t\r\n\u0085\u00a0\u2003_-.!日🙂\u0301\u200d" +
		"\U00011de0\U00016130")
	for _, p := range []string{byteLevelPattern, cl100kPattern, strings.Replace(cl100kPattern, "{1,3}", "", 1)} {
		re, err := compileRegex(p)
		if err != nil {
			t.Fatal(err)
		}
		slow := *re
		slow.fast = nil
		if re.fast == nil {
			t.Fatalf("%s has no splitter", p)
		}
		rapid.Check(t, func(t *rapid.T) {
			s := string(rapid.SliceOfN(rapid.SampledFrom(runes), 0, 40).Draw(t, "text"))
			want, err := slow.matches(s)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := re.matches(s); !slices.Equal(got, want) {
				t.Fatalf("%s on %q: got %v, want %v", p, s, got, want)
			}
		})
	}
}
