package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The numbers of sentencepiece's trainer.
const (
	unigramSeeds     = 1_000_000 // candidates to begin with
	unigramShrink    = 0.75      // part of the tokens that a round keeps
	unigramSubRounds = 2         // expectation and maximization steps a round
	unigramMaxLength = 16        // characters of a token
	unigramRare      = 0.5       // expected count below which a token goes
)

// TrainUnigram trains a Unigram tokenizer with "▁" for spaces and byte fallback, so that it can write any
// text: the first ids are the special tokens, the unknown token and the 256 bytes. The result depends on
// the texts and options alone.
// Time: suffix sorting of the distinct words, then about 2 passes over them per round and about
// log(seeds/VocabSize)/log(4/3) rounds.
// Source: Kudo 2018, https://aclanthology.org/P18-1007/; sentencepiece, unigram_model_trainer.cc
func TrainUnigram(texts iter.Seq[string], o TrainOptions) (*Tokenizer, error) {
	if o.Unk == "" {
		o.Unk = "<unk>"
	}
	if !slices.Contains(o.SpecialTokens, o.Unk) {
		o.SpecialTokens = append(slices.Clone(o.SpecialTokens), o.Unk)
	}
	if err := o.check(257); err != nil {
		return nil, err
	}
	words := newWordCounter()
	words.count(texts, o.SpecialTokens, func(s string, _ func(a, b int)) {
		for _, w := range metaspaceWords(s) {
			words.add(w)
		}
	})
	t := &unigramTrainer{maxLength: unigramMaxLength, want: o.VocabSize - 256 - len(o.SpecialTokens)}
	if o.MaxTokenLength > 0 {
		t.maxLength = o.MaxTokenLength
	}
	if err := t.train(words); err != nil {
		return nil, fmt.Errorf("tokenizer: train: %w", err)
	}
	return t.tokenizer(&o)
}

// metaspaceWords cuts a text the way the pre-tokenizer of the result does.
func metaspaceWords(s string) []string {
	m := &metaspace{replacement: spmSpace, scheme: "always", cutting: true}
	pieces, err := m.split(text{s: s}, nil)
	if err != nil || s == "" {
		return nil
	}
	out := make([]string, len(pieces))
	for i := range pieces {
		out[i] = pieces[i].s
	}
	return out
}

// seedPiece is a candidate token.
type seedPiece struct {
	s     string
	score float64 // a count, then a log probability
}

type unigramTrainer struct {
	want, maxLength int
	words           []string
	counts          []float64
	pieces          []seedPiece
	required        map[string]bool // single characters, which never go
	model           *unigram
}

func (t *unigramTrainer) train(c *wordCounter) error {
	for i, w := range c.words {
		t.words = append(t.words, w)
		t.counts = append(t.counts, float64(c.n[i]))
	}
	if len(t.words) == 0 {
		return errors.New("there is no text")
	}
	t.seed()
	if len(t.required) > t.want {
		return fmt.Errorf("the text has %d different characters; VocabSize leaves room for %d tokens",
			len(t.required), t.want)
	}
	target := t.want + t.want/10 // the last step picks the best of a few more
	for {
		for range unigramSubRounds {
			t.rebuild()
			t.maximize(t.expect())
		}
		if len(t.pieces) <= target {
			break
		}
		t.rebuild()
		if !t.prune(max(target, int(unigramShrink*float64(len(t.pieces))))) {
			break
		}
	}
	t.finish()
	return nil
}

// seed takes all characters and the substrings that occur in at least two places, the best by count times
// length first.
func (t *unigramTrainer) seed() {
	t.required = map[string]bool{}
	count := map[string]float64{}
	rare := 2.0 // what is rarer is forgotten when memory runs short
	for i, w := range t.words {
		starts := runeStarts(w)
		for a := 0; a+1 < len(starts); a++ {
			t.required[w[starts[a]:starts[a+1]]] = true
			for b := a + 1; b < len(starts) && b-a <= t.maxLength; b++ {
				count[w[starts[a]:starts[b]]] += t.counts[i]
			}
		}
		for ; len(count) > 2*unigramSeeds; rare *= 2 {
			for s, n := range count {
				if n < rare && !t.required[s] {
					delete(count, s)
				}
			}
		}
	}
	var more []seedPiece
	for s, n := range count {
		if t.required[s] {
			t.pieces = append(t.pieces, seedPiece{s, n})
		} else if n >= 2 && !strings.Contains(s[1:], spmSpace) {
			more = append(more, seedPiece{s, n * float64(utf8.RuneCountInString(s))})
		}
	}
	slices.SortFunc(more, byScore)
	t.pieces = append(t.pieces, more[:min(len(more), unigramSeeds)]...)
	slices.SortFunc(t.pieces, byScore)
	t.toLogs()
}

func runeStarts(s string) []int {
	var out []int
	for i := range s {
		out = append(out, i)
	}
	return append(out, len(s))
}

// byScore puts the highest score first, and orders equal ones by their strings.
func byScore(a, b seedPiece) int {
	return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.s, b.s))
}

// toLogs turns counts into log probabilities.
func (t *unigramTrainer) toLogs() {
	sum := 0.0
	for _, p := range t.pieces {
		sum += p.score
	}
	for i := range t.pieces {
		t.pieces[i].score = math.Log(t.pieces[i].score) - math.Log(sum)
	}
}

// rebuild makes the model of the pieces.
func (t *unigramTrainer) rebuild() {
	m := &unigram{unk: -1, minScore: math.Inf(1)}
	keys := make([]trieKey, len(t.pieces))
	for i, p := range t.pieces {
		keys[i] = trieKey{p.s, int32(i)}
		m.scores = append(m.scores, p.score)
		m.minScore = min(m.minScore, p.score)
	}
	m.trie = newTrie(keys)
	t.model = m
}
