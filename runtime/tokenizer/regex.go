package tokenizer

import (
	"fmt"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// matchTimeout bounds one search, since a backtracking pattern from a file may take exponential time.
const matchTimeout = 20 * time.Second

// byteLevelPattern is the splitting pattern of ByteLevel.
// Source: https://github.com/openai/gpt-2/blob/master/src/encoder.py
const byteLevelPattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// regex is a compiled pattern in Oniguruma's Ruby syntax, which is what tokenizer files hold.
type regex struct {
	source string
	re     *regexp2.Regexp
	fast   splitter // a hand-written equal of the pattern, nil where there is none
}

// splitter reports the pieces of s in order; they cover all of it and each is one match.
type splitter func(s string, piece func(a, b int))

func compileRegex(source string) (*regex, error) {
	translated, err := translateRegex(source)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", source, err)
	}
	re, err := regexp2.Compile(translated, regexp2.Multiline)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", source, err)
	}
	re.MatchTimeout = matchTimeout
	return &regex{source: source, re: re, fast: splitterFor(source)}, nil
}

// matches returns the places of the pattern in s, including empty ones. It fails where the pattern
// takes more than matchTimeout.
func (r *regex) matches(s string) ([]span, error) {
	if r.fast != nil {
		var out []span
		r.fast(s, func(a, b int) { out = append(out, span{a, b}) })
		return out, nil
	}
	found, err := r.re.FindAllStringIndex(s, -1)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q on %d bytes of text: %w", r.source, len(s), err)
	}
	out := make([]span, len(found))
	for i, m := range found {
		out[i] = span{m[0], m[1]}
	}
	return out, nil
}
