// Package traintest trains and runs small models of real architectures on a device.
package traintest

import (
	"strings"
	"sync"
	"testing"

	"github.com/vulcast/vulcast/generated"
	"github.com/vulcast/vulcast/generated/kernels"
	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

var openDevice = sync.OnceValues(func() (*gpu.Device, error) { return gpu.Open(gpu.Options{}) })

// device opens the default device once, or skips with the reason.
func device(t testing.TB) *gpu.Device {
	t.Helper()
	d, err := openDevice()
	if err != nil {
		t.Skipf("no Vulkan device: %v", err)
	}
	return d
}

// tinyConfig is a model of about twenty thousand parameters.
const tinyConfig = `{"model_type": "llama", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
	"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 61, "max_position_embeddings": 64,
	"rms_norm_eps": 1e-5, "hidden_act": "silu", "initializer_range": 0.05, "tie_word_embeddings": true,
	"eos_token_id": 0}`

// tiny makes the tiny model with random weights.
func tiny(t testing.TB, dev *gpu.Device, o model.Options) *model.Loaded {
	t.Helper()
	return tinyOf(t, dev, o, tinyConfig)
}

// dropoutConfig is a model whose dropouts are on in training.
const dropoutConfig = `{"model_type": "gpt2", "n_embd": 32, "n_inner": 48, "n_layer": 2, "n_head": 4, "vocab_size": 61,
	"n_positions": 64, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "initializer_range": 0.05,
	"attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1}`

// tinyOf makes the model of a configuration with random weights.
func tinyOf(t testing.TB, dev *gpu.Device, o model.Options, text string) *model.Loaded {
	t.Helper()
	if o.Activations != gpu.F32 { // rows of logits in 16 bits must have an even length
		text = strings.Replace(text, "61", "64", 1)
	}
	cfg, err := hfconfig.Parse("config.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Kernels = &kernels.NN
	l, err := model.Create(cfg, 1, dev, generated.All(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// tokens is a stream that can be learnt: each token follows from the two before it.
func tokens(docs, length int) *data.Tokens {
	t := &data.Tokens{}
	for d := range docs {
		ids := []int32{int32(1 + d%60), int32(1 + d*7%60)}
		for len(ids) < length {
			n := len(ids)
			ids = append(ids, 1+(ids[n-1]*3+ids[n-2]*5)%60)
		}
		t.Append(append(ids, 0))
	}
	return t
}

func blocks(t testing.TB, x *data.Tokens, length int) *data.Blocks {
	t.Helper()
	b, err := data.NewBlocks(x, length, true)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tinyRun is a configuration of few steps.
func tinyRun(steps int) train.Config {
	c := train.DefaultConfig()
	c.Steps, c.Batch, c.LR, c.MinLR, c.Warmup, c.SaveMinutes = steps, 4, 5e-3, 5e-4, 2, 0
	return c
}

// values reads every parameter.
func values(t testing.TB, l *model.Loaded) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for _, p := range l.Model.Params() {
		v := make([]float32, p.Value.Len())
		if err := l.Dev.Read(p.Value, v); err != nil {
			t.Fatal(err)
		}
		all[p.Name] = v
	}
	return all
}
