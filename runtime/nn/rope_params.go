package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// RopeParams describes rotary positions in the words of config.json. Zero values mean that the key is absent.
type RopeParams struct {
	Type         string  // rope_type (older: type): one of ropeTypes
	Theta        float64 // rope_theta; 0 = 10000
	HeadDim      int     // width of a head
	Partial      float64 // partial_rotary_factor: the share of the head that is rotated; 0 = 1
	MaxPositions int     // max_position_embeddings
	Original     int     // original_max_position_embeddings; 0 = MaxPositions
	Factor       float64 // factor; of yarn and longrope 0 = MaxPositions / Original

	AttentionFactor         float64 // attention_factor, a multiplier of cosines and sines
	BetaFast, BetaSlow      float64 // of yarn; 0 = 32 and 1
	MScale, MScaleAllDim    float64 // of yarn
	NoTruncate              bool    // of yarn: truncate = false
	ShortFactor, LongFactor []float64
	ShortMScale, LongMScale float64 // of longrope: multipliers by length, with the short factors throughout
	Alpha                   float64 // of dynamic: the base is stretched by this, whatever the length
	LowFactor, HighFactor   float64 // low_freq_factor and high_freq_factor, of llama3
	Sections                []int   // mrope_section: frequencies ruled by each row of positions
	InterleavedSections     bool    // mrope_interleaved: the rows alternate instead of following one another
}

var ropeTypes = []string{"default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}

// ropeAliases are older spellings; mrope is the default type with Sections, xdrope the dynamic one.
var ropeAliases = map[string]string{"": "default", "mrope": "default", "su": "longrope", "xdrope": "dynamic"}

// NewRopeParams reads a rope_parameters or rope_scaling object (nil: none) into base, which holds what the
// configuration says outside of it: HeadDim, MaxPositions, and Theta, Partial and Original where those are
// top-level keys. Theta and Partial of the object win over base, Original of base over the object. An unknown
// type or a missing key is an error that names it. Source: transformers 5.17, modeling_rope_utils.py.
func NewRopeParams(base RopeParams, object map[string]any) (RopeParams, error) {
	p := base
	r := ropeReader{object: object}
	p.Type = r.text("rope_type", r.text("type", base.Type))
	if alias, ok := ropeAliases[p.Type]; ok {
		p.Type = alias
	}
	if !slices.Contains(ropeTypes, p.Type) {
		return p, fmt.Errorf(
			"rope_type %q is not known; known are %s",
			p.Type,
			strings.Join(ropeTypes, ", "),
		)
	}
	p.Theta = r.number("rope_theta", base.Theta)
	p.Partial = r.number("partial_rotary_factor", base.Partial)
	if base.Original == 0 {
		p.Original = int(r.number("original_max_position_embeddings", 0))
	}
	p.Factor = r.number("factor", base.Factor)
	p.AttentionFactor = r.number("attention_factor", base.AttentionFactor)
	p.BetaFast, p.BetaSlow = r.number("beta_fast", base.BetaFast), r.number("beta_slow", base.BetaSlow)
	p.MScale, p.MScaleAllDim = r.number(
		"mscale",
		base.MScale,
	), r.number(
		"mscale_all_dim",
		base.MScaleAllDim,
	)
	p.NoTruncate = !r.flag("truncate", !base.NoTruncate)
	p.ShortFactor, p.LongFactor = r.list("short_factor"), r.list("long_factor")
	p.LowFactor = r.number("low_freq_factor", base.LowFactor)
	p.HighFactor = r.number("high_freq_factor", base.HighFactor)
	p.Alpha = r.number("alpha", base.Alpha)
	p.ShortMScale, p.LongMScale = r.number("short_mscale", base.ShortMScale), r.number("long_mscale", base.LongMScale)
	for _, v := range r.list("mrope_section") {
		p.Sections = append(p.Sections, int(v))
	}
	p.InterleavedSections = r.flag("mrope_interleaved", base.InterleavedSections)
	if r.err != nil {
		return p, r.err
	}
	return p, p.complete()
}

// complete fills defaults in and checks what each type needs.
func (p *RopeParams) complete() error {
	if p.Theta == 0 {
		p.Theta = 10000
	}
	if p.Partial == 0 {
		p.Partial = 1
	}
	if p.Original == 0 {
		p.Original = p.MaxPositions
	}
	if dim := float64(p.Dim()); p.Type == "dynamic" && p.Alpha > 0 && dim > 2 { // a base stretched once and for all
		p.Type, p.Theta = "default", p.Theta*math.Pow(p.Alpha, dim/(dim-2))
	}
	if p.HeadDim < 1 || p.Theta <= 0 || p.Partial < 0 || p.Partial > 1 || p.Dim() < 1 {
		return fmt.Errorf(
			"rope: head width %d, rope_theta %g, partial_rotary_factor %g: all must be positive, the last at most 1",
			p.HeadDim,
			p.Theta,
			p.Partial,
		)
	}
	need := p.needs()
	for _, key := range sortedKeys(need) {
		if !need[key] {
			return fmt.Errorf("rope_type %s needs %s", p.Type, key)
		}
	}
	if p.Type == "longrope" {
		half := p.Dim() / 2
		if len(p.ShortFactor) != half || len(p.LongFactor) != half {
			return fmt.Errorf("rope_type longrope: short_factor and long_factor have %d and %d numbers, want %d, "+
				"half of the %d rotated features", len(p.ShortFactor), len(p.LongFactor), half, p.Dim())
		}
	}
	return p.checkSections()
}

// needs tells, for every key that the type cannot do without, whether it is there.
func (p *RopeParams) needs() map[string]bool {
	factor, original := p.Factor > 0, p.Original > 0
	switch p.Type {
	case "linear":
		return map[string]bool{"factor": factor}
	case "dynamic":
		return map[string]bool{
			"factor": factor, "max_position_embeddings": p.MaxPositions > 0,
			"more than 2 rotated features": p.Dim() > 2,
		}
	case "yarn", "longrope":
		return map[string]bool{
			"factor (or max_position_embeddings)": factor || p.MaxPositions > 0,
			"original_max_position_embeddings":    original,
		}
	case "llama3":
		return map[string]bool{
			"factor": factor, "original_max_position_embeddings": original, "low_freq_factor": p.LowFactor > 0,
			"high_freq_factor above low_freq_factor": p.HighFactor > p.LowFactor,
		}
	}
	return nil
}

func (p *RopeParams) checkSections() error {
	sum := 0
	for _, s := range p.Sections {
		sum += s
	}
	if p.Sections != nil && (sum != p.Dim()/2 || len(p.Sections) < 3) {
		return fmt.Errorf(
			"rope: mrope_section %v must have at least 3 parts that sum to %d, half of the rotated features",
			p.Sections,
			p.Dim()/2,
		)
	}
	return nil
}

// Dim is the number of features of a head that are rotated: all of them for the proportional type, which
// gives the features beyond its share a frequency of zero.
func (p *RopeParams) Dim() int {
	if p.Type == "proportional" {
		return p.HeadDim / 2 * 2
	}
	return int(float64(p.HeadDim)*p.Partial) / 2 * 2
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ropeReader reads members of a JSON object and keeps the first error.
type ropeReader struct {
	object map[string]any
	err    error
}

func (r *ropeReader) has(key string) bool { return r.object[key] != nil }

func (r *ropeReader) wrong(key, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("rope: %s is %v, want %s", key, r.object[key], want)
	}
}

func (r *ropeReader) number(key string, def float64) float64 {
	if !r.has(key) {
		return def
	}
	v, ok := asNumber(r.object[key])
	if !ok {
		r.wrong(key, "a number")
	}
	return v
}

func (r *ropeReader) text(key, def string) string {
	if !r.has(key) {
		return def
	}
	v, ok := r.object[key].(string)
	if !ok {
		r.wrong(key, "a string")
	}
	return v
}

func (r *ropeReader) flag(key string, def bool) bool {
	if !r.has(key) {
		return def
	}
	v, ok := r.object[key].(bool)
	if !ok {
		r.wrong(key, "true or false")
	}
	return v
}

func (r *ropeReader) list(key string) []float64 {
	if !r.has(key) {
		return nil
	}
	items, ok := r.object[key].([]any)
	if !ok {
		r.wrong(key, "a list of numbers")
	}
	out := make([]float64, len(items))
	for i, item := range items {
		if out[i], ok = asNumber(item); !ok {
			r.wrong(key, "a list of numbers")
		}
	}
	return out
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
