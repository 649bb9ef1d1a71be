package tokenizer

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"strings"
)

// wordCounter counts the words of a corpus.
type wordCounter struct {
	index map[string]int
	words []string
	n     []int64
}

func newWordCounter() *wordCounter { return &wordCounter{index: map[string]int{}} }

func (c *wordCounter) add(w string) {
	if i, ok := c.index[w]; ok {
		c.n[i]++
		return
	}
	w = strings.Clone(w)
	c.index[w] = len(c.words)
	c.words = append(c.words, w)
	c.n = append(c.n, 1)
}

// count cuts the texts at the special tokens, and what is between them with split.
func (c *wordCounter) count(texts iter.Seq[string], specials []string, split splitter) {
	keys := make([]trieKey, len(specials))
	for i, s := range specials {
		keys[i] = trieKey{s, int32(i)}
	}
	m := newMatcher(keys)
	for s := range texts {
		s = clean(s)
		for m.trie != nil {
			at, _, ok := m.find(s, 0)
			if !ok {
				break
			}
			split(s[:at.start], func(a, b int) { c.add(s[a:b]) })
			s = s[at.end:]
		}
		split(s, func(a, b int) { c.add(s[a:b]) })
	}
}

// pairCount is a pair of neighbouring symbols in the queue, with the words it was found in.
type pairCount struct {
	pair  [2]int32
	count int64
	words []int32 // may name a word twice
	index int     // place in the queue
}

// pairQueue gives the most frequent pair, of equals the one with the lower ids.
type pairQueue []*pairCount

func (q pairQueue) Len() int { return len(q) }
func (q pairQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.pair[0], b.pair[0]),
		cmp.Compare(a.pair[1], b.pair[1])) < 0
}
func (q pairQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *pairQueue) Push(x any) {
	p := x.(*pairCount)
	p.index = len(*q)
	*q = append(*q, p)
}
func (q *pairQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

type bpeTrainer struct {
	options *TrainOptions
	names   []string // by id
	ids     map[string]int32
	sizes   []int // length of every token in characters of the byte-level form, that is bytes
	words   [][]int32
	counts  []int64
	pairs   map[[2]int32]int64      // how often each pair stands somewhere
	fresh   map[[2]int32]*pairCount // pairs found since the queue was last filled
	queue   pairQueue
	queued  map[[2]int32]*pairCount // what is in the queue
}

func newBPETrainer(o *TrainOptions) *bpeTrainer {
	t := &bpeTrainer{options: o, ids: map[string]int32{}, pairs: map[[2]int32]int64{},
		fresh: map[[2]int32]*pairCount{}, queued: map[[2]int32]*pairCount{}}
	for _, s := range o.SpecialTokens {
		t.token(s, 0)
	}
	alphabet := slices.Clone(byteLevel.runes[:])
	slices.Sort(alphabet)
	for _, r := range alphabet {
		t.token(string(r), 1)
	}
	return t
}

// token returns the id of a string, which is a new one if need be.
func (t *bpeTrainer) token(s string, size int) int32 {
	if id, ok := t.ids[s]; ok {
		return id
	}
	id := int32(len(t.names))
	t.ids[s] = id
	t.names = append(t.names, s)
	t.sizes = append(t.sizes, size)
	return id
}

func (t *bpeTrainer) train(c *wordCounter) *bpe {
	var byteID [256]int32
	for b, r := range byteLevel.runes {
		byteID[b] = t.ids[string(r)]
	}
	for i, w := range c.words {
		if len(w) < 2 {
			continue
		}
		syms := make([]int32, len(w))
		for k := range syms {
			syms[k] = byteID[w[k]]
		}
		at := int32(len(t.words))
		t.words = append(t.words, syms)
		t.counts = append(t.counts, c.n[i])
		for k := 0; k+1 < len(syms); k++ {
			t.change([2]int32{syms[k], syms[k+1]}, c.n[i], at)
		}
	}
	m := &bpe{}
	var merged []int32
	for len(t.names) < t.options.VocabSize {
		t.enqueue()
		p := t.top()
		if p == nil {
			break
		}
		id := t.join(p)
		m.pairs = append(m.pairs, p.pair)
		merged = append(merged, id)
	}
	m.vocab = newVocab(len(t.names))
	for id, s := range t.names {
		m.vocab.add([]byte(s), int32(id))
	}
	m.merges = newMergeTable(len(m.pairs))
	for i, p := range m.pairs {
		m.merges.set(p[0], p[1], mergeRule{int32(i), merged[i]})
	}
	return m
}

// change counts n more (or fewer) of a pair in a word.
func (t *bpeTrainer) change(pair [2]int32, n int64, word int32) {
	t.pairs[pair] += n
	if n < 0 {
		return
	}
	p := t.fresh[pair]
	if p == nil {
		p = &pairCount{pair: pair}
		t.fresh[pair] = p
	}
	if k := len(p.words); k == 0 || p.words[k-1] != word {
		p.words = append(p.words, word)
	}
}

// enqueue moves the fresh pairs into the queue. A pair is there already where a token has come about in
// a second way.
func (t *bpeTrainer) enqueue() {
	for pair, p := range t.fresh {
		p.count = t.pairs[pair]
		if q := t.queued[pair]; q != nil {
			q.words, q.count = append(q.words, p.words...), p.count
			heap.Fix(&t.queue, q.index)
		} else if p.count > 0 {
			t.queued[pair] = p
			heap.Push(&t.queue, p)
		}
	}
	clear(t.fresh)
}

// top takes the most frequent pair, or nil if none is frequent enough. Counts in the queue may be out of
// date but only too high, so an entry whose count still holds is the best one.
func (t *bpeTrainer) top() *pairCount {
	for len(t.queue) > 0 {
		p := t.queue[0]
		if n := t.pairs[p.pair]; n != p.count {
			p.count = n
			heap.Fix(&t.queue, 0)
			continue
		}
		if p.count < max(1, int64(t.options.MinFrequency)) {
			return nil
		}
		delete(t.queued, p.pair)
		return heap.Pop(&t.queue).(*pairCount)
	}
	return nil
}

// join makes the pair one token in all words and returns its id.
func (t *bpeTrainer) join(p *pairCount) int32 {
	a, b := p.pair[0], p.pair[1]
	id := t.token(t.names[a]+t.names[b], t.sizes[a]+t.sizes[b])
	limit := t.options.MaxTokenLength
	fits := func(x int32) bool { return limit == 0 || t.sizes[x]+t.sizes[a]+t.sizes[b] <= limit }
	slices.Sort(p.words)
	for _, w := range slices.Compact(p.words) {
		n := t.counts[w]
		in := t.words[w]
		out := in[:0]
		for i := 0; i < len(in); i++ {
			if in[i] != a || i+1 == len(in) || in[i+1] != b {
				out = append(out, in[i])
				continue
			}
			if k := len(out); k > 0 {
				t.change([2]int32{out[k-1], a}, -n, w)
				if fits(out[k-1]) {
					t.change([2]int32{out[k-1], id}, n, w)
				}
			}
			if i+2 < len(in) {
				t.change([2]int32{b, in[i+2]}, -n, w)
				if fits(in[i+2]) {
					t.change([2]int32{id, in[i+2]}, n, w)
				}
			}
			out = append(out, id)
			i++
		}
		t.words[w] = out
	}
	delete(t.pairs, p.pair) // none is left; changes to it came from overlaps
	return id
}
