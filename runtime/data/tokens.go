package data

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"

	"github.com/vulcast/vulcast/runtime/model"
)

// Tokens are documents one after the other.
type Tokens struct {
	IDs    []int32
	Starts []int // index of each document's first token; documents end where the next begins
}

// Encoder turns text into token ids; *tokenizer.Tokenizer is one.
type Encoder interface {
	EncodeChecked(text string, special bool) ([]int32, error)
}

// TokenizeOptions of Tokenize.
type TokenizeOptions struct {
	End     int32 // put behind every document; -1 puts none
	Special bool  // let the tokenizer add its special tokens round each document
	Vocab   int   // the model's vocabulary size; 0 does not check
}

// Tokenize encodes documents, several at a time, in their order. Empty ones are left out.
//
// Errors: one of docs; a text that the tokenizer cannot express; an id at or above Vocab, each with the
// document's name.
func Tokenize(docs iter.Seq2[Doc, error], enc Encoder, o TokenizeOptions) (*Tokens, error) {
	type result struct {
		ids []int32
		err error
	}
	workers := runtime.GOMAXPROCS(0)
	queue := make(chan chan result, 2*workers)
	slots := make(chan struct{}, workers)
	stop := make(chan struct{})
	var once sync.Once
	halt := func() { once.Do(func() { close(stop) }) }
	defer halt()
	go func() {
		defer close(queue)
		for d, err := range docs {
			c := make(chan result, 1)
			select {
			case queue <- c:
			case <-stop:
				return
			}
			if err != nil {
				c <- result{nil, err}
				return
			}
			slots <- struct{}{}
			go func() {
				ids, err := encodeDoc(d, enc, o)
				<-slots
				c <- result{ids, err}
			}()
		}
	}()
	t := &Tokens{}
	for c := range queue {
		r := <-c
		if r.err != nil {
			return nil, r.err
		}
		t.Append(r.ids)
	}
	return t, nil
}

// encodeDoc encodes one document and checks its ids.
func encodeDoc(d Doc, enc Encoder, o TokenizeOptions) ([]int32, error) {
	if d.Text == "" {
		return nil, nil
	}
	ids, err := enc.EncodeChecked(d.Text, o.Special)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if o.End >= 0 && ids[len(ids)-1] != o.End {
		ids = append(ids, o.End)
	}
	if err := CheckIDs(ids, o.Vocab); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	return ids, nil
}

// CheckIDs wants every id to be a row of an embedding of vocab rows; 0 rows checks for negative ids only.
func CheckIDs(ids []int32, vocab int) error {
	for i, id := range ids {
		if id < 0 || vocab > 0 && int(id) >= vocab {
			return fmt.Errorf("token %d has id %d, but the model's vocabulary has %d tokens (0 to %d): the tokenizer and the "+
				"model do not belong together", i, id, vocab, vocab-1)
		}
	}
	return nil
}

// Append adds a document; an empty one is left out.
func (t *Tokens) Append(ids []int32) {
	if len(ids) > 0 {
		t.Starts = append(t.Starts, len(t.IDs))
		t.IDs = append(t.IDs, ids...)
	}
}

// Docs is the number of documents.
func (t *Tokens) Docs() int { return len(t.Starts) }

// Doc returns the tokens of document i.
func (t *Tokens) Doc(i int) []int32 {
	end := len(t.IDs)
	if i+1 < len(t.Starts) {
		end = t.Starts[i+1]
	}
	return t.IDs[t.Starts[i]:end]
}

// Split deals items into those to train on and those held out, about a fraction of them: each item's lot
// depends on the seed and its index alone. With two items or more neither side is empty, unless the fraction
// is 0.
func Split[T any](items []T, fraction float64, seed uint64) (train, held []T) {
	if fraction <= 0 {
		return items, nil
	}
	for i, x := range items {
		w := model.Philox(key(seed), [4]uint32{uint32(i), uint32(i >> 32), 0, purposeSplit})
		if float64(w[0])*0x1p-32 < fraction {
			held = append(held, x)
		} else {
			train = append(train, x)
		}
	}
	if n := len(items); n > 1 && len(held) == 0 {
		train, held = items[:n-1], items[n-1:]
	} else if n > 1 && len(train) == 0 {
		train, held = items[:1], items[1:]
	}
	return train, held
}

// Uses of random numbers, the last word of the counter.
const (
	purposeSplit = iota
	purposeOrder
	purposeMask
)

func key(seed uint64) [2]uint32 { return [2]uint32{uint32(seed), uint32(seed >> 32)} }

// Unigram is the baseline of a language model: each token's frequency among others, plus one.
type Unigram struct {
	counts []int
	total  int
}

// NewUnigram counts ids below vocab.
func NewUnigram(ids []int32, vocab int) *Unigram {
	u := &Unigram{counts: make([]int, vocab), total: len(ids) + vocab}
	for _, id := range ids {
		u.counts[id]++
	}
	return u
}

// Loss is -log of a token's probability.
func (u *Unigram) Loss(id int32) float64 {
	return math.Log(float64(u.total)) - math.Log(float64(u.counts[id]+1))
}
