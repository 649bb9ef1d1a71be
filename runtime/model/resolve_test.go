package model

import (
	"fmt"
	"testing"

	"github.com/vulcast/vulcast/runtime/hfconfig"
)

func TestResolve(t *testing.T) {
	archs := []*Arch{
		{Name: "one", ModelTypes: []string{"one", "one_text"}, Packages: []Package{
			{ModelType: "pack", ConfigPath: "text_config", Set: `{"n": 7}`}}},
		{Name: "two", ModelTypes: []string{"two"}},
		{Name: "spelled", Packages: []Package{{ModelType: "spelled", ConfigPath: "text_config", Text: "two"}}},
	}
	for _, tt := range []struct{ name, config, want string }{
		{"plain", `{"model_type": "two", "n": 1}`, "two 1"},
		{"alias", `{"model_type": "one_text", "n": 1}`, "one 1"},
		{"text at the top", `{"model_type": "pack", "n": 1}`, "one 7"},
		{"no nested type", `{"model_type": "pack", "text_config": {"n": 1}}`, "one 7"},
		{"usual text", `{"model_type": "pack", "text_config": {"model_type": "one_text", "n": 1}}`, "one 7"},
		{"other text", `{"model_type": "pack", "text_config": {"model_type": "two", "n": 1}}`, "two 7"},
		{"kept text", `{"model_type": "spelled", "text_config": {"model_type": "two", "n": 1}}`, "spelled 1"},
		{"unknown text", `{"model_type": "pack", "text_config": {"model_type": "oneness"}}`,
			`c: text_config.model_type "oneness" of a pack is no known architecture (near: one, one_text)`},
	} {
		f, err := hfconfig.Parse("c", []byte(tt.config))
		if err != nil {
			t.Fatal(err)
		}
		r, err := resolve(f, archs)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %d", r.arch.Name, r.cfg.Int("n"))
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
