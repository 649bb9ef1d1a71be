package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Stream decodes token after token, as text is generated. It never shows a part of a character: what
// may still change waits for the next token. One goroutine may use it.
type Stream struct {
	SkipSpecial bool // leave special tokens out; Tokenizer.Stream sets it
	tok         *Tokenizer
	ids         []int32 // the last tokens, with enough before them for spaces to come out right
	context     int     // how many of ids have been shown
	shown       string  // the text of ids[:context]
}

// maxHeld is how many tokens may wait. A character has at most four bytes, thus four tokens; runs of
// byte tokens that are no UTF-8 would otherwise wait for ever.
const maxHeld = 64

// Stream returns a stream that leaves special tokens out.
func (t *Tokenizer) Stream() *Stream { return &Stream{tok: t, SkipSpecial: true} }

// Push takes the next token and returns the text that has become certain, which is often empty.
func (s *Stream) Push(id int32) string {
	if _, ok := s.tok.shown(id); !ok || s.SkipSpecial && s.tok.IsSpecial(id) {
		return ""
	}
	s.ids = append(s.ids, id)
	full := s.tok.Decode(s.ids, s.SkipSpecial)
	waits := len(full) <= len(s.shown) || strings.HasSuffix(full, "\uFFFD")
	if waits && len(s.ids)-s.context < maxHeld {
		return ""
	}
	return s.take(full)
}

// Flush returns the text that still waits, with U+FFFD for an unfinished character, and starts anew.
func (s *Stream) Flush() string {
	out := ""
	if s.context < len(s.ids) {
		out = s.take(s.tok.Decode(s.ids, s.SkipSpecial))
	}
	s.ids, s.context, s.shown = nil, 0, ""
	return out
}

// maxContext bounds the tokens kept to decode the next one beside.
const maxContext = 4 * maxHeld

// take returns what full has beyond the text shown, and forgets all but the newest tokens. It keeps
// more of them while they are all space, since decoders drop spaces at the beginning.
func (s *Stream) take(full string) string {
	n := 0
	for n < len(full) && n < len(s.shown) && full[n] == s.shown[n] {
		n++
	}
	for n > 0 && n < len(full) && !utf8.RuneStart(full[n]) {
		n--
	}
	newest := s.tok.Decode(s.ids[s.context:], s.SkipSpecial)
	if strings.TrimSpace(newest) == "" && len(s.ids) < maxContext {
		s.shown = full
	} else {
		s.ids = append(s.ids[:0], s.ids[s.context:]...)
		s.shown = newest
	}
	s.context = len(s.ids)
	return full[n:]
}
