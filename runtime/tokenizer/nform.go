package tokenizer

import (
	"sort"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normForm is one of the Unicode normalization forms NFC, NFD, NFKC and NFKD, with the data of Unicode
// 9.0, which the reference library has. Source: Unicode Standard Annex 15.
type normForm string

func (f normForm) form() norm.Form {
	return map[normForm]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}[f]
}

func (f normForm) normalize(t *text) error {
	form := f.form()
	if isASCII(t.s) || form.IsNormalString(t.s) {
		return nil
	}
	if !t.track && !unusual(t.s) {
		t.s = form.String(t.s)
		return nil
	}
	changes := decompose(t.s, form == norm.NFKC || form == norm.NFKD)
	if form == norm.NFC || form == norm.NFKC {
		changes = compose(changes)
	}
	t.rewrite(changes, 0)
	return nil
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// combiningClass returns the canonical combining class.
func combiningClass(r rune) uint8 {
	if r < 0x300 {
		return 0
	}
	if laterCombining.has(r) {
		return 0
	}
	var b [utf8.UTFMax]byte
	return norm.NFD.Properties(b[:utf8.EncodeRune(b[:], r)]).CCC()
}

// unusual tells whether the norm package would not give the right result: it has later Unicode data, and
// after 30 marks in a row it puts a U+034F (the Stream-Safe format), which no tokenizer does.
func unusual(s string) bool {
	run := 0
	for _, r := range s {
		switch {
		case r < 0x300:
			run = 0
		case laterDecomposed.has(r) || laterCombining.has(r) || r == 0x11930:
			return true
		case combiningClass(r) == 0:
			run = 0
		default:
			if run++; run > 25 {
				return true
			}
		}
	}
	return false
}

// decompose gives the full decomposition in canonical order.
func decompose(s string, compatible bool) []change {
	form := norm.NFD
	if compatible {
		form = norm.NFKD
	}
	out := make([]change, 0, len(s))
	for i, r := range s {
		if r < 0x80 || laterDecomposed.has(r) {
			out = append(out, change{r: r})
			continue
		}
		first := true
		for _, d := range form.String(s[i : i+utf8.RuneLen(r)]) {
			c := change{r: d}
			if !first {
				c.n = 1
			}
			out = append(out, c)
			first = false
		}
	}
	for i := 0; i < len(out); i++ {
		j := i
		for j < len(out) && combiningClass(out[j].r) != 0 {
			j++
		}
		if j > i+1 {
			marks := out[i:j]
			sort.SliceStable(marks, func(a, b int) bool {
				return combiningClass(marks[a].r) < combiningClass(marks[b].r)
			})
		}
		i = max(i, j-1)
	}
	return out
}

// compose joins what can be joined after decompose.
func compose(in []change) []change {
	var out []change
	starter, last := -1, uint8(0)
	for _, c := range in {
		class := combiningClass(c.r)
		if starter >= 0 && (last < class || last == 0 && len(out)-1 == starter) {
			if r, ok := composePair(out[starter].r, c.r); ok {
				out[starter].r = r
				out[starter].n += c.n - 1
				continue
			}
		}
		out = append(out, c)
		if class == 0 {
			starter = len(out) - 1
		}
		last = class
	}
	return out
}

// composePair returns the primary composite of two runes.
func composePair(a, b rune) (rune, bool) {
	if a < 0x80 && b < 0x300 {
		return 0, false
	}
	if laterCombining.has(b) || b == 0x11930 { // U+11938 is of Unicode 13.0
		return 0, false
	}
	s := norm.NFC.String(string([]rune{a, b}))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s) && n > 0
}
