package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder turns the strings of tokens into pieces of text, which are joined in the end. It may change
// the slice it is given.
type decoder interface {
	decode(tokens []string) []string
}

func parseDecoder(raw json.RawMessage) (decoder, error) {
	if isNull(raw) {
		return nil, nil
	}
	kind, err := typeOf(raw)
	if err != nil {
		return nil, err
	}
	var d decoder
	switch kind {
	case "Sequence":
		members, err := sequence(raw, "decoders", parseDecoder)
		return decSequence(members), err
	case "Metaspace":
		return parseMetaspace(raw)
	case "ByteLevel":
		return decFunc(decodeByteLevel), nil
	case "ByteFallback":
		return decFunc(decodeByteFallback), nil
	case "Fuse":
		return decFunc(func(t []string) []string { return []string{strings.Join(t, "")} }), nil
	case "BPEDecoder":
		d = &decBPE{Suffix: "</w>"}
	case "WordPiece":
		d = &decWordPiece{Prefix: "##", Cleanup: true}
	case "CTC":
		d = &decCTC{PadToken: "<pad>", Delimiter: "|", Cleanup: true}
	case "Replace":
		d = &normReplace{}
	case "Strip":
		d = &decStrip{}
	default:
		return nil, fmt.Errorf("decoder type %q is not known", kind)
	}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("decoder %s: %w", kind, err)
	}
	return d, nil
}

type decFunc func([]string) []string

func (f decFunc) decode(tokens []string) []string { return f(tokens) }

type decSequence []decoder

func (q decSequence) decode(tokens []string) []string {
	for _, d := range q {
		tokens = d.decode(tokens)
	}
	return tokens
}

func decodeByteLevel(tokens []string) []string {
	var b []byte
	for _, tok := range tokens {
		b = appendFromByteLevel(b, tok)
	}
	return []string{clean(string(b))}
}

// decodeByteFallback joins runs of <0x..> tokens; a run that is not UTF-8 gives one U+FFFD a byte.
func decodeByteFallback(tokens []string) []string {
	out := make([]string, 0, len(tokens))
	var run []byte
	flush := func() {
		if utf8.Valid(run) && len(run) > 0 {
			out = append(out, string(run))
		} else {
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, tok := range tokens {
		if b, ok := fallbackByte(tok); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, tok)
	}
	flush()
	return out
}

// fallbackByte reads a token such as <0x0A>.
func fallbackByte(tok string) (byte, bool) {
	if len(tok) != 6 || tok[:3] != "<0x" || tok[5] != '>' {
		return 0, false
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(tok[3:5], "+"), 16, 8)
	return byte(v), err == nil
}

type decBPE struct{ Suffix string }

func (d *decBPE) decode(tokens []string) []string {
	for i, tok := range tokens {
		space := " "
		if i == len(tokens)-1 {
			space = ""
		}
		tokens[i] = replaceAll(tok, d.Suffix, space)
	}
	return tokens
}

// replaceAll is strings.ReplaceAll; both put the new string between all runes where old is empty.
func replaceAll(s, old, with string) string { return strings.ReplaceAll(s, old, with) }

type decWordPiece struct {
	Prefix  string
	Cleanup bool
}

func (d *decWordPiece) decode(tokens []string) []string {
	for i, tok := range tokens {
		if i > 0 {
			if rest, ok := strings.CutPrefix(tok, d.Prefix); ok {
				tok = rest
			} else {
				tok = " " + tok
			}
		}
		if d.Cleanup {
			tok = cleanup(tok)
		}
		tokens[i] = tok
	}
	return tokens
}

// cleanup takes away the spaces before punctuation and contractions, one rule after the other.
func cleanup(s string) string {
	for _, p := range [...][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"},
		{" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}} {
		s = strings.ReplaceAll(s, p[0], p[1])
	}
	return s
}

// decCTC collapses repeats and drops the blank of connectionist temporal classification.
type decCTC struct {
	PadToken  string `json:"pad_token"`
	Delimiter string `json:"word_delimiter_token"`
	Cleanup   bool
}

func (d *decCTC) decode(tokens []string) []string {
	var out []string
	for i, tok := range tokens {
		if i > 0 && tok == tokens[i-1] {
			continue
		}
		s := replaceAll(tok, d.PadToken, "")
		if d.Cleanup {
			s = replaceAll(cleanup(s), d.Delimiter, " ")
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// decode makes Replace a decoder too. A pattern that runs out of time leaves the token as it is.
func (n *normReplace) decode(tokens []string) []string {
	for i, tok := range tokens {
		t := text{s: tok, whole: len(tok)}
		if n.normalize(&t) == nil {
			tokens[i] = t.s
		}
	}
	return tokens
}

// decStrip takes up to Start and Stop times the content from the ends of every token.
type decStrip struct {
	Content     runeValue
	Start, Stop int
}

func (d *decStrip) decode(tokens []string) []string {
	c := string(rune(d.Content))
	for i, tok := range tokens {
		for k := 0; k < d.Start && strings.HasPrefix(tok, c); k++ {
			tok = tok[len(c):]
		}
		for k := 0; k < d.Stop && strings.HasSuffix(tok, c); k++ {
			tok = tok[:len(tok)-len(c)]
		}
		tokens[i] = tok
	}
	return tokens
}
