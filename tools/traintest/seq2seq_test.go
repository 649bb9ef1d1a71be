package traintest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/generated"
	"github.com/vulcast/vulcast/generated/kernels"
	"github.com/vulcast/vulcast/runtime/generate"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// tinyTranslator is an encoder-decoder whose large initial weights make its choices depend on the source.
const tinyTranslator = `{"model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
	"vocab_size": 61, "initializer_range": 0.5, "tie_word_embeddings": false, "feed_forward_proj": "gated-gelu",
	"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}`

// TestGenerateSources: one generator, sources of several lengths one after the other and together: the keys and values of
// each are made anew.
func TestGenerateSources(t *testing.T) {
	dev := device(t)
	cfg, err := hfconfig.Parse("config.json", []byte(tinyTranslator))
	if err != nil {
		t.Fatal(err)
	}
	l, err := model.Create(cfg, 1, dev, generated.All(), model.Options{Weights: gpu.F32, Activations: gpu.F32, Kernels: &kernels.NN})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g, err := generate.New(l, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	sources := [][]int32{{5, 9, 12, 33, 2}, {7, 11, 40, 8, 31}, {60, 3, 4, 5, 6, 7, 8, 9, 10}, {22}}
	o := generate.Options{MaxTokens: 7}
	want := make([][]int32, len(sources))
	differ := false
	for i, p := range sources {
		want[i] = uncachedTarget(t, l, p, 7)
		differ = differ || i > 0 && !cmp.Equal(want[0], want[i])
		got, err := g.Run(context.Background(), sources[i:i+1], o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got[0].Tokens); diff != "" {
			t.Errorf("source %d alone (-uncached +cached)\n%s", i, diff)
		}
	}
	if !differ {
		t.Error("every source gives the same text: the test proves nothing")
	}
	got, err := g.Run(context.Background(), sources, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sources {
		if diff := cmp.Diff(want[i], got[i].Tokens); diff != "" {
			t.Errorf("source %d in a batch (-uncached +cached)\n%s", i, diff)
		}
	}
}

// uncachedTarget writes n tokens for a source greedily by whole forward passes.
func uncachedTarget(t *testing.T, l *model.Loaded, source []int32, n int) []int32 {
	t.Helper()
	all := []int32{0}
	for range n {
		in := &model.Inputs{Dec: batchOf(t, l, all), Enc: batchOf(t, l, source)}
		all = append(all, likeliest(t, l, in))
		if err := model.ReleaseBatch(l.Dev, in.Dec); err != nil {
			t.Fatal(err)
		}
		if err := model.ReleaseBatch(l.Dev, in.Enc); err != nil {
			t.Fatal(err)
		}
	}
	return all[1:]
}

// batchOf puts one row of tokens on the device.
func batchOf(t *testing.T, l *model.Loaded, tokens []int32) *nn.Batch {
	t.Helper()
	b, err := model.NewBatch(l.Dev, model.RowsOf(1, len(tokens), tokens, nil, false), false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
