package tokenizer

import (
	"errors"
	"iter"
)

// TrainUnigram trains a Unigram tokenizer.
func TrainUnigram(texts iter.Seq[string], o TrainOptions) (*Tokenizer, error) {
	return nil, errors.New("tokenizer: TrainUnigram: not written yet")
}
