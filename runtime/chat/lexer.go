package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokKind classifies tokens.
type tokKind int

const (
	tokEOF tokKind = iota
	tokData
	tokVarBegin
	tokVarEnd
	tokBlockBegin
	tokBlockEnd
	tokName
	tokString
	tokInt
	tokFloat
	tokOp
	tokBad // text says what is wrong; an error only if the parser gets here
)

// token is one lexical unit. text is the name, operator, unescaped string or data; val a number.
type token struct {
	kind tokKind
	text string
	val  Value
	pos  int
}

func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "end of template"
	case tokData:
		return "template text"
	case tokVarBegin:
		return "'{{'"
	case tokVarEnd:
		return "end of print statement '}}'"
	case tokBlockBegin:
		return "'{%'"
	case tokBlockEnd:
		return "end of statement block '%}'"
	}
	return fmt.Sprintf("%q", t.text)
}

// lexer splits a template into tokens, applying trim_blocks, lstrip_blocks and the - and + signs.
type lexer struct {
	src       string
	pos       int
	toks      []token
	lineStart bool // the last piece ended in a newline, or nothing came yet
}

// tags that open something, in the order Jinja tries them (longest first, then by kind).
const (
	commentOpen = "{#"
	blockOpen   = "{%"
	varOpen     = "{{"
)

// normalize makes all line ends \n and drops one at the very end, as Jinja does.
func normalize(src string) string {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.ReplaceAll(src, "\r", "\n")
	return strings.TrimSuffix(src, "\n")
}

// lex splits a normalised source. A fault ends the list, so that the parser can report an earlier one.
func lex(src string) []token {
	lx := &lexer{src: src, lineStart: true}
	func() {
		defer func() {
			if r := recover(); r != nil {
				b, ok := r.(bail)
				if !ok {
					panic(r)
				}
				lx.emit(token{kind: tokBad, text: b.msg, pos: b.pos})
			}
		}()
		for lx.root() {
		}
	}()
	lx.emit(token{kind: tokEOF, pos: len(src)})
	return lx.toks
}

func (lx *lexer) emit(t token) { lx.toks = append(lx.toks, t) }

func (lx *lexer) fail(pos int, format string, a ...any) {
	panic(bail{kind: KindSyntax, msg: fmt.Sprintf(format, a...), pos: pos})
}

// root handles text up to the next tag, and that tag.
func (lx *lexer) root() bool {
	rest := lx.src[lx.pos:]
	if rest == "" {
		return false
	}
	open := nextOpen(rest)
	if open < 0 {
		lx.data(rest, lx.pos)
		lx.pos = len(lx.src)
		return true
	}
	start := lx.pos + open
	tag := lx.src[start : start+2]
	sign := signAt(lx.src, start+2)
	lx.data(lx.strip(rest[:open], tag, sign), lx.pos)
	lx.pos = start + 2 + len(sign)
	switch tag {
	case commentOpen:
		lx.comment(start)
	case varOpen:
		lx.emit(token{kind: tokVarBegin, pos: start})
		lx.code(start, "}}", tokVarEnd)
	default:
		if body, ok := lx.rawBegin(); ok {
			lx.raw(start, body)
			return true
		}
		lx.emit(token{kind: tokBlockBegin, pos: start})
		lx.code(start, "%}", tokBlockEnd)
	}
	return true
}

func nextOpen(s string) int {
	for i := 0; i+1 < len(s); i++ {
		j := strings.IndexByte(s[i:], '{')
		if j < 0 {
			return -1
		}
		i += j
		if i+1 < len(s) && strings.IndexByte("#%{", s[i+1]) >= 0 {
			return i
		}
	}
	return -1
}

func signAt(s string, i int) string {
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		return s[i : i+1]
	}
	return ""
}

func (lx *lexer) data(s string, pos int) {
	if s != "" {
		lx.emit(token{kind: tokData, text: s, pos: pos})
	}
}

// strip removes the white space before a tag: all of it after "{-", and the indentation of a block or
// comment that starts its line (lstrip_blocks) unless "+" forbids.
func (lx *lexer) strip(text, tag, sign string) string {
	if sign == "-" {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == "+" || tag == varOpen {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || lx.lineStart) && strings.TrimLeftFunc(text[line:], isSpace) == "" {
		return text[:line]
	}
	return text
}

// closeTag handles the white space after a tag that ends at end: after "-" all of it goes, after a
// plain block or comment one newline (trim_blocks).
func (lx *lexer) closeTag(end int, sign byte, trim bool) {
	switch {
	case sign == '-':
		rest := lx.src[end:]
		end += len(rest) - len(strings.TrimLeftFunc(rest, isSpace))
	case sign != '+' && trim && end < len(lx.src) && lx.src[end] == '\n':
		end++
	}
	lx.pos = end
	lx.lineStart = end > 0 && lx.src[end-1] == '\n'
}

func (lx *lexer) comment(start int) {
	i := strings.Index(lx.src[lx.pos:], "#}")
	if i < 0 && lx.pos == len(lx.src) {
		return // Jinja lets a template end in an opening mark
	}
	if i < 0 {
		lx.fail(start, "missing end of comment tag: no '#}' after this '{#'")
	}
	end := lx.pos + i
	sign := byte(0)
	if i > 0 {
		sign = lx.src[end-1]
	}
	lx.closeTag(end+2, sign, true)
}

// rawBegin recognises the rest of {% raw %} and gives where its body starts.
func (lx *lexer) rawBegin() (int, bool) {
	s := strings.TrimLeftFunc(lx.src[lx.pos:], isSpace)
	if !strings.HasPrefix(s, "raw") {
		return 0, false
	}
	s = strings.TrimLeftFunc(s[3:], isSpace)
	if rest, ok := strings.CutPrefix(s, "-%}"); ok {
		return len(lx.src) - len(strings.TrimLeftFunc(rest, isSpace)), true
	}
	if rest, ok := strings.CutPrefix(s, "%}"); ok {
		return len(lx.src) - len(rest), true
	}
	return 0, false
}

// raw copies text up to {% endraw %}.
func (lx *lexer) raw(start, body int) {
	lx.lineStart = lx.src[body-1] == '\n'
	for at := body; ; {
		i := strings.Index(lx.src[at:], blockOpen)
		if i < 0 && body == len(lx.src) {
			lx.pos = body
			return
		}
		if i < 0 {
			lx.fail(start, "missing end of raw directive: no '{%% endraw %%}'")
		}
		open := at + i
		sign := signAt(lx.src, open+2)
		s := strings.TrimLeftFunc(lx.src[open+2+len(sign):], isSpace)
		at = open + 2
		if !strings.HasPrefix(s, "endraw") {
			continue
		}
		s = strings.TrimLeftFunc(s[6:], isSpace)
		close := byte(0)
		if s != "" && (s[0] == '-' || s[0] == '+') {
			close, s = s[0], s[1:]
		}
		if !strings.HasPrefix(s, "%}") {
			continue
		}
		lx.data(lx.strip(lx.src[body:open], blockOpen, sign), body)
		lx.closeTag(len(lx.src)-len(s)+2, close, true)
		return
	}
}

// isSpace is Python's \s for str patterns.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// code splits the inside of a tag until its closing mark, which counts only outside brackets.
func (lx *lexer) code(start int, closer string, kind tokKind) {
	var open []byte
	for {
		rest := lx.src[lx.pos:]
		if rest == "" {
			lx.emit(token{kind: tokEOF, pos: start})
			return
		}
		if len(open) == 0 && lx.tagEnd(closer, kind) {
			return
		}
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case isSpace(r):
			lx.pos += n
		case r >= '0' && r <= '9':
			lx.number()
		case r == '_' || unicode.IsLetter(r) || r > 0x7f && isWord(r):
			lx.name()
		case r == '"' || r == '\'':
			lx.str(byte(r))
		default:
			open = lx.operator(open)
		}
	}
}

// tagEnd recognises the closing mark with its sign.
func (lx *lexer) tagEnd(closer string, kind tokKind) bool {
	rest := lx.src[lx.pos:]
	sign := byte(0)
	if rest[0] == '-' || rest[0] == '+' && kind == tokBlockEnd {
		sign = rest[0]
		rest = rest[1:]
	}
	if !strings.HasPrefix(rest, closer) {
		return false
	}
	lx.emit(token{kind: kind, pos: lx.pos})
	lx.closeTag(len(lx.src)-len(rest)+2, sign, kind == tokBlockEnd)
	return true
}
