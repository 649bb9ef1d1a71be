package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/train"
)

// writeStart keeps in the run's folder what resuming needs: the settings and a tokenizer that was trained.
func (j *job) writeStart(c *cobra.Command) error {
	if j.f.newTokens > 0 {
		if err := j.tok.Save(filepath.Join(j.f.out, "tokenizer.json")); err != nil {
			return err
		}
	}
	text, err := settingsText(c)
	if err != nil {
		return err
	}
	return replace(filepath.Join(j.f.out, "run.toml"), text)
}

// replace writes a file under another name and renames it.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// openModel loads the package, or makes random weights.
func (j *job) openModel(dev *gpu.Device) (*model.Loaded, error) {
	if j.f.model != "" {
		l, err := model.Open(j.f.model, dev, j.archs, j.opts)
		if err == nil && j.adapter != nil {
			if err = adaptable(l); err != nil {
				return nil, errors.Join(err, l.Close())
			}
		}
		return l, err
	}
	return model.Create(j.cfg, j.f.cfg.Seed, dev, j.archs, j.opts)
}

// resultFolder is where the result goes.
func (j *job) resultFolder() string {
	if j.adapter != nil {
		return filepath.Join(j.f.out, "adapter")
	}
	return filepath.Join(j.f.out, "model")
}

// writePackage writes FOLDER/adapter, or FOLDER/model: what the package had, or the files of a new model.
func (j *job) writePackage(l *model.Loaded, t *train.Trainer) error {
	if j.adapter != nil {
		return j.adapter.Save(l.Dev, j.resultFolder())
	}
	dir := j.resultFolder()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if j.f.model == "" || j.f.tokenizer != "" {
		if err := j.writeTokenizer(dir); err != nil {
			return err
		}
	}
	return l.Save(dir, t.SaveOptions())
}

// writeTokenizer writes the files beside the weights of a new model.
func (j *job) writeTokenizer(dir string) error {
	if err := j.tok.Save(filepath.Join(dir, "tokenizer.json")); err != nil {
		return err
	}
	settings := map[string]any{"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false,
		"model_max_length": j.cfg.IntOr(j.f.seq, "max_position_embeddings")}
	generation := map[string]any{}
	if j.end >= 0 {
		name, _ := j.tok.Token(j.end) // its id came from the tokenizer or was checked against it
		settings["bos_token"], settings["eos_token"] = name, name
		generation["bos_token_id"], generation["eos_token_id"] = j.end, j.end
	}
	for name, v := range map[string]any{"tokenizer_config.json": settings, "generation_config.json": generation} {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		if err := replace(filepath.Join(dir, name), append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// trainResult is the result of the command.
type trainResult struct {
	Model   string            `json:"model"`
	Steps   int               `json:"steps"`
	Tokens  int64             `json:"tokens"`
	Seconds float64           `json:"seconds"`
	Loss    float64           `json:"loss"` // of the last step
	Eval    *train.Evaluation `json:"eval,omitempty"`
	Unigram float64           `json:"unigram_loss,omitempty"`
	Curve   string            `json:"curve"`
}

// printResult says what came out, and draws the loss curve with the baseline.
func (j *job) printResult(w io.Writer, res train.Result) error {
	out := trainResult{Model: j.resultFolder(), Steps: res.Steps, Tokens: res.Tokens, Seconds: res.Seconds,
		Loss: res.Loss, Eval: res.Eval, Curve: filepath.Join(j.f.out, "loss.png")}
	var refs []train.Reference
	if res.Eval != nil {
		var err error
		if out.Unigram, err = j.unigram(); err != nil {
			return err
		}
		refs = append(refs, train.Reference{Name: "unigram baseline", Loss: out.Unigram})
	}
	list, err := train.ReadMetrics(filepath.Join(j.f.out, "metrics.jsonl"))
	if err != nil {
		return err
	}
	if err := train.Curve(out.Curve, "loss", list, refs...); err != nil {
		return err
	}
	if j.f.json {
		return writeJSON(w, out)
	}
	fmt.Fprintf(w, "%d steps, %d tokens in %.0f s\n", out.Steps, out.Tokens, out.Seconds)
	if out.Eval != nil {
		fmt.Fprintf(w, "held out: loss %.4f (perplexity %.2f) over %d tokens; unigram baseline %.4f (perplexity %.2f)\n",
			out.Eval.Loss, out.Eval.Perplexity, out.Eval.Tokens, out.Unigram, math.Exp(out.Unigram))
	}
	_, err = fmt.Fprintf(w, "model: %s\nloss curve: %s\n", out.Model, out.Curve)
	return err
}

// unigram is the loss of the training texts' token frequencies on the labels of the evaluation.
func (j *job) unigram() (float64, error) {
	u := data.NewUnigram(j.train.IDs, max(int(j.tok.MaxID())+1, j.cfg.IntOr(0, "vocab_size", "text_config.vocab_size")))
	sum, n := 0.0, 0
	err := data.InOrder(j.eval, j.f.cfg.Batch, j.f.cfg.EvalBatches, func(b *data.Batch) error {
		for _, id := range b.Dec.Labels {
			if id != nn.Ignored {
				sum += u.Loss(id)
				n++
			}
		}
		return nil
	})
	return sum / float64(max(1, n)), err
}

// dryRun is what --dry-run prints.
type dryRun struct {
	Texts     int        `json:"texts"`
	Tokens    int        `json:"tokens"`
	Rows      int        `json:"rows"`
	HeldOut   int        `json:"held_out_tokens"`
	StepRows  int        `json:"rows_per_step"`
	Steps     int        `json:"steps"` // 0 when only the time is given
	Plan      train.Plan `json:"memory"`
	FirstText string     `json:"first_row"`
}

func (j *job) printDryRun(w io.Writer, plan train.Plan) error {
	c := j.f.cfg
	d := dryRun{Texts: j.train.Docs(), Tokens: len(j.train.IDs), Rows: j.rows.Len(), StepRows: c.Batch * c.Accumulate,
		Steps: c.Steps, Plan: plan, FirstText: j.tok.Decode(j.train.IDs[:min(j.f.seq, len(j.train.IDs))], false)}
	if c.Steps == 0 && c.Epochs > 0 {
		d.Steps = int(math.Ceil(c.Epochs * float64(d.Rows) / float64(d.StepRows)))
	}
	if j.held != nil {
		d.HeldOut = len(j.held.IDs)
	}
	if j.f.json {
		return writeJSON(w, d)
	}
	_, err := fmt.Fprintf(w, "texts %d\ntokens %d, held out %d\nrows %d of %d tokens, %d a step\nsteps %d\nparameters %d, "+
		"trained %d\nmemory %s\nfirst row:\n%s\n", d.Texts, d.Tokens, d.HeldOut, d.Rows, j.f.seq, d.StepRows, d.Steps,
		plan.Parameters, plan.Trained, train.ByteText(plan.Total), d.FirstText)
	return err
}
