package train

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vulcast/vulcast/runtime/nn"
)

func TestSchedules(t *testing.T) {
	for _, tt := range []struct {
		name     string
		schedule Schedule
		warmup   int
		decay    int
		want     []float64 // of 8 steps, LR 1, MinLR 0.1
	}{
		{"constant", Constant, 0, 0, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{"warm-up", Constant, 4, 0, []float64{0.25, 0.5, 0.75, 1, 1, 1, 1, 1}},
		{"linear", Linear, 2, 0, []float64{0.5, 1, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1}},
		{"cosine", Cosine, 4, 0, []float64{0.25, 0.5, 0.75, 1, 0.1 + 0.9*(1+math.Sqrt2/2)/2, 0.55,
			0.1 + 0.9*(1-math.Sqrt2/2)/2, 0.1}},
		{"wsd", WSD, 2, 3, []float64{0.5, 1, 1, 1, 1, 0.7, 0.4, 0.1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			c.Steps, c.LR, c.MinLR, c.Schedule, c.Warmup, c.Decay = 8, 1, 0.1, tt.schedule, tt.warmup, tt.decay
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				if got := c.Rate(i+1, 8); math.Abs(got-want) > 1e-12 {
					t.Errorf("step %d: %g, want %g", i+1, got, want)
				}
			}
		})
	}
}

func TestScheduleBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := DefaultConfig()
		c.Steps = rapid.IntRange(1, 50).Draw(t, "steps")
		c.Schedule = Schedule(rapid.SampledFrom(Schedules()).Draw(t, "schedule"))
		c.Warmup = rapid.IntRange(0, c.Steps).Draw(t, "warmup")
		c.Decay = rapid.IntRange(0, c.Steps-c.Warmup).Draw(t, "decay")
		before := c.LR
		for i := c.Warmup + 1; i <= c.Steps; i++ {
			got := c.Rate(i, c.Steps)
			if got > before+1e-15 || got < c.MinLR-1e-15 {
				t.Fatalf("step %d: %g after %g", i, got, before)
			}
			before = got
		}
	})
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"schedule", func(c *Config) { c.Schedule = "cosin" },
			`schedule is "cosin", want one of constant, linear, cosine, wsd`},
		{"wsd without decay", func(c *Config) { c.Schedule = WSD },
			"decay is 0, want the number of steps at the end over which wsd lowers the learning rate"},
		{"wsd too long", func(c *Config) { c.Schedule, c.Decay = WSD, 950 },
			"warmup (100) and decay (950) together exceed steps (1000)"},
		{"several", func(c *Config) { c.Batch, c.Beta2 = 0, 1 },
			"batch is 0, want at least 1\nbeta2 is 1, want at least 0 and below 1"},
		{"no end", func(c *Config) { c.Steps = 0 }, "steps is 0, want steps, epochs or minutes above 0"},
		{"pattern", func(c *Config) { c.NoDecay = []string{"("} },
			"no-decay: error parsing regexp: missing closing ): `(`"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			tt.change(&c)
			if err := c.Check(); err == nil || err.Error() != tt.want {
				t.Errorf("error\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

func TestNoDecay(t *testing.T) {
	p, err := compile(DefaultNoDecay())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for name, dims := range map[string]int{"model.embed_tokens.weight": 2, "transformer.wte.weight": 2, "wpe.weight": 2,
		"model.layers.0.self_attn.q_proj.weight": 2, "model.norm.weight": 1, "h.0.attn.c_attn.bias": 1,
		"lm_head.weight": 2, "embeddings.word_embeddings.weight": 2} {
		got[name] = p.match(&nn.Param{Name: name, Shape: make([]int, dims)})
	}
	want := map[string]bool{"model.embed_tokens.weight": true, "transformer.wte.weight": true, "wpe.weight": true,
		"model.layers.0.self_attn.q_proj.weight": false, "model.norm.weight": true, "h.0.attn.c_attn.bias": true,
		"lm_head.weight": false, "embeddings.word_embeddings.weight": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFreeze(t *testing.T) {
	params := []*nn.Param{{Name: "a.weight"}, {Name: "b.weight"}}
	if err := Freeze(params, []string{`^a\.`}); err != nil || !params[0].Frozen || params[1].Frozen {
		t.Errorf("%v %v: %v", params[0].Frozen, params[1].Frozen, err)
	}
	err := Freeze(params, []string{"c", "b"})
	want := "freeze: no parameter matches \"c\"\nfreeze: no parameter is left to train"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestSettings(t *testing.T) {
	list := []Setting{{"lr", []string{"0.001"}, false}, {"steps", []string{"100"}, false},
		{"data", []string{"a b", `c"\` + "\t"}, true}, {"resume", []string{"true"}, false}, {"name", []string{"0x10"}, false},
		{"none", nil, true}, {"tiny", []string{"1e-08"}, false}, {"dotted", []string{"1.0.0"}, false}}
	var text bytes.Buffer
	if err := WriteSettings(&text, list); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.toml")
	if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSettings(path)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text.String())
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, tt := range []struct{ text, want string }{
		{"a = [[1]]", `"a" is []interface {}, want a text`}, {"[a]\nb = 1", `"a" is map`}, {"a = ", "line 1"},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSettings(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, in, want string }{
		{"new", filepath.Join(dir, "a", "b"), ""},
		{"empty", filepath.Join(dir, "a", "b"), ""},
		{"file", file, "the output folder is a file"},
		{"full", dir, "the output folder is not empty (a ...)"},
		{"below a file", filepath.Join(file, "x"), "not a directory"},
		{"not writable", "/proc/vulcast", "the output folder cannot be made"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckOutput(tt.in)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
