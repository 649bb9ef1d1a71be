package spec

import (
	"strings"

	"github.com/google/shlex"
)

// parseLines splits the ops text of a function into op lines. first is the line of the file where the text starts.
func parseLines(text, file string, first int) ([]Line, []error) {
	var lines []Line
	var errs []error
	for i, raw := range strings.Split(text, "\n") {
		pos := Pos{file, first + i}
		l, ok, err := parseLine(raw, pos)
		if err != nil {
			errs = append(errs, err)
		} else if ok {
			lines = append(lines, l)
		}
	}
	return lines, errs
}

// parseLine reads one op line; ok is false for an empty line or a comment.
func parseLine(raw string, pos Pos) (l Line, ok bool, err error) {
	words, err := shlex.Split(raw)
	if err != nil {
		return l, false, pos.Errorf("%v in %q", err, strings.TrimSpace(raw))
	}
	if len(words) == 0 {
		return l, false, nil
	}
	l = Line{Op: words[0], Text: strings.Join(strings.Fields(uncomment(raw)), " "), Pos: pos}
	if strings.HasPrefix(l.Op, "@") {
		l.Op, l.Call = l.Op[1:], true
	}
	if l.Op == "" || strings.Contains(l.Op, "=") {
		return l, false, pos.Errorf("%q does not start with an op", strings.TrimSpace(raw))
	}
	arrow := false
	for _, w := range words[1:] {
		key, value, isAttr := strings.Cut(w, "=")
		switch {
		case w == "->":
			if arrow {
				return l, false, pos.Errorf("%s: two arrows in one line", l.Op)
			}
			arrow = true
		case isAttr:
			if !isName(key) {
				return l, false, pos.Errorf("%s: %q is not a key", l.Op, key)
			}
			if _, dup := l.Attr(key); dup {
				return l, false, pos.Errorf("%s: key %s is given twice", l.Op, key)
			}
			l.Attrs = append(l.Attrs, Attr{key, value})
		case len(l.Attrs) > 0:
			return l, false, pos.Errorf("%s: value %q after the keys (a value with spaces needs quotes)", l.Op, w)
		case !isName(w):
			return l, false, pos.Errorf("%s: %q is not a name", l.Op, w)
		case arrow:
			l.Out = append(l.Out, w)
		default:
			l.In = append(l.In, w)
		}
	}
	if !arrow || len(l.Out) == 0 {
		return l, false, pos.Errorf("%s: no `-> output`", l.Op)
	}
	return l, true, nil
}

// uncomment cuts a trailing comment: a # at the start or after a space.
func uncomment(s string) string {
	if strings.HasPrefix(strings.TrimSpace(s), "#") {
		return ""
	}
	if i := strings.Index(s, " #"); i >= 0 {
		return s[:i]
	}
	return s
}

func isName(s string) bool {
	if s == "" || s == "_" {
		return s == "_"
	}
	for i, c := range s {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}
