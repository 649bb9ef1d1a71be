package tokenizer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// expect returns how often each piece is expected over all ways to split the words.
// Source: the forward-backward algorithm on the lattice of each word.
func (t *unigramTrainer) expect() []float64 {
	out := make([]float64, len(t.pieces))
	var edges []latticeEdge
	for i, w := range t.words {
		edges = t.edges(w, edges[:0])
		n := len(w) + 1
		forward, backward := make([]float64, n), make([]float64, n)
		for k := range n {
			forward[k], backward[k] = math.Inf(-1), math.Inf(-1)
		}
		forward[0], backward[n-1] = 0, 0
		for _, e := range edges {
			forward[e.to] = logAdd(forward[e.to], forward[e.from]+t.model.scores[e.id])
		}
		for k := len(edges) - 1; k >= 0; k-- {
			e := edges[k]
			backward[e.from] = logAdd(backward[e.from], backward[e.to]+t.model.scores[e.id])
		}
		for _, e := range edges {
			p := math.Exp(forward[e.from] + t.model.scores[e.id] + backward[e.to] - forward[n-1])
			if !math.IsNaN(p) {
				out[e.id] += t.counts[i] * p
			}
		}
	}
	return out
}

// latticeEdge is a piece at a place of a word.
type latticeEdge struct{ from, to, id int32 }

// edges lists the pieces in a word, ordered by where they begin.
func (t *unigramTrainer) edges(w string, out []latticeEdge) []latticeEdge {
	for from := range w {
		node := int32(0)
		for k := from; k < len(w); k++ {
			if node = t.model.trie.child(node, w[k]); node == 0 {
				break
			}
			if id := t.model.trie.values[node]; id >= 0 {
				out = append(out, latticeEdge{int32(from), int32(k + 1), id})
			}
		}
	}
	return out
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// maximize sets the scores from expected counts by the Bayesian rule of sentencepiece, and drops rare
// pieces.
func (t *unigramTrainer) maximize(expected []float64) {
	kept := t.pieces[:0]
	sum := 0.0
	for i, p := range t.pieces {
		n := expected[i]
		if n < unigramRare && !t.required[p.s] {
			continue
		}
		n = max(n, 1e-3)
		kept = append(kept, seedPiece{p.s, n})
		sum += n
	}
	logSum := digamma(sum)
	for i := range kept {
		kept[i].score = digamma(kept[i].score+1e-9) - logSum
		kept[i].score = max(kept[i].score, -1e4) // digamma goes to minus infinity at 0
	}
	t.pieces = kept
}

// digamma is the derivative of the logarithm of the gamma function, for x > 0.
// Source: https://en.wikipedia.org/wiki/Digamma_function, recurrence and asymptotic series
func digamma(x float64) float64 {
	r := 0.0
	for ; x < 7; x++ {
		r -= 1 / x
	}
	x -= 0.5
	xx := 1 / (x * x)
	return r + math.Log(x) + xx*(1.0/24-xx*(7.0/960-xx*(31.0/8064-xx*127.0/30720)))
}

// prune keeps the n pieces whose loss would hurt the likelihood most; false means that none could go.
func (t *unigramTrainer) prune(n int) bool {
	freq, total := t.frequencies()
	type loss struct {
		i int
		v float64
	}
	var keep []seedPiece
	var losses []loss
	for i, p := range t.pieces {
		if t.required[p.s] {
			keep = append(keep, p)
			continue
		}
		other := t.best(p.s, int32(i))
		if freq[i] == 0 || len(other) == 0 {
			if len(other) == 0 {
				keep = append(keep, p)
			}
			continue
		}
		// Its occurrences go to the pieces of the next best split.
		logSum := math.Log(total + freq[i]*float64(len(other)-1))
		without := 0.0
		for _, id := range other {
			without += math.Log(freq[id]+freq[i]) - logSum
		}
		losses = append(losses, loss{i, freq[i] / total * (math.Log(freq[i]) - math.Log(total) - without)})
	}
	slices.SortStableFunc(losses, func(a, b loss) int { return cmp.Compare(b.v, a.v) })
	for _, l := range losses[:max(0, min(len(losses), n-len(keep)))] {
		keep = append(keep, t.pieces[l.i])
	}
	shrunk := len(keep) < len(t.pieces)
	t.pieces = keep
	return shrunk
}

// frequencies counts the pieces in the best splits of the words.
func (t *unigramTrainer) frequencies() (freq []float64, total float64) {
	freq = make([]float64, len(t.pieces))
	for i, w := range t.words {
		for _, id := range t.best(w, -1) {
			freq[id] += t.counts[i]
			total += t.counts[i]
		}
	}
	return freq, total
}

// best returns the pieces of the best split of s that does not use the piece without as a whole.
func (t *unigramTrainer) best(s string, without int32) []int32 {
	score := make([]float64, len(s)+1)
	from := make([]latticeEdge, len(s)+1)
	for i := range score {
		score[i] = math.Inf(-1)
	}
	score[0] = 0
	for _, e := range t.edges(s, nil) {
		if e.id == without {
			continue
		}
		if v := score[e.from] + t.model.scores[e.id]; v > score[e.to] {
			score[e.to], from[e.to] = v, e
		}
	}
	var out []int32
	for at := int32(len(s)); at > 0; at = from[at].from {
		if math.IsInf(score[at], -1) {
			return nil
		}
		out = append(out, from[at].id)
	}
	return out
}

// finish keeps the characters and the pieces with the best scores.
func (t *unigramTrainer) finish() {
	var keep, more []seedPiece
	for _, p := range t.pieces {
		if t.required[p.s] {
			keep = append(keep, p)
		} else {
			more = append(more, p)
		}
	}
	slices.SortFunc(more, byScore)
	t.pieces = append(keep, more[:min(len(more), t.want-len(keep))]...)
	slices.SortFunc(t.pieces, byScore)
}

func (t *unigramTrainer) tokenizer(o *TrainOptions) (*Tokenizer, error) {
	m := &unigram{byteFallback: true, unk: int32(slices.Index(o.SpecialTokens, o.Unk))}
	add := func(s string, score float64) {
		m.names = append(m.names, s)
		m.scores = append(m.scores, score)
	}
	for _, s := range o.SpecialTokens {
		add(s, 0)
	}
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), 0)
	}
	low := 0.0
	for _, p := range t.pieces {
		add(p.s, p.score)
		low = min(low, p.score)
	}
	for i := range 256 { // bytes and special tokens must not win against text that looks like them
		m.scores[len(o.SpecialTokens)+i] = low - unkPenalty
	}
	if err := m.link(); err != nil {
		return nil, err
	}
	type j = map[string]any
	space := j{"type": "Metaspace", "replacement": spmSpace, "prepend_scheme": "always", "split": true}
	decoder := j{"type": "Sequence", "decoders": []any{j{"type": "ByteFallback"}, space}}
	return assemble(m, o.addedTokens(), j{"pre_tokenizer": space, "decoder": decoder,
		"post_processor": o.template(o.ids())})
}
