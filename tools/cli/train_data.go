package cli

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/tokenizer"
	"github.com/vulcast/vulcast/runtime/train"
)

// endToken is the special token of new tokenizers.
const endToken = "<|endoftext|>"

// loadData brings configuration, tokenizer and tokens together.
func (j *job) loadData() error {
	train, held, err := j.files()
	if err != nil {
		return err
	}
	j.say("%d files to train on, %d held out", len(train), len(held))
	if err := j.loadTokenizer(train); err != nil {
		return err
	}
	if err := j.loadConfig(); err != nil {
		return err
	}
	vocab := j.cfg.IntOr(0, "vocab_size", "text_config.vocab_size")
	if most := int(j.tok.MaxID()) + 1; vocab > 0 && most > vocab {
		return fmt.Errorf("the tokenizer has ids up to %d, but the model's vocabulary has %d tokens: they do not belong together",
			most-1, vocab)
	}
	if j.end, err = endOf(j.cfg, j.tok, j.f.model); err != nil {
		return err
	}
	m, err := j.describe()
	if err != nil {
		return err
	}
	j.kind = m.Arch().Kind
	if data.IsRecords(train[0]) {
		err = j.loadRecords(train, held, vocab)
	} else {
		err = j.loadTexts(train, held, vocab)
	}
	if err != nil {
		return err
	}
	return j.suit(vocab)
}

// suit makes the sets fit the kind of the model: masked models get masks, and labels that are not shifted.
func (j *job) suit(vocab int) error {
	if j.kind == model.Masked {
		mask, ok := maskToken(j.tok)
		if !ok {
			return errors.New("the model is a masked language model, but the tokenizer has no mask token ([MASK] or <mask>)")
		}
		masked := func(s data.Set) data.Set {
			return &data.Masked{Set: s, Mask: mask, Vocab: vocab, Part: j.f.maskPart, Seed: j.f.cfg.Seed,
				Special: j.tok.IsSpecial}
		}
		j.rows = masked(j.rows)
		if j.eval != nil {
			j.eval = masked(j.eval)
		}
	}
	return nil
}

// maskToken finds the token that stands for a gap.
func maskToken(tok *tokenizer.Tokenizer) (int32, bool) {
	for _, name := range []string{"[MASK]", "<mask>", "<|mask|>"} {
		if id, ok := tok.TokenID(name); ok {
			return id, true
		}
	}
	return 0, false
}

// loadTexts makes token streams of plain texts.
func (j *job) loadTexts(train, held []string, vocab int) (err error) {
	if j.kind == model.Seq2Seq {
		return errors.New("the model is an encoder-decoder, which plain texts do not teach: want records with source and target " +
			"(.jsonl, .csv, .parquet ...)")
	}
	o := data.TokenizeOptions{End: j.end, Vocab: vocab}
	if j.train, err = data.Tokenize(data.Texts(train), j.tok, o); err != nil {
		return err
	}
	if len(held) > 0 {
		if j.held, err = data.Tokenize(data.Texts(held), j.tok, o); err != nil {
			return err
		}
	}
	return j.cut()
}

// cut makes rows without padding of the token streams.
func (j *job) cut() (err error) {
	if j.rows, err = data.NewBlocks(j.train, j.f.seq, !j.f.join); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	j.say("%d tokens, %d rows of %d", len(j.train.IDs), j.rows.Len(), j.f.seq)
	if j.held == nil {
		return nil
	}
	if j.eval, err = data.NewBlocks(j.held, j.f.seq, !j.f.join); err != nil {
		return fmt.Errorf("evaluation: %w (--holdout 0 evaluates nothing)", err)
	}
	return nil
}

// files lists the texts to train on and those held out.
func (j *job) files() (train, held []string, err error) {
	if train, err = data.Files(j.f.data); err != nil {
		return nil, nil, fmt.Errorf("--data: %w", err)
	}
	if train, err = exclude(train, j.f.exclude); err != nil {
		return nil, nil, err
	}
	if len(train) == 0 {
		return nil, nil, errors.New("the data set is empty: --exclude leaves out every text of --data")
	}
	for _, name := range train {
		if data.IsRecords(name) != data.IsRecords(train[0]) {
			return nil, nil, fmt.Errorf("--data mixes records (%s) and plain texts (%s): give one kind", train[0], name)
		}
	}
	if len(j.f.evalData) > 0 {
		if held, err = data.Files(j.f.evalData); err != nil {
			return nil, nil, fmt.Errorf("--eval-data: %w", err)
		}
		return train, held, nil
	}
	if !data.IsRecords(train[0]) { // of records some are held out, not whole files
		train, held = data.Split(train, j.f.holdout, j.f.cfg.Seed)
	}
	return train, held, nil
}

// exclude leaves out paths that match a pattern, or lie in a folder of that name.
func exclude(files, patterns []string) ([]string, error) {
	for _, p := range patterns {
		if _, err := filepath.Match(p, ""); err != nil {
			return nil, fmt.Errorf("--exclude %s: %w", p, err)
		}
	}
	return slices.DeleteFunc(files, func(path string) bool {
		for _, p := range patterns {
			for _, part := range strings.Split(filepath.ToSlash(path), "/") {
				if ok, _ := filepath.Match(p, part); ok {
					return true
				}
			}
			if ok, _ := filepath.Match(p, path); ok {
				return true
			}
		}
		return false
	}), nil
}

// loadTokenizer loads the tokenizer of a package or flag, or trains one. A run that goes on has its own.
func (j *job) loadTokenizer(files []string) (err error) {
	kept := filepath.Join(j.f.out, "tokenizer.json")
	switch {
	case j.f.newTokens > 0 && j.f.resume && exists(kept):
		j.tok, err = tokenizer.Load(kept)
	case j.f.newTokens > 0:
		j.say("training a tokenizer of %d tokens", j.f.newTokens)
		var failed error
		j.tok, err = tokenizer.TrainBPE(j.contents(files, &failed), tokenizer.TrainOptions{VocabSize: j.f.newTokens,
			SpecialTokens: append([]string{endToken}, j.f.special...)})
		err = errors.Join(failed, err)
	case j.f.tokenizer != "":
		j.tok, err = tokenizer.Load(j.f.tokenizer)
	default:
		j.tok, err = tokenizer.Load(j.f.model)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// contents are the texts of files, or all texts in their records; failed gets the error that ends them early.
func (j *job) contents(files []string, failed *error) iter.Seq[string] {
	return func(yield func(string) bool) {
		if data.IsRecords(files[0]) {
			recordTexts(files, j.f.onBad == skipBad, yield, failed)
			return
		}
		for d, err := range data.Texts(files) {
			if err != nil {
				*failed = err
				return
			}
			if !yield(d.Text) {
				return
			}
		}
	}
}

// loadConfig reads the package's configuration, or makes that of a new model around the tokenizer.
func (j *job) loadConfig() (err error) {
	if j.f.model != "" {
		j.cfg, err = hfconfig.Load(j.f.model)
		return err
	}
	if j.cfg, err = newConfig(j.f.arch, j.f.shape, j.f.set); err != nil {
		return err
	}
	if exists(j.f.arch) {
		return nil
	}
	changed := func(key string) bool {
		return slices.ContainsFunc(j.f.set, func(s string) bool { return strings.HasPrefix(s, key+"=") })
	}
	set := map[string]any{"vocab_size": int(j.tok.MaxID()) + 1}
	if j.cfg.IntOr(0, "max_position_embeddings") < j.f.seq {
		set["max_position_embeddings"] = j.f.seq
	}
	if id, ok := j.tok.TokenID(endToken); ok {
		set["bos_token_id"], set["eos_token_id"] = id, id
	}
	for _, key := range slices.Sorted(mapKeys(set)) {
		if changed(key) {
			continue
		}
		if err := j.cfg.Set(key, set[key]); err != nil {
			return err
		}
	}
	return nil
}

func mapKeys(m map[string]any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// endOf is the token behind each text: the one that generation stops at.
func endOf(cfg *hfconfig.File, tok *tokenizer.Tokenizer, dir string) (int32, error) {
	if id, ok := tok.TokenID(endToken); ok && dir == "" {
		return id, nil
	}
	ids := cfg.IntsOr(nil, "eos_token_id", "text_config.eos_token_id")
	if err := cfg.Err(); err != nil {
		return -1, err
	}
	if len(ids) > 0 {
		return int32(ids[0]), nil
	}
	return -1, nil
}

// plan refuses what does not fit the device.
func (j *job) plan(dev *gpu.Device) (train.Plan, error) {
	typ, err := parseDType(j.f.dtype)
	if err != nil {
		return train.Plan{}, err
	}
	j.opts = model.Options{Weights: typ, Activations: typ, Train: true, Kernels: j.kernels, Seed: j.f.cfg.Seed,
		Adjust: j.adjust}
	describe := func() (model.Model, error) { return j.describe() }
	free := dev.Info.MemoryBytes - dev.MemoryUse()
	return train.Fit(describe, dev, j.opts, j.f.cfg, j.f.seq, free)
}

// describe makes the model without memory.
func (j *job) describe() (model.Model, error) {
	m, err := model.Describe(j.cfg, j.archs)
	if err != nil {
		return nil, err
	}
	return m, j.adjust(m)
}
