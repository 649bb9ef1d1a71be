package nn

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRopeFrequencies compares with transformers 5.17 on PyTorch 2.11 (CPU): _compute_*_parameters and
// Llama's default.
func TestRopeFrequencies(t *testing.T) {
	text, err := os.ReadFile("testdata/rope_frequencies.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		HeadDim  int            `json:"head_dim"`
		Max      int            `json:"max_position_embeddings"`
		Original int            `json:"original"`
		Rope     map[string]any `json:"rope"`
		Length   int            `json:"length"`
		InvFreq  []float64      `json:"inv_freq"`
		Scale    float64        `json:"scale"`
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			p, err := NewRopeParams(
				RopeParams{HeadDim: c.HeadDim, MaxPositions: c.Max, Original: c.Original},
				c.Rope,
			)
			if err != nil {
				t.Fatal(err)
			}
			inv, scale := p.Frequencies(c.Length)
			if math.Abs(scale-c.Scale) > 1e-12 || len(inv) != len(c.InvFreq) {
				t.Fatalf("scale %v, %d frequencies; want %v, %d", scale, len(inv), c.Scale, len(c.InvFreq))
			}
			worst, exact := 0.0, 0
			for i, want := range c.InvFreq {
				ulp := float64(math.Nextafter32(float32(want), 2) - float32(want))
				e := math.Abs(float64(inv[i])-want) / ulp
				worst = max(worst, e)
				if e == 0 {
					exact++
				}
			}
			t.Logf("%d of %d equal, worst %.0f ulp", exact, len(inv), worst)
			if worst > 2 {
				t.Errorf("worst difference %g ulp, want at most 2", worst)
			}
		})
	}
}

func TestRopeParamErrors(t *testing.T) {
	base := RopeParams{HeadDim: 8, MaxPositions: 64}
	for _, c := range []struct {
		name string
		in   map[string]any
		want string
	}{
		{"unknown type", map[string]any{"rope_type": "spiral"}, `"spiral" is not known`},
		{"old unknown", map[string]any{"type": "ntk"}, `"ntk" is not known`},
		{"no factor", map[string]any{"rope_type": "linear"}, "linear needs factor"},
		{"text factor", map[string]any{"rope_type": "linear", "factor": "2"}, "factor is 2, want a number"},
		{"short list", map[string]any{"rope_type": "longrope", "factor": 2.0, "short_factor": []any{1.0}, "long_factor": []any{1.0}}, "want 4"},
		{"llama3", map[string]any{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0}, "high_freq_factor"},
		{"sections", map[string]any{"mrope_section": []any{1.0, 2.0, 3.0}}, "sum to 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewRopeParams(base, c.in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRopeAxes(t *testing.T) {
	for _, c := range []struct {
		name     string
		sections []int
		inter    bool
		want     []uint32
	}{
		{"in turn", []int{2, 3, 3}, false, []uint32{0, 0, 1, 1, 1, 2, 2, 2}},
		{"interleaved", []int{4, 2, 2}, true, []uint32{0, 1, 2, 0, 1, 2, 0, 0}},
		{"none", nil, false, make([]uint32, 8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := RopeParams{HeadDim: 16, Partial: 1, Sections: c.sections, InterleavedSections: c.inter}
			if d := cmp.Diff(c.want, p.Axes()); d != "" {
				t.Error(d)
			}
		})
	}
}
