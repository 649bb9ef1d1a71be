package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// translator rewrites a pattern of Oniguruma's Ruby syntax for regexp2, whose syntax is .NET's: the
// character classes get the Unicode version of the reference, and nested classes and intersections,
// which .NET lacks, become plain lists of ranges.
// Source: https://github.com/kkos/oniguruma/blob/master/doc/RE
type translator struct {
	src   string
	pos   int
	folds bool // some part of the pattern ignores case
	out   strings.Builder
}

func translateRegex(source string) (string, error) {
	if !utf8.ValidString(source) {
		return "", fmt.Errorf("it is not UTF-8")
	}
	t := &translator{src: source}
	for t.pos < len(t.src) {
		if err := t.step(); err != nil {
			return "", fmt.Errorf("at byte %d: %w", t.pos, err)
		}
	}
	return t.out.String(), nil
}

// copy passes n bytes on.
func (t *translator) copy(n int) {
	n = min(n, len(t.src)-t.pos)
	t.out.WriteString(t.src[t.pos : t.pos+n])
	t.pos += n
}

func (t *translator) step() error {
	rest := t.src[t.pos:]
	switch {
	case rest[0] == '[':
		c, err := t.class(0)
		if err != nil {
			return err
		}
		t.out.WriteString(c.String())
	case strings.HasPrefix(rest, "(?#"):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return fmt.Errorf("a comment has no end")
		}
		t.pos += end + 1
	case strings.HasPrefix(rest, "(?"):
		t.flags()
	case rest[0] == '\\' && len(rest) > 1:
		return t.escape()
	default:
		_, n := utf8.DecodeRuneInString(rest)
		t.copy(n)
	}
	return nil
}

// flags passes "(?" and the flags behind it on. Ruby's m (the dot matches newlines) is .NET's s.
func (t *translator) flags() {
	t.copy(2)
	end := t.pos
	for end < len(t.src) && strings.IndexByte("imx-", t.src[end]) >= 0 {
		end++
	}
	if end < len(t.src) && (t.src[end] == ':' || t.src[end] == ')') {
		t.folds = t.folds || strings.Contains(t.src[t.pos:end], "i")
		t.out.WriteString(strings.ReplaceAll(t.src[t.pos:end], "m", "s"))
		t.pos = end
	}
}

// escape handles a backslash outside of classes.
func (t *translator) escape() error {
	switch c := t.src[t.pos+1]; c {
	case 'R':
		t.pos += 2
		t.out.WriteString(`(?>\r\n|[\n-\r\u0085\u2028\u2029])`)
		return nil
	case 'p', 'P', 'w', 'W', 'd', 'D', 'h', 'H':
		c := &classBuilder{}
		if err := t.classEscape(c, true); err != nil {
			return err
		}
		if t.folds { // a property by itself keeps its case
			t.out.WriteString("(?-i:" + c.String() + ")")
		} else {
			t.out.WriteString(c.String())
		}
		return nil
	case 'x':
		if strings.HasPrefix(t.src[t.pos:], `\x{`) {
			r, err := t.literalEscape()
			if err != nil {
				return err
			}
			t.out.WriteString("(?:" + quoteRune(r) + ")")
			return nil
		}
	}
	_, n := utf8.DecodeRuneInString(t.src[t.pos+1:])
	t.copy(1 + n)
	return nil
}

// class reads a bracketed class at t.pos.
func (t *translator) class(depth int) (*classBuilder, error) {
	if depth > 32 {
		return nil, fmt.Errorf("character classes are nested more than 32 deep")
	}
	c := &classBuilder{}
	t.pos++
	if strings.HasPrefix(t.src[t.pos:], "^") {
		c.negated = true
		t.pos++
	}
	for first := true; t.pos < len(t.src); first = false {
		rest := t.src[t.pos:]
		switch {
		case rest[0] == ']' && !first:
			t.pos++
			c.close()
			return c, nil
		case strings.HasPrefix(rest, "&&"):
			t.pos += 2
			c.intersect()
		case strings.HasPrefix(rest, "[:"):
			if err := t.posix(c); err != nil {
				return nil, err
			}
		case rest[0] == '[':
			inner, err := t.class(depth + 1)
			if err != nil {
				return nil, err
			}
			c.addSet(inner.set(), false, "")
		case rest[0] == '\\' && len(rest) > 1 && strings.IndexByte("pPwWdDhHsS", rest[1]) >= 0:
			if err := t.classEscape(c, false); err != nil {
				return nil, err
			}
		default:
			if err := t.classRange(c); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("a character class has no end")
}

// posix reads [:name:].
func (t *translator) posix(c *classBuilder) error {
	end := strings.Index(t.src[t.pos+2:], ":]")
	if end < 0 {
		return t.classRange(c)
	}
	name := t.src[t.pos+2 : t.pos+2+end]
	t.pos += end + 4
	negated := strings.HasPrefix(name, "^")
	set, ok := namedSet("posix " + strings.TrimPrefix(name, "^"))
	if !ok {
		return fmt.Errorf("the POSIX class %q is not known", name)
	}
	c.addSet(set, negated, "")
	return nil
}

// classEscape reads \p{..}, \w and the like, bare or inside a class.
func (t *translator) classEscape(c *classBuilder, bare bool) error {
	kind := t.src[t.pos+1]
	t.pos += 2
	name := `\` + strings.ToLower(string(kind))
	negated := kind >= 'A' && kind <= 'Z'
	if kind == 'p' || kind == 'P' {
		if !strings.HasPrefix(t.src[t.pos:], "{") {
			return fmt.Errorf(`\%c wants a property in braces`, kind)
		}
		end := strings.IndexByte(t.src[t.pos:], '}')
		if end < 0 {
			return fmt.Errorf(`\%c{ has no end`, kind)
		}
		name = t.src[t.pos+1 : t.pos+end]
		t.pos += end + 1
		if rest, ok := strings.CutPrefix(name, "^"); ok {
			name, negated = rest, !negated
		}
	}
	set, ok := namedSet(name)
	if !ok {
		return fmt.Errorf("the property %q is not known", name)
	}
	if bare && (kind == 'w' || kind == 'W' || strings.EqualFold(name, "word")) {
		// That ² ³ ¹ ¼ ½ ¾ are word characters, but not in classes, is Oniguruma's.
		set = union(set, runeRanges{{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}})
	}
	c.addSet(set, negated, plainName(name))
	return nil
}

// classRange reads a rune or a range of runes inside a class.
func (t *translator) classRange(c *classBuilder) error {
	lo, err := t.literalEscape()
	if err != nil {
		return err
	}
	hi := lo
	rest := t.src[t.pos:]
	if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' && rest[1] != '[' {
		t.pos++
		if hi, err = t.literalEscape(); err != nil {
			return err
		}
		if hi < lo {
			return fmt.Errorf("the range %q to %q is empty", lo, hi)
		}
	}
	c.addRange(lo, hi)
	return nil
}

// literalEscape reads one rune, which may be escaped.
func (t *translator) literalEscape() (rune, error) {
	r, n := utf8.DecodeRuneInString(t.src[t.pos:])
	if n == 0 {
		return 0, fmt.Errorf("the pattern ends inside a character class")
	}
	t.pos += n
	if r != '\\' {
		return r, nil
	}
	r, n = utf8.DecodeRuneInString(t.src[t.pos:])
	if n == 0 {
		return 0, fmt.Errorf("the pattern ends with a backslash")
	}
	t.pos += n
	if i := strings.IndexRune("abefnrtv", r); i >= 0 {
		return rune("\a\b\x1b\f\n\r\t\v"[i]), nil
	}
	switch {
	case r == 'x' && strings.HasPrefix(t.src[t.pos:], "{"):
		end := strings.IndexByte(t.src[t.pos:], '}')
		if end < 0 {
			return 0, fmt.Errorf(`\x{ has no end`)
		}
		v, err := hexRune(t.src[t.pos+1 : t.pos+end])
		t.pos += end + 1
		return v, err
	case r == 'x':
		return t.hexDigits(2)
	case r == 'u':
		return t.hexDigits(4)
	case r >= '0' && r <= '7':
		return t.octal(r - '0')
	case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
		return 0, fmt.Errorf(`the escape \%c is not known here`, r)
	}
	return r, nil
}
