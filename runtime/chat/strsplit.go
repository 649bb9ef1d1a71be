package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func all(f func(rune) bool) func(string) bool {
	return func(s string) bool {
		for _, r := range s {
			if !f(r) {
				return false
			}
		}
		return s != ""
	}
}

func isASCII(r rune) bool { return r < 0x80 }

// isDigit is str.isdigit: decimal digits and the superscript and circled ones.
func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r) ||
		r >= 0x2460 && r <= 0x2468
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !isWord(r) || i == 0 && unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}

// splitArgs reads sep and maxsplit; space is true for a split at white space.
func splitArgs(in *interp, name string, a args) (sep string, limit int64, space bool) {
	p := in.bind(name, a, 0, "sep", "maxsplit")
	limit = in.optInt(p[1], -1, "maxsplit")
	if absent(p[0]) {
		return "", limit, true
	}
	sep = in.wantStr(p[0], "separator")
	if sep == "" {
		in.valueErr("empty separator")
	}
	return sep, limit, false
}

func (in *interp) strList(parts []string, self Value) Value {
	out := make([]Value, len(parts))
	for i, s := range parts {
		out[i] = like(self, s)
	}
	in.alloc(int64(len(parts)) * 32)
	return in.newList(out)
}

func strSplit(in *interp, s string, self Value, a args) Value {
	sep, limit, space := splitArgs(in, "split", a)
	in.work(len(s))
	if !space {
		if limit < 0 {
			return in.strList(strings.Split(s, sep), self)
		}
		return in.strList(strings.SplitN(s, sep, int(min(limit, int64(len(s))))+1), self)
	}
	var out []string
	for {
		s = strings.TrimLeftFunc(s, isPySpace)
		if s == "" {
			return in.strList(out, self)
		}
		i := strings.IndexFunc(s, isPySpace)
		if i < 0 || limit >= 0 && int64(len(out)) >= limit {
			return in.strList(append(out, s), self)
		}
		out = append(out, s[:i])
		s = s[i:]
	}
}

func strRsplit(in *interp, s string, self Value, a args) Value {
	sep, limit, space := splitArgs(in, "rsplit", a)
	in.work(len(s))
	if limit < 0 {
		if space {
			return in.strList(strings.FieldsFunc(s, isPySpace), self)
		}
		return in.strList(strings.Split(s, sep), self)
	}
	var out []string // from the right
	for {
		if space {
			s = strings.TrimRightFunc(s, isPySpace)
		}
		var i, skip int
		if space {
			i = strings.LastIndexFunc(s, isPySpace)
			if i >= 0 {
				_, skip = utf8.DecodeRuneInString(s[i:])
			}
		} else {
			i, skip = strings.LastIndex(s, sep), len(sep)
		}
		if i < 0 || int64(len(out)) >= limit {
			break
		}
		out = append(out, s[i+skip:])
		s = s[:i]
	}
	if !space || s != "" {
		out = append(out, s)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return in.strList(out, self)
}

func strSplitlines(in *interp, s string, self Value, a args) Value {
	keep := in.optTruth(in.bind("splitlines", a, 0, "keepends")[0], false)
	in.work(len(s))
	var out []string
	for s != "" {
		i := strings.IndexFunc(s, isLineEnd)
		if i < 0 {
			out = append(out, s)
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, s[:i+n])
		} else {
			out = append(out, s[:i])
		}
		s = s[i+n:]
	}
	return in.strList(out, self)
}

func isLineEnd(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}
