package verify

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/vulcast/vulcast/runtime/model"
)

// generate decodes greedily through the caches. The model is fed the reference's tokens, so that a wrong
// token does not hide what comes after it; at each step its own choice must be the reference's, and its
// logits near.
//
// Where the check is exempt, because the reference's cached decoding differs from its own uncached decoding,
// the model's cached decoding is compared with its own forward pass over the same tokens instead.
func (r *run) generate() *Check {
	if !r.f.has("gen.prompt", "gen.ids", "gen.logits") {
		return skip("no gen.ids")
	}
	prompt, _, err := r.f.ints("gen.prompt")
	if err != nil {
		return failed(err)
	}
	ids, _, err := r.f.ints("gen.ids")
	if err != nil {
		return failed(err)
	}
	truth, shape, err := floats(r.f.expect, "gen.logits")
	if err != nil {
		return failed(err)
	}
	seq2seq := r.f.Meta.Kind == "seq2seq"
	steps, V := shape[1], shape[2]
	start := len(ids) - steps // an encoder-decoder model's ids begin with the start token
	if start < 0 || seq2seq != (start == 1) {
		return failed(fmt.Errorf("gen.ids has %d tokens for %d steps", len(ids), steps))
	}
	if err := r.eng.Reload(); err != nil { // the checks before have trained it
		return failed(err)
	}
	got, err := r.eng.Decode(prompt, ids[:len(ids)-1], seq2seq)
	if errors.Is(err, model.ErrNoDecoding) && r.exempt("generate") != "" {
		return skip("%v", err)
	}
	if err != nil {
		return failed(err)
	}
	if len(got) != steps || len(got[0]) != V {
		return failed(fmt.Errorf("decoding gave %d steps, want %d of %d logits", len(got), steps, V))
	}
	if reason := r.exempt("generate"); reason != "" {
		return r.selfConsistent(reason, prompt, ids, got, seq2seq)
	}
	dec, err := r.f.decoding()
	if err != nil {
		return failed(err)
	}
	c := r.closeLogits(truth, got)
	for i := range got {
		if r.bounds.round > 0 {
			c.Note = "tokens are not judged with 16-bit storage"
			break
		}
		if want := int(ids[start+i]); dec.choose(got[i], i == steps-1) != want {
			c.Pass = false
			c.Note = fmt.Sprintf("step %d chose token %d, want %d", i, dec.choose(got[i], i == steps-1), want)
			break
		}
	}
	return c
}

// closeLogits compares the logits of every step.
func (r *run) closeLogits(truth []float64, got [][]float32) *Check {
	var w worst
	V := len(got[0])
	for i, row := range got {
		var step worst
		for v, x := range row {
			step.add(math.Abs(float64(x)-truth[i*V+v]),
				func() string { return fmt.Sprintf("step %d, token %d", i, v) })
		}
		r.log("  gen.logits step %d: %.3g", i, step.err)
		w.add(step.err, func() string { return step.at })
	}
	return judge(w, 10*r.bounds.logits(r.largestLogit()))
}

// largestLogit is the one that the bound of the logits is made of.
func (r *run) largestLogit() float64 {
	truth, shape, err := floats(r.f.expect, "logits64")
	if err != nil || len(shape) != 3 {
		return 0
	}
	top, V := 0.0, shape[2]
	for i, t := range truth {
		if r.main.dec.Seg[i/V] != 0 {
			top = max(top, math.Abs(t))
		}
	}
	return top
}

// choose is the greedy token: ending tokens are suppressed, the last token may be forced.
func (d decoding) choose(logits []float32, last bool) int {
	if last && d.forced >= 0 {
		return d.forced
	}
	best := -1
	for i, v := range logits {
		if !slices.Contains(d.ends, i) && (best < 0 || v > logits[best]) {
			best = i
		}
	}
	return best
}

// selfConsistent compares cached decoding with one forward pass over the same tokens.
func (r *run) selfConsistent(reason string, prompt, ids []int32, got [][]float32, seq2seq bool) *Check {
	in, from := decodeStep(prompt, ids[:len(ids)-1], seq2seq)
	full, err := r.eng.Forward(in)
	if err != nil {
		return failed(err)
	}
	V := len(got[0])
	truth := make([]float64, len(got)*V)
	for i := range truth {
		truth[i] = float64(full[from*V+i])
	}
	c := r.closeLogits(truth, got)
	c.Note = "compared with the model's own uncached decoding: " + reason
	return c
}
