package tokenizer

import (
	"encoding/json"
	"fmt"
)

// normalizer rewrites a piece of text in place.
type normalizer interface {
	normalize(t *text) error
}

func parseNormalizer(raw json.RawMessage) (normalizer, error) {
	if isNull(raw) {
		return nil, nil
	}
	kind, err := typeOf(raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "Sequence":
		members, err := sequence(raw, "normalizers", parseNormalizer)
		return normSequence(members), err
	case "Precompiled":
		return parsePrecompiled(raw)
	case "NFC", "NFD", "NFKC", "NFKD":
		return normForm(kind), nil
	}
	if f, ok := plainNormalizers[kind]; ok {
		return f, nil
	}
	var n normalizer
	switch kind {
	case "BertNormalizer":
		n = &normBert{CleanText: true, HandleChinese: true, Lowercase: true}
	case "Prepend":
		n = &normPrepend{}
	case "Strip":
		n = &normStrip{StripLeft: true, StripRight: true}
	case "Replace":
		n = &normReplace{}
	default:
		return nil, fmt.Errorf("normalizer type %q is not known", kind)
	}
	if err := json.Unmarshal(raw, n); err != nil {
		return nil, fmt.Errorf("normalizer %s: %w", kind, err)
	}
	return n, nil
}

// plainNormalizers are those without options.
var plainNormalizers = map[string]normFunc{
	"Lowercase":    func(t *text) { t.expand(lower) },
	"StripAccents": func(t *text) { t.filter(func(r rune) bool { return !isCombining(r) }) },
	"Nmt":          nmt,
	"ByteLevel":    (*text).toByteLevel,
}

type normFunc func(t *text)

func (f normFunc) normalize(t *text) error { f(t); return nil }

type normSequence []normalizer

func (q normSequence) normalize(t *text) error {
	for _, n := range q {
		if err := n.normalize(t); err != nil {
			return err
		}
		if err := t.mayGrow(len(t.s)); err != nil {
			return err
		}
	}
	return nil
}

type normPrepend struct{ Prepend string }

func (n *normPrepend) normalize(t *text) error { t.prepend(n.Prepend); return nil }

type normStrip struct {
	StripLeft  bool `json:"strip_left"`
	StripRight bool `json:"strip_right"`
}

func (n *normStrip) normalize(t *text) error { t.strip(n.StripLeft, n.StripRight); return nil }

type normReplace struct {
	Pattern pattern
	Content string
}

func (n *normReplace) normalize(t *text) error {
	m, err := n.Pattern.matches(t.s)
	if err != nil {
		return err
	}
	if err := t.mayGrow(len(m) * len(n.Content)); err != nil {
		return err
	}
	t.replace(m, n.Content)
	return nil
}

// nmt drops control characters and turns other white space into a space.
// Source: sentencepiece, builder.cc, BuildNmtNFKCMap.
func nmt(t *text) {
	t.filter(func(r rune) bool {
		switch {
		case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			return false
		}
		return true
	})
	t.expand(func(r rune, buf []rune) []rune {
		switch {
		case r == 9, r == 0xA, r == 0xC, r == 0xD, r == 0x1680, r >= 0x200B && r <= 0x200F,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			return append(buf, ' ')
		}
		return append(buf, r)
	})
}

// normBert is the text cleaning of BERT.
// Source: https://github.com/google-research/bert/blob/master/tokenization.py
type normBert struct {
	CleanText     bool  `json:"clean_text"`
	HandleChinese bool  `json:"handle_chinese_chars"`
	StripAccents  *bool `json:"strip_accents"`
	Lowercase     bool
}

func (n *normBert) normalize(t *text) error {
	if n.CleanText {
		t.filter(func(r rune) bool { return r != 0 && r != 0xFFFD && !isBertControl(r) })
		t.expand(func(r rune, buf []rune) []rune {
			if isSpace(r) {
				r = ' '
			}
			return append(buf, r)
		})
	}
	if n.HandleChinese {
		t.expand(func(r rune, buf []rune) []rune {
			if isChinese(r) {
				return append(buf, ' ', r, ' ')
			}
			return append(buf, r)
		})
	}
	if n.StripAccents == nil && n.Lowercase || n.StripAccents != nil && *n.StripAccents {
		if err := normForm("NFD").normalize(t); err != nil {
			return err
		}
		t.filter(func(r rune) bool { return !isNonspacing(r) })
	}
	if n.Lowercase {
		t.expand(lower)
	}
	return nil
}

// isChinese tells the blocks of CJK unified ideographs.
func isChinese(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}
