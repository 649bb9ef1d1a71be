package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/hfconfig"
)

// shape is the size of a model.
type shape struct {
	layers, width, heads, kvHeads, mlp, vocab, positions int
}

// shapes are the named sizes of `--shape`.
func shapes() map[string]shape {
	return map[string]shape{
		"1m":   {4, 128, 4, 2, 384, 4096, 1024},
		"2m":   {4, 192, 6, 3, 512, 4096, 1024},
		"3m":   {6, 192, 6, 3, 512, 4096, 1024},
		"25m":  {12, 384, 6, 3, 1024, 8192, 2048},
		"135m": {30, 576, 9, 3, 1536, 49152, 2048},
		"360m": {32, 960, 15, 5, 2560, 49152, 2048},
		"1b":   {16, 2048, 32, 8, 8192, 128256, 4096},
	}
}

func shapeNames() string {
	var list []string
	for name := range shapes() {
		list = append(list, name)
	}
	all := shapes()
	sort.Slice(list, func(i, j int) bool { return all[list[i]].size() < all[list[j]].size() })
	return strings.Join(list, ", ")
}

func (s shape) size() int { return s.layers*s.width*(s.width+3*s.mlp) + s.vocab*s.width }

// newConfig makes the configuration of a new model. arch is a config.json or a model_type; a model_type takes
// its sizes from the named shape, unless that is "". changes are key=value pairs, values as JSON or plain
// text.
func newConfig(arch, name string, changes []string) (*hfconfig.File, error) {
	var text []byte
	if st, err := os.Stat(arch); err == nil && !st.IsDir() {
		if text, err = os.ReadFile(arch); err != nil {
			return nil, err
		}
	} else {
		s, ok := shapes()[name]
		if !ok {
			return nil, fmt.Errorf("--shape is %q, want one of %s", name, shapeNames())
		}
		if text, err = json.MarshalIndent(s.keys(arch), "", "  "); err != nil {
			return nil, err
		}
		text = append(text, '\n')
		arch = "config of the shape " + name
	}
	cfg, err := hfconfig.Parse(arch, text)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		key, value, ok := strings.Cut(c, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--set is %q, want key=value", c)
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value
		}
		if err := cfg.Set(key, v); err != nil {
			return nil, fmt.Errorf("--set %s: %w", c, err)
		}
	}
	return cfg, nil
}

// keys are the usual keys of a configuration.
func (s shape) keys(modelType string) map[string]any {
	return map[string]any{"model_type": modelType, "num_hidden_layers": s.layers, "hidden_size": s.width,
		"num_attention_heads": s.heads, "num_key_value_heads": s.kvHeads, "intermediate_size": s.mlp,
		"vocab_size": s.vocab, "max_position_embeddings": s.positions, "hidden_act": "silu", "rms_norm_eps": 1e-5,
		"rope_theta": 10000.0, "initializer_range": 1 / math.Sqrt(float64(s.width)), "tie_word_embeddings": true, "dtype": "float32"}
}

// parseDType reads f32, bf16 or f16.
func parseDType(flag string) (gpu.DType, error) {
	for _, t := range []gpu.DType{gpu.F32, gpu.BF16, gpu.F16} {
		if strings.EqualFold(t.String(), flag) {
			return t, nil
		}
	}
	return 0, fmt.Errorf("--dtype is %q, want f32, bf16 or f16", flag)
}
