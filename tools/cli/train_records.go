package cli

import (
	"errors"
	"fmt"

	"github.com/vulcast/vulcast/runtime/chat"
	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/model"
)

// What becomes of records that cannot be used.
const (
	stopBad = "stop"
	skipBad = "skip"
)

// How examples become rows.
const (
	rowsAuto   = "auto"
	rowsBlocks = "blocks" // one stream, cut without padding
	rowsPacked = "packed" // several examples a row, that do not see each other
	rowsPadded = "padded" // an example a row
)

// loadRecords makes examples of records. When every token of all is learnt they are a stream of texts, like
// plain text files.
func (j *job) loadRecords(train, held []string, vocab int) error {
	m := &data.Maker{Tokenizer: j.tok, End: j.end, All: j.f.learnAll, Max: j.f.seq, Truncate: data.Truncation(j.f.truncate),
		Vocab: vocab}
	if j.f.model != "" {
		if set, err := chat.FromTokenizerConfig(j.f.model); err == nil {
			m.Templates = set
		}
	}
	if j.f.rows == rowsBlocks {
		m.Max = 0
	}
	example, err := j.maker(m)
	if err != nil {
		return err
	}
	list, err := j.examples(example, train)
	if err != nil {
		return err
	}
	var eval []*data.Example
	if len(held) > 0 {
		eval, err = j.examples(example, held)
	} else {
		list, eval = data.Split(list, j.f.holdout, j.f.cfg.Seed)
	}
	if err != nil {
		return err
	}
	j.say("%d examples to train on, %d held out", len(list), len(eval))
	j.train, j.held = stream(list), stream(eval)
	if len(eval) == 0 {
		j.held = nil
	}
	if j.f.rows == rowsBlocks {
		return j.cut()
	}
	rows, err := j.exampleRows(list)
	if err != nil {
		return fmt.Errorf("training: %w", err)
	}
	j.rows = rows
	j.say("%d tokens, %d rows of %d (%.0f %% of them padding)", rows.Tokens(), rows.Len(), j.f.seq,
		100*(1-float64(rows.Tokens())/float64(rows.Len()*j.f.seq)))
	if len(eval) == 0 {
		return nil
	}
	j.eval, err = j.exampleRows(eval)
	return err
}

// makeExample makes the example of a record.
type makeExample func(*data.Record) (*data.Example, error)

// maker is what makes examples for the kind of the model.
func (j *job) maker(m *data.Maker) (makeExample, error) {
	if j.kind != model.Seq2Seq {
		return m.Make, nil
	}
	if j.f.rows == rowsBlocks || j.f.rows == rowsPacked {
		return nil, fmt.Errorf("--rows is %s, want padded: an encoder-decoder has a pair a row", j.f.rows)
	}
	if j.f.seq < 2 {
		return nil, errors.New("--seq is 1, want at least 2: the decoder's start token and one to learn")
	}
	start := j.cfg.IntOr(-1, "decoder_start_token_id")
	if err := j.cfg.Err(); err != nil {
		return nil, err
	}
	if start < 0 {
		return nil, fmt.Errorf("%s: decoder_start_token_id is missing, the token that the decoder begins with", j.cfg.Name())
	}
	return (&data.Pairs{Maker: *m, Start: int32(start)}).Make, nil
}

// exampleRows makes rows of examples.
func (j *job) exampleRows(list []*data.Example) (*data.Examples, error) {
	if j.kind == model.Seq2Seq {
		return data.NewPairs(list, j.f.seq)
	}
	return data.NewExamples(list, j.f.seq, j.f.rows != rowsPadded)
}

// stream puts examples one behind the other.
func stream(list []*data.Example) *data.Tokens {
	t := &data.Tokens{}
	for _, e := range list {
		t.Append(e.Tokens)
	}
	return t
}

// examples reads all examples of files. Bad records end the run, or are counted and shown, as --on-bad-record
// says.
func (j *job) examples(example makeExample, files []string) ([]*data.Example, error) {
	var list []*data.Example
	skipped := 0
	for r, err := range data.Records(files) {
		var e *data.Example
		if err == nil {
			e, err = example(&r)
		}
		var bad *data.BadRecord
		switch {
		case err == nil:
			list = append(list, e)
		case errors.As(err, &bad) && j.f.onBad == skipBad:
			if skipped++; skipped <= 5 {
				j.say("left out: %v", bad)
			}
		case errors.As(err, &bad):
			return nil, fmt.Errorf("%w (--on-bad-record skip leaves such records out)", err)
		default:
			return nil, err
		}
	}
	if skipped > 0 {
		j.say("%d records left out, %d used", skipped, len(list))
	}
	if len(list) == 0 {
		return nil, errors.New("the data set is empty: no record can be used")
	}
	return list, nil
}

// recordTexts yields every text in the records of files.
func recordTexts(files []string, skip bool, yield func(string) bool, failed *error) {
	for r, err := range data.Records(files) {
		var bad *data.BadRecord
		if errors.As(err, &bad) && skip {
			continue
		}
		if err != nil {
			*failed = err
			return
		}
		if !eachText(r.Values, yield) {
			return
		}
	}
}

// eachText yields the texts inside a value.
func eachText(v chat.Value, yield func(string) bool) bool {
	switch x := v.(type) {
	case string:
		return yield(x)
	case *chat.List:
		for _, e := range x.Items {
			if !eachText(e, yield) {
				return false
			}
		}
	case *chat.Dict:
		for i := range x.Len() {
			if _, e := x.At(i); !eachText(e, yield) {
				return false
			}
		}
	}
	return true
}
