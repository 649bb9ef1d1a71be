package adapter

import (
	"strings"
	"testing"

	"github.com/vulcast/vulcast/runtime/nn"
)

func linears() []*nn.Linear {
	var list []*nn.Linear
	for _, m := range []string{"model.layers.0.self_attn.q_proj", "model.layers.0.mlp.up_proj", "model.layers.1.self_attn.q_proj",
		"model.layers.10.self_attn.v_proj", "lm_head"} {
		out := 8
		if m == "lm_head" {
			out = 61
		}
		list = append(list, &nn.Linear{Module: m, Weight: &nn.Param{Name: m + ".weight", Shape: []int{out, 4}}})
	}
	return list
}

func TestTargets(t *testing.T) {
	for _, c := range []struct{ name, config, want string }{
		{"names", `"target_modules": ["q_proj"]`, "model.layers.0.self_attn.q_proj model.layers.1.self_attn.q_proj"},
		{"ends of names are whole parts", `"target_modules": ["proj", "mlp.up_proj"]`, "model.layers.0.mlp.up_proj"},
		{"regular expression", `"target_modules": ".*\\.1\\d\\..*"`, "model.layers.10.self_attn.v_proj"},
		{"all-linear", `"target_modules": "all-linear", "exclude_modules": ["q_proj"]`,
			"model.layers.0.mlp.up_proj model.layers.10.self_attn.v_proj"},
		{"layers", `"target_modules": ["q_proj", "lm_head"], "layers_to_transform": 1`, "model.layers.1.self_attn.q_proj"},
		{"layers by pattern", `"target_modules": ["v_proj"], "layers_to_transform": [10], "layers_pattern": "layers"`,
			"model.layers.10.self_attn.v_proj"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf, err := Parse([]byte(`{"peft_type": "LORA", "r": 2, "lora_alpha": 4, ` + c.config + `}`))
			if err != nil {
				t.Fatal(err)
			}
			list, err := conf.targets(linears(), 61, false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range list {
				got = append(got, l.Module)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s, want %s", s, c.want)
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	list := []Pattern{{"0.self_attn.q_proj", 2}, {"q_proj", 3}}
	for module, want := range map[string]float64{"model.layers.0.self_attn.q_proj": 2, "model.layers.1.self_attn.q_proj": 3,
		"model.layers.1.xq_proj": 8} {
		if got, err := value(list, module, 8); got != want || err != nil {
			t.Errorf("%s: %g, %v, want %g", module, got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for config, want := range map[string]string{
		`"use_dora": true`:              "use_dora is true: this is not supported",
		`"bias": "all"`:                 `bias is "all": this is not supported`,
		`"modules_to_save": ["x"]`:      `modules_to_save is ["x"]: this is not supported`,
		`"init_lora_weights": "pissa"`:  `init_lora_weights is "pissa"`,
		`"r": 0`:                        "rank is 0, want at least 1",
		`"target_modules": null`:        "no targets",
		`"rank_pattern": {"q": 1.5}`:    "whole number",
		`"layers_to_transform": "many"`: "layers_to_transform",
	} {
		_, err := Parse([]byte(`{"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q"], ` + config + `}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", config, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q"], "rank_pattern": {"a": 1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := c.Text()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(again); err != nil {
			t.Fatalf("%s became %s: %v", text, again, err)
		}
	})
}
