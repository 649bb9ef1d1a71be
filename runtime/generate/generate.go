package generate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/tokenizer"
)

// Token is one chosen token, told as soon as it is known.
type Token struct {
	Row  int
	ID   int32
	Text string // that became certain: often empty, and never what could be part of a stop string
}

// Reason is why a row ended.
type Reason string

// The reasons.
const (
	Length      Reason = "length"      // MaxTokens, or the model's positions, are used up
	StopToken   Reason = "stop_token"  // one of StopTokens was chosen
	StopString  Reason = "stop_string" // the text holds one of Stop
	Interrupted Reason = "interrupted" // the context ended
)

// Output is what was written for one prompt.
type Output struct {
	Tokens []int32
	Text   string // without special tokens and stop strings; "" without a tokenizer
	Reason Reason
}

// Stats are the speed of the last Run.
type Stats struct {
	Prompt, Written         int // tokens, of all rows
	PromptTime, WrittenTime time.Duration
	CacheBytes              int64
}

// Generator writes text with a model. Not for use by several goroutines.
type Generator struct {
	l     *model.Loaded
	tok   *tokenizer.Tokenizer
	limit int // positions; 0 = no limit
	s     *session
	Stats Stats
}

// chunk is how many tokens of a prompt are read at a time.
const chunk = 512

// New makes a generator. tok may be nil: outputs have no text then. limit is the longest sequence that the
// model allows, 0 = any.
//
// Errors: a model that does not generate.
func New(l *model.Loaded, tok *tokenizer.Tokenizer, limit int) (*Generator, error) {
	if l.Arch.Kind == model.Masked {
		return nil, fmt.Errorf("%s is a masked language model: it fills gaps and does not generate text", l.Arch.Name)
	}
	return &Generator{l: l, tok: tok, limit: limit}, nil
}

// Close gives the caches back.
func (g *Generator) Close() error {
	if g.s == nil {
		return nil
	}
	err := g.s.close()
	g.s = nil
	return err
}

// Profile repeats the last step of T tokens a row, with the time of every kernel: for measurements.
func (g *Generator) Profile(T int) ([]gpu.KernelTime, error) {
	if g.s != nil {
		for _, fresh := range []bool{false, true} {
			if c := g.s.steps[stepKey{T, fresh}]; c != nil {
				return c.rec.Profile()
			}
		}
	}
	return nil, fmt.Errorf("profile: no step of %d tokens has run", T)
}

// row is a prompt on its way.
type row struct {
	out     Output
	history []int32
	text    *stream
	done    bool
}

// Run continues prompts, all of them at the same time. on is called for every token, in the order of the
// rows; an error of it ends the run. When ctx ends, the outputs so far are returned without error and say so.
//
// Errors: an empty prompt; a prompt that leaves no room; options that make no sense; a token id outside the
// vocabulary; too little memory; those of the device.
func (g *Generator) Run(ctx context.Context, prompts [][]int32, o Options, on func(Token) error) ([]Output, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if len(prompts) == 0 {
		return nil, errors.New("no prompt")
	}
	g.Stats = Stats{}
	feed, err := g.decoderPrompts(prompts)
	if err != nil {
		return nil, err
	}
	most, err := g.room(longest(feed), o.MaxTokens)
	if err != nil {
		return nil, err
	}
	if err := g.open(len(prompts), max(longest(feed)+most, longest(prompts))); err != nil {
		return nil, err
	}
	began := time.Now()
	if g.l.Arch.Kind == model.Seq2Seq {
		if err := g.s.encode(prompts, g.pad()); err != nil {
			return nil, err
		}
	}
	logits, err := g.prefill(ctx, feed)
	if err != nil {
		return nil, err
	}
	g.Stats.PromptTime = time.Since(began)
	rows := make([]*row, len(prompts))
	for i := range rows {
		rows[i] = &row{history: append([]int32(nil), feed[i]...), text: g.stream(o.Stop)}
	}
	began = time.Now()
	err = g.write(ctx, rows, logits, most, o, on)
	g.Stats.WrittenTime = time.Since(began)
	outs := make([]Output, len(rows))
	for i, r := range rows {
		outs[i] = r.out
	}
	return outs, err
}

// decoderPrompts are what the decoder begins with: the prompts, or the start token of an encoder-decoder
// model.
func (g *Generator) decoderPrompts(prompts [][]int32) ([][]int32, error) {
	vocab := g.l.TextConfig().IntOr(0, "vocab_size")
	for i, p := range prompts {
		if len(p) == 0 {
			return nil, fmt.Errorf("prompt %d is empty: begin with at least one token", i)
		}
		for j, id := range p {
			if id < 0 || vocab > 0 && int(id) >= vocab {
				return nil, fmt.Errorf("prompt %d: token %d has id %d, but the model's vocabulary has %d tokens (0 to %d)", i, j,
					id, vocab, vocab-1)
			}
		}
		g.Stats.Prompt += len(p)
	}
	if g.l.Arch.Kind != model.Seq2Seq {
		return prompts, nil
	}
	c := g.l.TextConfig()
	start := c.IntOr(-1, "decoder_start_token_id", "bos_token_id", "pad_token_id")
	if start < 0 {
		return nil, fmt.Errorf("%s: no decoder_start_token_id: the decoder has nothing to begin with", c.Name())
	}
	feed := make([][]int32, len(prompts))
	for i := range feed {
		feed[i] = []int32{int32(start)}
	}
	return feed, nil
}

// pad is the token that fills up short prompts; nothing sees it.
func (g *Generator) pad() int32 { return int32(max(0, g.l.TextConfig().IntOr(0, "pad_token_id"))) }

// room is how many tokens can be written behind a prompt.
func (g *Generator) room(prompt, wanted int) (int, error) {
	if g.limit == 0 {
		if wanted == 0 {
			wanted = chunk
		}
		return wanted, nil
	}
	room := g.limit - prompt
	if room < 1 {
		return 0, fmt.Errorf("the prompt has %d tokens, the model allows %d positions: shorten the prompt", prompt, g.limit)
	}
	if wanted == 0 {
		return room, nil
	}
	return min(room, wanted), nil
}

// open makes or reuses caches for B rows of n tokens. Capacities are powers of two, within the model's limit.
func (g *Generator) open(B, n int) error {
	S := 64
	for S < n {
		S *= 2
	}
	if g.limit > 0 && S > g.limit {
		S = max(n, g.limit)
	}
	if g.s != nil && (g.s.B != B || g.s.S < n || g.s.S > 4*S) {
		if err := g.Close(); err != nil {
			return err
		}
	}
	if g.s == nil {
		var err error
		if g.s, err = newSession(g.l, B, S); err != nil {
			return err
		}
	}
	g.Stats.CacheBytes = g.s.state.Bytes()
	return g.s.reset()
}

// prefill reads the prompts, padded on the left to one length, and returns the logits behind them.
func (g *Generator) prefill(ctx context.Context, prompts [][]int32) (logits []float32, err error) {
	n, B := longest(prompts), len(prompts)
	for from := 0; from < n; from += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		T := min(chunk, n-from)
		tokens, seg := make([]int32, B*T), make([]int32, B*T)
		for b, p := range prompts {
			for t := range T {
				at := from + t - (n - len(p))
				tokens[b*T+t] = g.pad()
				if at >= 0 {
					tokens[b*T+t], seg[b*T+t] = p[at], 1
				}
			}
		}
		if logits, err = g.s.feed(tokens, seg); err != nil {
			return nil, err
		}
	}
	return logits, nil
}

// write chooses tokens until every row has ended.
func (g *Generator) write(ctx context.Context, rows []*row, logits []float32, most int, o Options,
	on func(Token) error) error {
	sample := &sampler{o: o}
	V := len(logits) / len(rows)
	next := make([]int32, len(rows))
	for step := range most {
		left := 0
		for b, r := range rows {
			if r.done {
				continue
			}
			id, err := sample.choose(logits[b*V:(b+1)*V], r.history, b, step)
			if err != nil {
				return fmt.Errorf("prompt %d, token %d: %w", b, step, err)
			}
			next[b] = id
			g.Stats.Written++
			if err := r.take(b, id, step == most-1, o.StopTokens, on); err != nil {
				return err
			}
			if !r.done {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return interrupt(rows, on)
		}
		var err error
		if logits, err = g.s.feed(next, nil); err != nil {
			return err
		}
	}
	return nil
}

// take adds a token to its row and tells it.
func (r *row) take(b int, id int32, last bool, stops []int32, on func(Token) error) error {
	r.out.Tokens = append(r.out.Tokens, id)
	r.history = append(r.history, id)
	t := Token{Row: b, ID: id}
	for _, s := range stops {
		r.done = r.done || s == id
	}
	switch {
	case r.done:
		r.out.Reason = StopToken
		t.Text = r.text.end()
	default:
		if t.Text, r.done = r.text.add(id); r.done {
			r.out.Reason = StopString
		} else if last {
			r.done, r.out.Reason = true, Length
			t.Text += r.text.end()
		}
	}
	r.out.Text += t.Text
	if on == nil {
		return nil
	}
	return on(t)
}

// interrupt ends the rows that have not.
func interrupt(rows []*row, on func(Token) error) error {
	for b, r := range rows {
		if r.done {
			continue
		}
		r.done, r.out.Reason = true, Interrupted
		text := r.text.end()
		r.out.Text += text
		if text == "" || on == nil {
			continue
		}
		if err := on(Token{Row: b, ID: -1, Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// stream makes the text side of a row.
func (g *Generator) stream(stop []string) *stream {
	if g.tok == nil {
		return &stream{push: func(int32) string { return "" }, flush: func() string { return "" }}
	}
	s := g.tok.Stream()
	return &stream{push: s.Push, flush: s.Flush, stop: stop}
}
