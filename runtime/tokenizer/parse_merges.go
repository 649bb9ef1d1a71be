package tokenizer

import (
	"bytes"
	"fmt"
	"math"
)

// readMerges reads ["a b", ...] or [["a", "b"], ...].
func (m *bpe) readMerges(s *scanner) error {
	var bufA, bufB, joined []byte
	return s.array(func() error {
		var a, b []byte
		var err error
		if s.peek() == '[' {
			a, b, err = readPair(s, &bufA, &bufB)
		} else if a, err = s.str(bufA); err == nil {
			if bytes.HasPrefix(a, []byte("#version")) {
				return nil
			}
			var ok bool
			if a, b, ok = bytes.Cut(a, []byte(" ")); !ok || bytes.IndexByte(b, ' ') >= 0 {
				err = s.errorf("merge %d is not two tokens with a space between them", len(m.pairs))
			}
		}
		if err != nil {
			return err
		}
		if joined, err = m.addMerge(a, b, joined); err != nil {
			return s.errorf("%v", err)
		}
		return nil
	})
}

func readPair(s *scanner, bufA, bufB *[]byte) (a, b []byte, err error) {
	n := 0
	err = s.array(func() error {
		var err error
		switch n++; n {
		case 1:
			a, err = s.str(*bufA)
		case 2:
			b, err = s.str(*bufB)
		default:
			err = s.errorf("a merge has more than two tokens")
		}
		return err
	})
	if err == nil && n != 2 {
		err = s.errorf("a merge has %d tokens, wanted two", n)
	}
	return a, b, err
}

// addMerge appends the rule that joins a and b. joined is scratch memory.
func (m *bpe) addMerge(a, b, joined []byte) ([]byte, error) {
	rank := len(m.pairs)
	if rank >= noMerge {
		return joined, fmt.Errorf("there are more than %d merges", math.MaxInt32-1)
	}
	left, ok := m.vocab.lookupBytes(a)
	if !ok {
		return joined, fmt.Errorf("merge %d: %q is not in the vocabulary", rank, a)
	}
	right, ok := m.vocab.lookupBytes(b)
	if !ok {
		return joined, fmt.Errorf("merge %d: %q is not in the vocabulary", rank, b)
	}
	if len(b) < len(m.prefix) {
		return joined, fmt.Errorf("merge %d: %q is shorter than continuing_subword_prefix %q", rank, b, m.prefix)
	}
	joined = append(append(joined[:0], a...), b[len(m.prefix):]...)
	id, ok := m.vocab.lookupBytes(joined)
	if !ok {
		return joined, fmt.Errorf("merge %d makes %q, which is not in the vocabulary", rank, joined)
	}
	m.pairs = append(m.pairs, [2]int32{left, right})
	m.merges.set(left, right, mergeRule{int32(rank), id})
	return joined, nil
}
