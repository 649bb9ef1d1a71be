package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// AddedToken is a string that is cut out of the text before the model sees it.
type AddedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only where no word character stands beside it
	LStrip     bool   `json:"lstrip"`      // takes the white space before it
	RStrip     bool   `json:"rstrip"`      // takes the white space behind it
	Normalized bool   `json:"normalized"`  // looked for after normalization, in its normalized form
	Special    bool   `json:"special"`     // left out by Decode with skipSpecial
}

// addedSet holds the added tokens and finds them.
type addedSet struct {
	list       []AddedToken // in the order of the file
	byContent  map[string]int32
	byID       map[int32]*AddedToken
	special    map[string]bool
	display    map[int32]string // what decoding shows where it is not the content
	raw, after matcher          // tokens to find before and after normalization
}

// newAddedSet gives every token its id: the model's where the vocabulary has the string, else the next
// free one, whatever the file says. Source: add_tokens of the tokenizers library, added_vocabulary.rs
func newAddedSet(tokens []AddedToken, v *vocab, n normalizer) (*addedSet, error) {
	a := &addedSet{byContent: map[string]int32{}, byID: map[int32]*AddedToken{},
		special: map[string]bool{}, display: map[int32]string{}}
	next := int32(v.size)
	for _, t := range tokens {
		if t.Content == "" {
			continue
		}
		if id, ok := a.byContent[t.Content]; ok {
			t.ID = id
		} else if id, ok := v.lookup(t.Content); ok {
			t.ID = id
		} else {
			t.ID = next
			next++
		}
		a.byContent[t.Content] = t.ID
		if t.Special {
			a.special[t.Content] = true
		}
		if t.Normalized && n != nil {
			x := text{s: t.Content, whole: len(t.Content)}
			if err := n.normalize(&x); err != nil {
				return nil, err
			}
			if x.s != t.Content {
				a.display[t.ID] = x.s
			}
		}
		kept := t
		a.byID[t.ID] = &kept
		a.list = append(a.list, t)
	}
	a.index()
	return a, nil
}

func (a *addedSet) index() {
	var raw, after []trieKey
	for i := range a.list {
		t := a.byID[a.list[i].ID]
		switch s, shown := a.display[t.ID]; {
		case !t.Normalized:
			raw = append(raw, trieKey{t.Content, t.ID})
		case shown && s != "":
			after = append(after, trieKey{s, t.ID})
		case !shown:
			after = append(after, trieKey{t.Content, t.ID})
		}
	}
	a.raw, a.after = newMatcher(raw), newMatcher(after)
}

// matcher finds the leftmost longest of a set of strings.
type matcher struct {
	trie  *trie
	first [256]bool // bytes that a string may begin with
}

func newMatcher(keys []trieKey) matcher {
	var m matcher
	if len(keys) == 0 {
		return m
	}
	m.trie = newTrie(keys)
	for b := range m.first {
		m.first[b] = m.trie.root[b] != 0
	}
	return m
}

// find returns the first match at or behind from.
func (m *matcher) find(s string, from int) (span, int32, bool) {
	for i := from; i < len(s); i++ {
		if !m.first[s[i]] {
			continue
		}
		if n, id := m.trie.longest(s[i:]); n > 0 {
			return span{i, i + n}, id, true
		}
	}
	return span{}, 0, false
}

// cut calls piece for every part of t in order, with the id of an added token or -1.
func (a *addedSet) cut(m *matcher, t text, piece func(p text, id int32) error) error {
	if m.trie == nil {
		if t.s == "" {
			return nil
		}
		return piece(t, -1)
	}
	last := 0
	for at := 0; ; {
		found, id, ok := m.find(t.s, at)
		if !ok {
			break
		}
		at = found.end
		start, end, ok := a.adjust(t.s, found, last, a.byID[id])
		if !ok {
			continue
		}
		if last < start {
			if err := piece(t.slice(last, start), -1); err != nil {
				return err
			}
		}
		if start < end {
			if err := piece(t.slice(start, end), id); err != nil {
				return err
			}
		}
		last = end
	}
	if last < len(t.s) {
		return piece(t.slice(last, len(t.s)), -1)
	}
	return nil
}

// adjust widens a match by the spaces that the token takes; false means that it is part of a word.
func (a *addedSet) adjust(s string, m span, last int, t *AddedToken) (start, end int, ok bool) {
	start, end = m.start, m.end
	if t.SingleWord {
		before, _ := utf8.DecodeLastRuneInString(s[:start])
		behind, _ := utf8.DecodeRuneInString(s[end:])
		if start > 0 && isWord(before) || end < len(s) && isWord(behind) {
			return 0, 0, false
		}
	}
	if t.LStrip {
		start = max(len(strings.TrimRightFunc(s[:start], isSpace)), last)
	}
	if t.RStrip {
		end = len(s) - len(strings.TrimLeftFunc(s[end:], isSpace))
	}
	return start, end, true
}

// fixedAdded is newAddedSet for tokens whose ids are right as they are.
func fixedAdded(tokens []AddedToken, v *vocab) (*addedSet, error) {
	a := &addedSet{byContent: map[string]int32{}, byID: map[int32]*AddedToken{},
		special: map[string]bool{}, display: map[int32]string{}}
	for _, t := range tokens {
		s, taken := v.token(t.ID)
		if taken && s != t.Content || a.byID[t.ID] != nil || t.Content == "" || t.ID < 0 {
			return nil, fmt.Errorf("special token %q: the id %d is taken or wrong, or the token is empty",
				t.Content, t.ID)
		}
		a.byContent[t.Content] = t.ID
		a.byID[t.ID] = &t
		a.special[t.Content] = t.Special
		a.list = append(a.list, t)
	}
	a.index()
	return a, nil
}
