package verify

import (
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
)

// step is the input of a run: rows of the decoder or of the whole model, and of the encoder.
type step struct {
	dec model.Rows
	enc *model.Rows
}

// mainStep is the fixture's batch with its labels, which causal models shift unless they take them in place.
func (f *Fixture) mainStep() (step, error) {
	ids, shape, err := f.ints("input_ids")
	if err != nil {
		return step{}, err
	}
	mask, _, err := f.ints("attention_mask")
	if err != nil {
		return step{}, err
	}
	labels, labelShape, err := f.ints("labels")
	if err != nil {
		return step{}, err
	}
	rows := model.RowsOf(shape[0], shape[1], ids, mask, false)
	if f.Meta.Kind != "seq2seq" {
		rows.SetLabels(labels, f.Meta.Kind != "masked" && !f.labelsInPlace)
		return step{dec: rows}, nil
	}
	var dec []int32
	if f.has("decoder_input_ids") {
		dec, _, err = f.ints("decoder_input_ids")
	} else {
		dec, err = f.shifted(labels, labelShape[1])
	}
	if err != nil {
		return step{}, err
	}
	out := model.RowsOf(labelShape[0], labelShape[1], dec, nil, false)
	out.SetLabels(labels, false)
	return step{dec: out, enc: &rows}, nil
}

// shifted makes decoder inputs as models do when they get labels alone: one to the right, the start token
// first, the padding token where a label is ignored.
func (f *Fixture) shifted(labels []int32, T int) ([]int32, error) {
	c, err := hfconfig.Load(f.Dir)
	if err != nil {
		return nil, err
	}
	start, pad := c.Int("decoder_start_token_id"), c.Int("pad_token_id")
	if err := c.Err(); err != nil {
		return nil, err
	}
	out := make([]int32, len(labels))
	for i := range out {
		switch {
		case i%T == 0:
			out[i] = int32(start)
		case labels[i-1] < 0:
			out[i] = int32(pad)
		default:
			out[i] = labels[i-1]
		}
	}
	return out, nil
}

// leftStep is the batch with its padding on the left. Where the fixture gives no positions, the model takes
// none, or counts columns.
func (f *Fixture) leftStep() (step, error) {
	ids, shape, err := f.ints("left.input_ids")
	if err != nil {
		return step{}, err
	}
	mask, _, err := f.ints("left.attention_mask")
	if err != nil {
		return step{}, err
	}
	rows := model.RowsOf(shape[0], shape[1], ids, mask, false)
	if f.has("left.position_ids") {
		if rows.Pos, _, err = f.ints("left.position_ids"); err != nil {
			return step{}, err
		}
	}
	return step{dec: rows}, nil
}

// decodeStep is all tokens of a decoding at once; from is the position whose logits are those of the first
// step.
func decodeStep(prompt, feed []int32, seq2seq bool) (in step, from int) {
	if seq2seq {
		enc := model.RowsOf(1, len(prompt), prompt, nil, false)
		return step{dec: model.RowsOf(1, len(feed), feed, nil, false), enc: &enc}, 0
	}
	all := append(append([]int32(nil), prompt...), feed...)
	return step{dec: model.RowsOf(1, len(all), all, nil, false)}, len(prompt) - 1
}
