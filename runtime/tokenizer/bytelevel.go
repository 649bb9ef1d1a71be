package tokenizer

import "unicode/utf8"

// byteLevel maps every byte to a printable rune, so that any bytes can stand in a vocabulary of strings.
// Source: bytes_to_unicode of https://github.com/openai/gpt-2/blob/master/src/encoder.py
type byteLevelTable struct {
	runes [256]rune
	bytes [324]int16 // the inverse; -1 where the rune stands for no byte
}

var byteLevel = func() (t byteLevelTable) {
	for i := range t.bytes {
		t.bytes[i] = -1
	}
	next := rune(256)
	for b := range t.runes {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r = next
			next++
		}
		t.runes[b] = r
		t.bytes[r] = int16(b)
	}
	return t
}()

// byteLevelString appends the byte-level form of s.
func appendByteLevel(out []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		out = utf8.AppendRune(out, byteLevel.runes[s[i]])
	}
	return out
}

// appendFromByteLevel appends the bytes that a byte-level token stands for; a token with any other rune
// stands for itself.
func appendFromByteLevel(out []byte, tok string) []byte {
	n := len(out)
	for _, r := range tok {
		if int(r) >= len(byteLevel.bytes) || byteLevel.bytes[r] < 0 {
			return append(out[:n], tok...)
		}
		out = append(out, byte(byteLevel.bytes[r]))
	}
	return out
}
