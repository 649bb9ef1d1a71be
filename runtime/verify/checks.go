package verify

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// engine runs a model. The one that matters drives a device (device.go); tests have others.
type engine interface {
	// Forward returns the logits [B T V] of the decoder, or of the whole model.
	Forward(in step) ([]float32, error)
	// Train runs forward and backward and returns the loss.
	Train(in step) (float64, error)
	// Loss runs forward and returns the loss.
	Loss(in step) (float64, error)
	// Update does one optimizer step with the present gradients.
	Update(h nn.Hyper) error
	// Tensors visits gradients or parameters in the layout of the checkpoint, those that the model uses.
	Tensors(grads bool, visit func(name string, shape []int, elems []float32) error) error
	// Untouched are the checkpoint's tensors that the model does not use.
	Untouched() []string
	// Reload brings the checkpoint's values back, and forgets the optimizer's state.
	Reload() error
	// Decode feeds prompt, then one token of feed after the other, through the caches (an encoder-decoder
	// model encodes the prompt and is fed from its start token on) and returns the last logits [V] of each
	// step.
	Decode(prompt, feed []int32, seq2seq bool) ([][]float32, error)
	// Save writes the checkpoint.
	Save(dir string) error
}

// run is one fixture being checked.
type run struct {
	f      *Fixture
	bounds bounds
	eng    engine
	main   step
	exempt func(check string) string
	log    func(format string, a ...any) // per-tensor errors
}

// skip is the outcome of a check that cannot run.
func skip(format string, a ...any) *Check {
	return &Check{Pass: true, Skipped: fmt.Sprintf(format, a...)}
}

func failed(err error) *Check { return &Check{Err: Number(math.Inf(1)), Error: err.Error()} }

func judge(w worst, bound float64) *Check {
	return &Check{Err: Number(w.err), Bound: Number(bound), Pass: w.seen && w.err <= bound, Worst: w.at}
}

func (r *run) check(name string) *Check {
	switch name {
	case "logits":
		return r.logits(r.main, "logits64", "input_ids", r.bounds.logits)
	case "left":
		return r.left()
	case "loss":
		return r.loss()
	case "grads":
		return r.grads()
	case "adamw2":
		return r.adamw2()
	case "train8":
		return r.train8()
	case "generate":
		return r.generate()
	}
	return r.roundtrip()
}

// logits compares at the positions that count.
func (r *run) logits(in step, want, inputs string, boundOf func(float64) float64) *Check {
	if !r.f.has(want, inputs) {
		return skip("no %s", want)
	}
	truth, shape, err := floats(r.f.expect, want)
	if err != nil {
		return failed(err)
	}
	got, err := r.eng.Forward(in)
	if err != nil {
		return failed(err)
	}
	rows := in.dec
	V := shape[len(shape)-1]
	if len(shape) != 3 || shape[0] != rows.B || shape[1] != rows.T || len(got) != len(truth) {
		return failed(fmt.Errorf("%d logits for %d x %d tokens, the reference has %v", len(got), rows.B,
			rows.T, shape))
	}
	var w worst
	top := 0.0
	for i, t := range truth {
		if rows.Seg[i/V] == 0 {
			continue
		}
		top = max(top, math.Abs(t))
		w.add(math.Abs(float64(got[i])-t), func() string {
			return fmt.Sprintf("row %d, position %d, token %d", i/V/rows.T, i/V%rows.T, i%V)
		})
	}
	return judge(w, boundOf(top))
}

func (r *run) left() *Check {
	if !r.f.has("left.logits", "left.input_ids", "left.attention_mask") {
		return skip("no left.logits")
	}
	in, err := r.f.leftStep()
	if err != nil {
		return failed(err)
	}
	return r.logits(in, "left.logits", "left.input_ids", r.bounds.left)
}

func (r *run) loss() *Check {
	if !r.f.has("loss", "labels") {
		return skip("no loss")
	}
	truth, _, err := floats(r.f.expect, "loss")
	if err != nil {
		return failed(err)
	}
	got, err := r.eng.Loss(r.main)
	if err != nil {
		return failed(err)
	}
	var w worst
	w.add(math.Abs(got-truth[0]), func() string { return "" })
	return judge(w, r.bounds.loss(truth[0]))
}

// grads compares every gradient.
func (r *run) grads() *Check {
	if r.f.grads == nil {
		return skip("no grads.safetensors")
	}
	if _, err := r.eng.Train(r.main); err != nil {
		return failed(err)
	}
	c := r.tensors(r.f.grads, true, r.bounds.grads())
	return c
}

// adamw2 does two steps and compares the losses and every parameter.
func (r *run) adamw2() *Check {
	if r.f.adamw2 == nil {
		return skip("no adamw2.safetensors")
	}
	if err := r.eng.Reload(); err != nil {
		return failed(err)
	}
	var losses []float64
	for i := range 2 {
		l, err := r.eng.Train(r.main)
		if err != nil {
			return failed(err)
		}
		losses = append(losses, l)
		h := nn.Hyper{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-3, Step: i + 1}
		if err := r.eng.Update(h); err != nil {
			return failed(err)
		}
	}
	l, err := r.eng.Loss(r.main)
	if err != nil {
		return failed(err)
	}
	top, err := r.largestParameter()
	if err != nil {
		return failed(err)
	}
	c := r.tensors(r.f.adamw2, false, r.bounds.params(top))
	if !r.f.has("adamw2.losses") {
		return c
	}
	d := r.losses("adamw2.losses", append(losses, l))
	if !d.Pass {
		c.Pass = false
		c.Note = fmt.Sprintf("losses off by %.3g relative, bound %.3g, at %s", float64(d.Err),
			float64(d.Bound), d.Worst)
		c.Error = d.Error
	}
	return c
}

// largestParameter of the reference after two steps.
func (r *run) largestParameter() (float64, error) {
	_, projected, err := seedOf(r.f.adamw2)
	if err != nil {
		return 0, err
	}
	top := 0.0
	for _, name := range r.f.adamw2.Names() {
		if info, _ := r.f.adamw2.Info(name); !info.DType.Float() {
			continue
		}
		v, _, err := floats(r.f.adamw2, name)
		if err != nil {
			return 0, err
		}
		if projected && len(v) > 0 {
			v = v[:1]
		}
		if l := largest(v); !math.IsInf(l, 0) { // some towers keep infinite limits
			top = max(top, l)
		}
	}
	return top, nil
}

// train8 does eight steps with decay and clipping and compares the losses.
func (r *run) train8() *Check {
	if !r.f.has("train8.losses") {
		return skip("no train8.losses")
	}
	if err := r.eng.Reload(); err != nil {
		return failed(err)
	}
	var losses []float64
	for i := range 8 {
		l, err := r.eng.Train(r.main)
		if err != nil {
			return failed(err)
		}
		losses = append(losses, l)
		h := nn.Hyper{LR: 3e-3, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 0.1, Step: i + 1, MaxNorm: 1}
		if err := r.eng.Update(h); err != nil {
			return failed(err)
		}
	}
	return r.losses("train8.losses", losses)
}

// losses compares losses relative to the reference's.
func (r *run) losses(name string, got []float64) *Check {
	truth, _, err := floats(r.f.expect, name)
	if err != nil {
		return failed(err)
	}
	if len(truth) != len(got) {
		return failed(fmt.Errorf("%s has %d losses, want %d", name, len(truth), len(got)))
	}
	var w worst
	for i, t := range truth {
		w.add(math.Abs(got[i]-t)/math.Abs(t), func() string { return fmt.Sprintf("loss %d", i) })
		r.log("  %s[%d] is %.9g, want %.9g", name, i, got[i], t)
	}
	return judge(w, r.bounds.losses())
}

// roundtrip saves the loaded model and compares bytes.
func (r *run) roundtrip() *Check {
	if err := r.eng.Reload(); err != nil {
		return failed(err)
	}
	dir, err := os.MkdirTemp("", "verify-*")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	if err := r.eng.Save(dir); err != nil {
		return failed(err)
	}
	var w worst
	w.add(0, func() string { return "" })
	changed := 0.0
	note := func(name string) {
		changed++
		w.add(changed, func() string { return name })
		r.log("  roundtrip: %s changed", name)
	}
	before, err1 := os.ReadFile(filepath.Join(r.f.Dir, "config.json"))
	after, err2 := os.ReadFile(filepath.Join(dir, "config.json"))
	if err1 != nil || err2 != nil || string(before) != string(after) {
		note("config.json")
	}
	if err := compareSets(r.f.Dir, dir, note); err != nil {
		return failed(err)
	}
	return judge(w, 0)
}

// compareSets calls note for each tensor that is not the same in both.
func compareSets(a, b string, note func(string)) error {
	x, err := safetensors.Open(filepath.Join(a, "model.safetensors"))
	if err != nil {
		return err
	}
	defer x.Close()
	y, err := safetensors.Open(b)
	if err != nil {
		return err
	}
	defer y.Close()
	for _, name := range x.Names() {
		i, _ := x.Info(name)
		j, ok := y.Info(name)
		p, err := x.Raw(name)
		if err != nil {
			return err
		}
		q, _ := y.Raw(name)
		if !ok || i.DType != j.DType || fmt.Sprint(i.Shape) != fmt.Sprint(j.Shape) || string(p) != string(q) {
			note(name)
		}
	}
	for _, name := range y.Names() {
		if _, ok := x.Info(name); !ok {
			note(name + " (new)")
		}
	}
	return nil
}
