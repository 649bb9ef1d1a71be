package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/tokenizer"
)

type tokenizeFlags struct {
	json, special   bool
	tokenizer, diff string
}

func tokenizeCommand(*app) *cobra.Command {
	var f tokenizeFlags
	c := &cobra.Command{
		Use:   "tokenize [flags] --tokenizer PATH [TEXT...]",
		Short: "Show the tokens of a text",
		Long: `Show the tokens of a text and their ids, one a line.

PATH is a folder or a tokenizer file: tokenizer.json, a sentencepiece model, tiktoken ranks, vocab.txt, vocab.json
with merges.txt. Without TEXT, standard input is read.

With --json, every line of standard input is a text as a JSON string, and every line of output an object: ids without and
with special tokens (ids, ids_special), what the former decode to (decoded), and what the latter decode to when special
tokens are left out (decoded_skip_special).

With --diff, the text is encoded by a second tokenizer too, and the first difference is shown; the exit status is 1 when
there is one.`,
		RunE: func(c *cobra.Command, args []string) error {
			if f.tokenizer == "" {
				return errors.New("--tokenizer is missing: a tokenizer file, or a folder that has one")
			}
			tok, err := tokenizer.Load(f.tokenizer)
			if err != nil {
				return err
			}
			if f.json {
				if len(args) > 0 || f.diff != "" {
					return errors.New("--json reads texts from standard input: leave TEXT and --diff out")
				}
				return tokenizeLines(c.InOrStdin(), c.OutOrStdout(), tok)
			}
			text, err := textOf(c.InOrStdin(), args)
			if err != nil {
				return err
			}
			if f.diff != "" {
				return tokenizeDiff(c.OutOrStdout(), tok, f, text)
			}
			return tokenizeText(c.OutOrStdout(), tok, f, text)
		},
	}
	c.Flags().StringVar(&f.tokenizer, "tokenizer", "", "tokenizer file or folder")
	c.Flags().BoolVar(&f.json, "json", false, "read JSON strings, write JSON objects, one a line")
	c.Flags().BoolVar(&f.special, "special", false, "add the special tokens of the tokenizer")
	c.Flags().StringVar(&f.diff, "diff", "", "compare with this tokenizer")
	return c
}

// textOf joins arguments with spaces, or reads in.
func textOf(in io.Reader, args []string) (string, error) {
	if len(args) > 0 {
		return strings.Join(args, " "), nil
	}
	text, err := io.ReadAll(in)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("standard input is not UTF-8 text")
	}
	return string(text), err
}

func tokenizeText(w io.Writer, tok *tokenizer.Tokenizer, f tokenizeFlags, text string) error {
	ids, err := tok.EncodeChecked(text, f.special)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	for _, id := range ids {
		name, _ := tok.Token(id) // ids of an encoding are in the vocabulary
		fmt.Fprintf(b, "%d\t%q\n", id, name)
	}
	return b.Flush()
}

// tokenized is a line of --json.
type tokenized struct {
	IDs         []int32 `json:"ids"`
	Special     []int32 `json:"ids_special"`
	Decoded     string  `json:"decoded"`
	SkipSpecial string  `json:"decoded_skip_special"`
}

func tokenizeLines(in io.Reader, out io.Writer, tok *tokenizer.Tokenizer) error {
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	r := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err == io.EOF && strings.TrimSpace(line) == "" {
			return w.Flush()
		}
		if err != nil && err != io.EOF {
			return err
		}
		var text string
		if err := json.Unmarshal([]byte(line), &text); err != nil {
			return errors.Join(fmt.Errorf("standard input, line %d: want a JSON string: %w", n, err), w.Flush())
		}
		t, err := tokenizeOne(tok, text)
		if err != nil {
			return errors.Join(fmt.Errorf("standard input, line %d: %w", n, err), w.Flush())
		}
		if err := enc.Encode(t); err != nil {
			return err
		}
		if r.Buffered() == 0 { // somebody may wait for the answer
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

func tokenizeOne(tok *tokenizer.Tokenizer, text string) (tokenized, error) {
	ids, err := tok.EncodeChecked(text, false)
	if err != nil {
		return tokenized{}, err
	}
	special, err := tok.EncodeChecked(text, true)
	if err != nil {
		return tokenized{}, err
	}
	t := tokenized{ids, special, tok.Decode(ids, false), tok.Decode(special, true)}
	if t.IDs == nil {
		t.IDs = []int32{}
	}
	if t.Special == nil {
		t.Special = []int32{}
	}
	return t, nil
}

// tokenizeDiff shows where two tokenizers part.
func tokenizeDiff(w io.Writer, a *tokenizer.Tokenizer, f tokenizeFlags, text string) error {
	b, err := tokenizer.Load(f.diff)
	if err != nil {
		return err
	}
	x, err := a.EncodeChecked(text, f.special)
	if err != nil {
		return err
	}
	y, err := b.EncodeChecked(text, f.special)
	if err != nil {
		return fmt.Errorf("%s: %w", f.diff, err)
	}
	if slices.Equal(x, y) {
		_, err := fmt.Fprintf(w, "the same %d tokens\n", len(x))
		return err
	}
	at := 0
	for at < min(len(x), len(y)) && x[at] == y[at] {
		at++
	}
	fmt.Fprintf(w, "%d and %d tokens; they differ from token %d on, after %q\n", len(x), len(y), at,
		tail(a.Decode(x[:at], false), 40))
	show(w, "< ", a, x[at:])
	show(w, "> ", b, y[at:])
	return errQuiet
}

// show prints the first few tokens.
func show(w io.Writer, mark string, tok *tokenizer.Tokenizer, ids []int32) {
	for _, id := range ids[:min(8, len(ids))] {
		name, _ := tok.Token(id) // ids of an encoding are in the vocabulary
		fmt.Fprintf(w, "%s%d\t%q\n", mark, id, name)
	}
}

// tail is the end of a text, at most n characters.
func tail(text string, n int) string {
	r := []rune(text)
	return string(r[max(0, len(r)-n):])
}
