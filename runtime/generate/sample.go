package generate

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/vulcast/vulcast/runtime/model"
)

// candidate is a token that may be chosen.
type candidate struct {
	id    int32
	logit float64 // divided by the temperature
	p     float64
}

// sampler chooses tokens. It keeps its working memory between calls.
type sampler struct {
	o    Options
	list []candidate
	seen map[int32]bool
}

// choose picks the next token from logits, which it changes. history are the row's tokens so far, prompt
// included. row and step key the random number: the same seed gives the same text, whatever else is in the
// batch.
//
// The order of the filters is that of transformers: repetition penalty, temperature, top-k, top-p, min-p.
//
// Errors: a logit that is not a number; no finite logit.
func (s *sampler) choose(logits []float32, history []int32, row, step int) (int32, error) {
	s.penalize(logits, history)
	best, err := argmax(logits)
	if err != nil || s.o.Temperature == 0 {
		return best, err
	}
	top := float64(logits[best])
	s.fill(logits, top)
	s.keepTopK()
	s.keepTopP(len(logits))
	s.keepMinP()
	sum := 0.0
	for _, c := range s.list {
		sum += c.p
	}
	left := uniform(s.o.Seed, row, step) * sum
	for _, c := range s.list {
		if left -= c.p; left < 0 {
			return c.id, nil
		}
	}
	return s.list[len(s.list)-1].id, nil // the rounding of the sum
}

// penalize lowers the logits of tokens that occurred. Source: Keskar et al. 2019, CTRL, section 4.1.
func (s *sampler) penalize(logits []float32, history []int32) {
	r := float32(s.o.Repetition)
	if r == 0 || r == 1 {
		return
	}
	if s.seen == nil {
		s.seen = map[int32]bool{}
	}
	clear(s.seen)
	for _, id := range history {
		if s.seen[id] || int(id) >= len(logits) || id < 0 {
			continue
		}
		s.seen[id] = true
		if logits[id] > 0 {
			logits[id] /= r
		} else {
			logits[id] *= r
		}
	}
}

// argmax is the first of the largest logits.
func argmax(logits []float32) (int32, error) {
	pieces := (len(logits) + widenChunk - 1) / widenChunk
	tops := make([]int, pieces)
	var g errgroup.Group
	for n := range pieces {
		g.Go(func() (err error) {
			tops[n], err = argmaxOf(logits, n*widenChunk, min(len(logits), (n+1)*widenChunk))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	best := -1
	for _, i := range tops {
		if best < 0 || logits[i] > logits[best] {
			best = i
		}
	}
	if best < 0 || math.IsInf(float64(logits[best]), 0) {
		return 0, fmt.Errorf("no logit is finite: the model's weights or activations overflowed")
	}
	return int32(best), nil
}

// argmaxOf is the first of the largest logits from from to end.
func argmaxOf(logits []float32, from, end int) (int, error) {
	best, top := from, logits[from]
	for i, v := range logits[from:end] {
		if v != v {
			return 0, fmt.Errorf("the logit of token %d is not a number: the model's weights or activations overflowed", from+i)
		}
		if v > top {
			best, top = from+i, v
		}
	}
	return best, nil
}

// fill lists the tokens with exp((logit - top) / temperature). Tokens too unlikely to be drawn are left out.
func (s *sampler) fill(logits []float32, top float64) {
	s.list = s.list[:0]
	for i, v := range logits {
		x := (float64(v) - top) / s.o.Temperature
		if p := math.Exp(x); p > 0 {
			s.list = append(s.list, candidate{int32(i), x, p})
		}
	}
}

// keepTopK keeps the k likeliest tokens, and those as likely as the last of them.
func (s *sampler) keepTopK() {
	k := s.o.TopK
	if k == 0 || k >= len(s.list) {
		return
	}
	logits := make([]float64, len(s.list))
	for i, c := range s.list {
		logits[i] = c.logit
	}
	sort.Float64s(logits)
	least := logits[len(logits)-k]
	s.list = slices.DeleteFunc(s.list, func(c candidate) bool { return c.logit < least })
}

// keepTopP keeps the likeliest tokens until their probabilities reach TopP: at least one.
//
// Source: Holtzman et al. 2020, The Curious Case of Neural Text Degeneration.
func (s *sampler) keepTopP(vocab int) {
	p := s.o.TopP
	if p == 0 || p == 1 {
		return
	}
	sum := 0.0
	for _, c := range s.list {
		sum += c.p
	}
	// Tokens below this share cannot reach 1 - p together, so they are dropped in any case: no need to sort
	// them.
	share := (1 - p) / float64(vocab) * sum
	s.list = slices.DeleteFunc(s.list, func(c candidate) bool { return c.p < share && c.logit < 0 })
	slices.SortFunc(s.list, func(a, b candidate) int {
		if a.logit != b.logit {
			return sign(b.logit - a.logit)
		}
		return int(a.id - b.id)
	})
	reached := 0.0
	for i, c := range s.list {
		if reached += c.p; reached >= p*sum {
			s.list = s.list[:i+1]
			return
		}
	}
}

func sign(v float64) int {
	if v < 0 {
		return -1
	}
	return 1
}

// keepMinP drops tokens with less than MinP of the likeliest one's probability, which is 1 here.
func (s *sampler) keepMinP() {
	if s.o.MinP > 0 {
		s.list = slices.DeleteFunc(s.list, func(c candidate) bool { return c.p < s.o.MinP })
	}
}

// uniform is a random number in [0, 1) with 53 bits.
func uniform(seed uint64, row, step int) float64 {
	w := model.Philox([2]uint32{uint32(seed), uint32(seed >> 32)}, [4]uint32{uint32(step), uint32(row), 0, purposeSample})
	return float64((uint64(w[0])<<32|uint64(w[1]))>>11) * 0x1p-53
}

// purposeSample keeps these random numbers apart from other uses of the same seed.
const purposeSample = 0x73616d70
