package tokenizer

import (
	"cmp"
	"slices"
)

// trie finds all vocabulary entries that a string begins with. Children lie next to each other, sorted
// by label.
type trie struct {
	labels []byte  // of the edge that leads to the node
	first  []int32 // first child of each node; the last child is before first[node+1]
	values []int32 // value of the string that ends at the node, -1 where none does
	root   [256]int32
}

type trieKey struct {
	s     string
	value int32
}

// newTrie builds a trie. Of equal keys the last one in keys counts. Time: n log n.
func newTrie(keys []trieKey) *trie {
	slices.SortStableFunc(keys, func(a, b trieKey) int { return cmp.Compare(a.s, b.s) })
	t := &trie{labels: []byte{0}, values: []int32{-1}}
	type group struct{ lo, hi, depth int } // the keys below a node
	queue := []group{{0, len(keys), 0}}
	for n := 0; n < len(queue); n++ {
		g := queue[n]
		t.first = append(t.first, int32(len(t.labels)))
		for g.lo < g.hi && len(keys[g.lo].s) == g.depth {
			t.values[n] = keys[g.lo].value
			g.lo++
		}
		for lo := g.lo; lo < g.hi; {
			label := keys[lo].s[g.depth]
			hi := lo + 1
			for hi < g.hi && keys[hi].s[g.depth] == label {
				hi++
			}
			t.labels = append(t.labels, label)
			t.values = append(t.values, -1)
			queue = append(queue, group{lo, hi, g.depth + 1})
			lo = hi
		}
	}
	t.first = append(t.first, int32(len(t.labels)))
	for c := t.first[0]; c < t.first[1]; c++ {
		t.root[t.labels[c]] = c
	}
	return t
}

// child follows an edge; 0 means that there is none.
func (t *trie) child(node int32, label byte) int32 {
	if node == 0 {
		return t.root[label]
	}
	lo, hi := t.first[node], t.first[node+1]
	for hi-lo > 8 {
		if mid := (lo + hi) / 2; t.labels[mid] <= label {
			lo = mid
		} else {
			hi = mid
		}
	}
	for ; lo < hi; lo++ {
		if t.labels[lo] == label {
			return lo
		}
	}
	return 0
}

// longest returns the length and value of the longest key that s begins with; length 0 if none does.
func (t *trie) longest(s string) (int, int32) {
	n, value := 0, int32(-1)
	node := int32(0)
	for i := 0; i < len(s); i++ {
		if node = t.child(node, s[i]); node == 0 {
			break
		}
		if t.values[node] >= 0 {
			n, value = i+1, t.values[node]
		}
	}
	return n, value
}
