package traintest

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/generate"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

// trained makes a tiny model that has learnt a little, so that its choices are not ties.
func trained(t *testing.T) *model.Loaded {
	t.Helper()
	tr, l := start(t, tinyRun(20), train.Options{})
	if _, err := tr.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	return l
}

// uncached continues a prompt greedily by whole forward passes.
func uncached(t *testing.T, l *model.Loaded, prompt []int32, n int) []int32 {
	t.Helper()
	all := append([]int32(nil), prompt...)
	for range n {
		in, err := model.NewBatch(l.Dev, model.RowsOf(1, len(all), all, nil, false), false)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, likeliest(t, l, &model.Inputs{Dec: in}))
		if err := model.ReleaseBatch(l.Dev, in); err != nil {
			t.Fatal(err)
		}
	}
	return all[len(prompt):]
}

// likeliest is the token that a whole forward pass puts behind the last one of its only row.
func likeliest(t *testing.T, l *model.Loaded, in *model.Inputs) int32 {
	t.Helper()
	r := l.NewRecorder()
	logits := l.Model.Logits(r, in)
	rec, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Run(); err != nil {
		t.Fatal(err)
	}
	v := make([]float32, logits.Len())
	if err := l.Dev.Read(logits, v); err != nil {
		t.Fatal(err)
	}
	v = v[len(v)-logits.Cols():]
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return int32(best)
}

func TestGenerate(t *testing.T) {
	l := trained(t)
	g, err := generate.New(l, nil, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	prompts := [][]int32{{5, 9, 12, 33, 2}, {7, 11}, {60, 1, 3, 4, 5, 6, 7, 8}}
	o := generate.Options{MaxTokens: 9}
	batch, err := g.Run(context.Background(), prompts, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range prompts {
		want := uncached(t, l, p, 9)
		if diff := cmp.Diff(want, batch[i].Tokens); diff != "" {
			t.Errorf("prompt %d in a batch (-uncached +cached)\n%s", i, diff)
		}
		alone, err := g.Run(context.Background(), prompts[i:i+1], o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, alone[0].Tokens); diff != "" || alone[0].Reason != generate.Length {
			t.Errorf("prompt %d alone (-uncached +cached)\n%s", i, diff)
		}
	}
	s := generate.Options{MaxTokens: 20, Temperature: 1, Seed: 3}
	a, err := g.Run(context.Background(), prompts[:1], s, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Run(context.Background(), prompts[:2], s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a[0], b[0]); diff != "" {
		t.Errorf("the same seed in another batch (-want +got)\n%s", diff)
	}
}

func TestGenerateStops(t *testing.T) {
	l := tiny(t, device(t), model.Options{})
	g, err := generate.New(l, nil, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ctx := context.Background()
	free, err := g.Run(ctx, [][]int32{{1, 2, 3}}, generate.Options{Temperature: 2}, nil)
	if err != nil || len(free[0].Tokens) != 61 {
		t.Fatalf("%d tokens, want the 61 that fit: %v", len(free[0].Tokens), err)
	}
	stop := free[0].Tokens[4]
	got, err := g.Run(ctx, [][]int32{{1, 2, 3}}, generate.Options{Temperature: 2, StopTokens: []int32{stop}}, nil)
	if err != nil || got[0].Reason != generate.StopToken || got[0].Tokens[len(got[0].Tokens)-1] != stop {
		t.Errorf("%v, want an end at %d: %v", got, stop, err)
	}
	ending, cancel := context.WithCancel(ctx)
	got, err = g.Run(ending, [][]int32{{1, 2, 3}}, generate.Options{}, func(generate.Token) error { cancel(); return nil })
	if err != nil || got[0].Reason != generate.Interrupted || len(got[0].Tokens) != 1 {
		t.Errorf("%v, want an interruption: %v", got, err)
	}
	for _, tt := range []struct {
		name    string
		prompts [][]int32
		want    string
	}{
		{"none", nil, "no prompt"},
		{"empty", [][]int32{{1}, {}}, "prompt 1 is empty"},
		{"range", [][]int32{{1, 61}}, "prompt 0: token 1 has id 61, but the model's vocabulary has 61 tokens (0 to 60)"},
		{"long", [][]int32{make([]int32, 64)}, "the prompt has 64 tokens, the model allows 64 positions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := g.Run(ctx, tt.prompts, generate.Options{}, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}
