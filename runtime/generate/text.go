package generate

import "strings"

// stream turns the tokens of one row into text that may be shown: what could become a stop string waits.
type stream struct {
	push  func(id int32) string // the tokenizer's stream
	flush func() string
	stop  []string
	wait  string // decoded, not shown
}

// add takes a token and returns the text to show; done is set when a stop string is complete.
func (s *stream) add(id int32) (text string, done bool) {
	s.wait += s.push(id)
	return s.take()
}

// end returns the text that still waits. It may hold a stop string that only the last token's text completes.
func (s *stream) end() string {
	s.wait += s.flush()
	text, done := s.take()
	if !done {
		text += s.wait
	}
	s.wait = ""
	return text
}

// take returns what of the waiting text is certain.
func (s *stream) take() (text string, done bool) {
	at := -1
	for _, stop := range s.stop {
		if i := strings.Index(s.wait, stop); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at >= 0 {
		text, s.wait = s.wait[:at], ""
		return text, true
	}
	keep := 0 // the longest end of the text that begins a stop string
	for _, stop := range s.stop {
		for n := min(len(stop)-1, len(s.wait)); n > keep; n-- {
			if strings.HasSuffix(s.wait, stop[:n]) {
				keep = n
			}
		}
	}
	cut := len(s.wait) - keep
	text, s.wait = s.wait[:cut], s.wait[cut:]
	return text, false
}
