package chat

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind says what sort of failure an Error reports.
type Kind int

// The kinds of Error.
const (
	// KindSyntax is a template that does not parse, or uses something that is not supported.
	KindSyntax Kind = iota + 1
	// KindRaised is the template's own raise_exception call.
	KindRaised
	// KindUndefined is an operation on an undefined value.
	KindUndefined
	// KindSecurity is an access the sandbox forbids.
	KindSecurity
	// KindRuntime is any other Python exception: TypeError, ValueError, ZeroDivisionError ...
	KindRuntime
	// KindLimit is a bound of Limits that was reached.
	KindLimit
	// KindInput is a wrong Input, found before or after the template ran.
	KindInput
	// KindInternal is a fault of this package.
	KindInternal
)

// String names the kind in a few words.
func (k Kind) String() string {
	names := [...]string{"", "syntax error", "raised by the template", "undefined value",
		"forbidden by the sandbox", "error", "limit reached", "wrong input", "internal error"}
	if k <= 0 || int(k) >= len(names) {
		return "error"
	}
	return names[k]
}

// Error is every failure of Parse and Render. Line and Col count from 1, Col in code points; both are
// 0 where no place in the template is to blame.
type Error struct {
	Kind      Kind
	Msg       string
	Line, Col int
}

// Error gives "chat template LINE:COL: KIND: MSG".
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("chat template: %s: %s", e.Kind, e.Msg)
	}
	return fmt.Sprintf("chat template %d:%d: %s: %s", e.Line, e.Col, e.Kind, e.Msg)
}

// bail carries an error from deep inside the parser or evaluator to the recover in Parse or Render.
type bail struct {
	kind Kind
	msg  string
	pos  int
}

// catch turns a bail into *Error; any other panic becomes KindInternal, so that a caller serving
// requests never dies of a template. src is the source with normalised line ends.
func catch(src string, pos *int, err *error) {
	r := recover()
	if r == nil {
		return
	}
	b, ok := r.(bail)
	if !ok {
		b = bail{kind: KindInternal, msg: fmt.Sprint(r), pos: -1}
		if pos != nil {
			b.pos = *pos
		}
	}
	e := &Error{Kind: b.kind, Msg: b.msg}
	if b.pos >= 0 {
		e.Line, e.Col = lineCol(src, b.pos)
	}
	*err = e
}

// lineCol converts a byte offset to a line and a column, both from 1.
func lineCol(src string, pos int) (line, col int) {
	pos = min(pos, len(src))
	before := src[:pos]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}
