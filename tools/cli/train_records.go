package cli

import (
	"errors"
	"fmt"

	"github.com/vulcast/vulcast/runtime/chat"
	"github.com/vulcast/vulcast/runtime/data"
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
	list, err := j.examples(m, train)
	if err != nil {
		return err
	}
	var eval []*data.Example
	if len(held) > 0 {
		eval, err = j.examples(m, held)
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
	rows, err := data.NewExamples(list, j.f.seq, j.f.rows != rowsPadded)
	if err != nil {
		return fmt.Errorf("training: %w", err)
	}
	j.rows = rows
	j.say("%d tokens, %d rows of %d (%.0f %% of them padding)", rows.Tokens(), rows.Len(), j.f.seq,
		100*(1-float64(rows.Tokens())/float64(rows.Len()*j.f.seq)))
	if len(eval) == 0 {
		return nil
	}
	j.eval, err = data.NewExamples(eval, j.f.seq, j.f.rows != rowsPadded)
	return err
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
func (j *job) examples(m *data.Maker, files []string) ([]*data.Example, error) {
	var list []*data.Example
	skipped := 0
	for r, err := range data.Records(files) {
		var e *data.Example
		if err == nil {
			e, err = m.Make(&r)
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
