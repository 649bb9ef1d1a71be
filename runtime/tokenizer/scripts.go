package tokenizer

import "unicode"

// preScripts cuts where the script changes. Han, Hiragana and Katakana count as one script; spaces and
// runes without a script of their own join whatever they stand beside.
type preScripts struct{}

func (preScripts) split(t text, out []text) ([]text, error) {
	start, last := 0, ""
	began := false
	for i, r := range t.s {
		s := scriptOf(r)
		// A cut needs a script that differs from the last one; the very first script cuts as well,
		// and what stands before it is lost, as in the reference.
		if s != "" && s != last {
			if began {
				out = append(out, t.slice(start, i))
			}
			start, began = i, true
		}
		if s != "" {
			last = s
		}
	}
	if began {
		out = append(out, t.slice(start, len(t.s)))
	}
	return out, nil
}

// scriptOf returns the name of the rune's script in Unicode 9.0, "" for a space or an unassigned rune.
func scriptOf(r rune) string {
	switch {
	case r == ' ':
		return ""
	case r == 0x30FC:
		return "Han"
	case laterScripts.has(r):
		return ""
	case r == 0x589 || r == 0x61C: // these two and the next have changed since
		return "Common"
	case r == 0x953 || r == 0x954:
		return "Devanagari"
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			if name == "Hiragana" || name == "Katakana" {
				return "Han"
			}
			return name
		}
	}
	return ""
}
