package tokenizer

import "fmt"

// token is what a model makes of a part of a word.
type token struct {
	id         int32
	start, end int    // bytes of the word
	text       string // the token's string where it is not the vocabulary's
}

// model splits words into tokens. Models are read-only; the work area is the caller's.
type model interface {
	// tokenize appends the tokens of a word that is not empty.
	tokenize(word string, w *work, out []token) ([]token, error)
	vocabulary() *vocab
}

// work is the scratch memory of one goroutine.
type work struct {
	cache   cache
	tokens  []token
	syms    []symbol
	ranks   []mergeRule
	heap    []candidate
	nodes   []latticeNode
	buf     []byte
	pieces  []text
	scratch []span
	missing bool               // the word needs an unknown token that the vocabulary lacks
	rev     map[int32][2]int32 // see bpe.note
}

// errUnknown is the error for text that the vocabulary cannot express.
func errUnknown(kind, unk string) error {
	return fmt.Errorf("%s: a word is not in the vocabulary, and neither is the unknown token %q", kind, unk)
}

// cacheSlots is the number of words a cache remembers; the newest of a slot stays.
const cacheSlots = 1 << 14

// maxCachedWord is the length in bytes up to which words are worth remembering.
const maxCachedWord = 48

// cache remembers the ids of words. It belongs to one goroutine at a time, so it needs no lock.
type cache struct {
	slots []cacheEntry
}

type cacheEntry struct {
	word string
	ids  []int32
}

// hashWord is FNV-1a over eight bytes at a time with a final mix.
func hashWord(s string) uint64 {
	h := uint64(14695981039346656037)
	for len(s) >= 8 {
		v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = (h ^ v) * 1099511628211
		h ^= h >> 29
		s = s[8:]
	}
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// entry returns the slot of a word.
func (c *cache) entry(word string) *cacheEntry {
	if c.slots == nil {
		c.slots = make([]cacheEntry, cacheSlots)
	}
	return &c.slots[hashWord(word)&(cacheSlots-1)]
}
