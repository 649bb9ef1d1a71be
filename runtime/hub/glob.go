package hub

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// glob compiles a shell pattern with the meaning of Python's fnmatch, which huggingface_hub uses: * and ?
// match any character, "/" included; [ab], [a-z] and [!ab] one of a set; a pattern that ends in "/" a
// whole folder.
func glob(pattern string) (*regexp.Regexp, error) {
	if strings.HasSuffix(pattern, "/") {
		pattern += "*"
	}
	var re strings.Builder
	re.WriteString(`(?s)^`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			re.WriteString(`.*`)
		case '?':
			re.WriteByte('.')
		case '[':
			set, n := globSet(pattern[i:])
			re.WriteString(set)
			i += n - 1
		default:
			n := strings.IndexAny(pattern[i:], "*?[")
			if n < 0 {
				n = len(pattern) - i
			}
			re.WriteString(regexp.QuoteMeta(pattern[i : i+n]))
			i += n - 1
		}
	}
	re.WriteByte('$')
	compiled, err := regexp.Compile(re.String())
	if err != nil || pattern == "" {
		return nil, fmt.Errorf("%q is no file pattern, want text with *, ? or [abc]", pattern)
	}
	return compiled, nil
}

// globSet translates the bracket expression that s starts with and returns its length in s; an unclosed
// bracket stands for itself.
func globSet(s string) (re string, length int) {
	start := 1
	if strings.HasPrefix(s[1:], "!") {
		start = 2
	}
	end := -1
	if len(s) > start {
		end = strings.IndexByte(s[start+1:], ']') // a "]" in first place belongs to the set
	}
	if end < 0 {
		return `\[`, 1
	}
	end += start + 1
	set := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(s[start:end])
	if start == 2 {
		set = "^" + set
	}
	return "[" + set + "]", end + 1
}

// globs is a list of compiled patterns with their text.
type globs struct {
	text []string
	re   []*regexp.Regexp
}

func newGlobs(patterns []string) (globs, error) {
	g := globs{text: patterns}
	for _, p := range patterns {
		re, err := glob(p)
		if err != nil {
			return globs{}, err
		}
		g.re = append(g.re, re)
	}
	return g, nil
}

func (g globs) match(name string) bool {
	return slices.ContainsFunc(g.re, func(re *regexp.Regexp) bool { return re.MatchString(name) })
}

// names reports whether a pattern that matches name also spells out its extension.
func (g globs) names(name string) bool {
	for i, re := range g.re {
		if re.MatchString(name) && path.Ext(g.text[i]) == path.Ext(name) {
			return true
		}
	}
	return false
}
