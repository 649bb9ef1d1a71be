package tokenizer

import (
	"cmp"
	"hash/maphash"
	"slices"
	"unsafe"
)

// vocab is a table of token strings with a lookup in both directions. Strings lie in one arena, and the
// hash index is open addressing over 32-bit slots: a quarter of the memory of two Go maps, and it
// loads several times faster, which matters at 262,144 entries.
type vocab struct {
	arena []byte
	ends  []int // end of entry i in arena
	ids   []int32
	slots []int32 // entry index + 1; 0 is empty
	seed  maphash.Seed
	byID  []int32         // id -> entry index + 1
	far   map[int32]int32 // the same for ids beyond byID
	size  int             // live entries
	maxID int32
	long  int // bytes of the longest token
}

func newVocab(capacity int) *vocab {
	v := &vocab{seed: maphash.MakeSeed(), maxID: -1, far: map[int32]int32{}}
	n := 64
	for n < 2*capacity {
		n *= 2
	}
	v.slots = make([]int32, n)
	v.ends = make([]int, 0, capacity)
	v.ids = make([]int32, 0, capacity)
	return v
}

// entry returns the string of entry i without copying; the arena is never changed once written.
func (v *vocab) entry(i int32) string {
	start := 0
	if i > 0 {
		start = v.ends[i-1]
	}
	if start == v.ends[i] {
		return ""
	}
	return unsafe.String(&v.arena[start], v.ends[i]-start)
}

func (v *vocab) slot(tok []byte) uint64 {
	mask := uint64(len(v.slots) - 1)
	h := maphash.Bytes(v.seed, tok) & mask
	for v.slots[h] != 0 && v.entry(v.slots[h]-1) != string(tok) {
		h = (h + 1) & mask
	}
	return h
}

// add maps tok to id. A later id for the same string replaces the former.
func (v *vocab) add(tok []byte, id int32) {
	h := v.slot(tok)
	if v.slots[h] != 0 {
		e := v.slots[h] - 1
		if v.entryByID(v.ids[e]) == e {
			v.setByID(v.ids[e], -1)
		}
		v.ids[e] = id
		v.setByID(id, e)
		return
	}
	v.long = max(v.long, len(tok))
	v.arena = append(v.arena, tok...)
	v.ends = append(v.ends, len(v.arena))
	v.ids = append(v.ids, id)
	e := int32(len(v.ids) - 1)
	v.slots[h] = e + 1
	v.size++
	v.setByID(id, e)
	if 2*len(v.ids) > len(v.slots) {
		v.grow()
	}
}

func (v *vocab) grow() {
	v.slots = make([]int32, 2*len(v.slots))
	mask := uint64(len(v.slots) - 1)
	for i := range v.ids {
		h := maphash.String(v.seed, v.entry(int32(i))) & mask
		for v.slots[h] != 0 {
			h = (h + 1) & mask
		}
		v.slots[h] = int32(i) + 1
	}
}

// setByID keeps ids that are far above the number of entries in a map, so that one huge id in a file
// does not allocate gigabytes.
func (v *vocab) setByID(id, e int32) {
	v.maxID = max(v.maxID, id)
	if int(id) >= len(v.byID) {
		if int(id) > 4*len(v.ids)+65536 {
			v.far[id] = e + 1
			return
		}
		grown := make([]int32, max(2*len(v.byID), int(id)+1, 256))
		copy(grown, v.byID)
		v.byID = grown
	}
	v.byID[id] = e + 1
}

func (v *vocab) entryByID(id int32) int32 {
	if id >= 0 && int(id) < len(v.byID) && v.byID[id] != 0 {
		return v.byID[id] - 1
	}
	return v.far[id] - 1
}

// lookup returns the id of tok.
func (v *vocab) lookup(tok string) (int32, bool) {
	mask := uint64(len(v.slots) - 1)
	h := maphash.String(v.seed, tok) & mask
	for v.slots[h] != 0 {
		if e := v.slots[h] - 1; v.entry(e) == tok {
			return v.ids[e], true
		}
		h = (h + 1) & mask
	}
	return -1, false
}

func (v *vocab) lookupBytes(tok []byte) (int32, bool) {
	if s := v.slots[v.slot(tok)]; s != 0 {
		return v.ids[s-1], true
	}
	return -1, false
}

// token returns the string of an id.
func (v *vocab) token(id int32) (string, bool) {
	e := v.entryByID(id)
	if e < 0 {
		return "", false
	}
	return v.entry(e), true
}

// sorted returns the entries in order of their ids.
func (v *vocab) sorted() []int32 {
	out := make([]int32, 0, v.size)
	for i := range v.ids {
		out = append(out, int32(i))
	}
	slices.SortFunc(out, func(a, b int32) int { return cmp.Compare(v.ids[a], v.ids[b]) })
	return out
}
