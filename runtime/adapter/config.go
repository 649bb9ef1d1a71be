// Package adapter adds low-rank adapters to the linear layers of any model, and reads and writes them as PEFT does.
//
// A target layer y = x W^T becomes y = x W^T + s (x A^T) B^T, with s = alpha/rank, or alpha/sqrt(rank) (rsLoRA). Only A and B
// train; everything else is frozen and has neither gradients nor optimizer state.
//
// Source: Hu et al. 2021, LoRA; Kalajdzievski 2023, A Rank Stabilization Scaling Factor for Fine-Tuning with LoRA.
package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Config is an adapter_config.json.
type Config struct {
	Rank     int
	Alpha    float64
	RankOf   []Pattern // rank_pattern, in the file's order
	AlphaOf  []Pattern // alpha_pattern
	Targets  Names
	Exclude  Names
	Layers   []int    // layers_to_transform; nil = all
	LayersIn []string // layers_pattern
	Dropout  float64
	RSLoRA   bool
	Init     string // "default" (Kaiming uniform) or "gaussian"
	Base     string // base_model_name_or_path
	FanInOut bool   // fan_in_fan_out: weights are stored as [in, out]

	keep map[string]any // what else the file said, for writing
}

// A Pattern gives the layers whose names end like Key, a regular expression, a value of their own.
type Pattern struct {
	Key   string
	Value float64
}

// Names choose layers: a list of names or ends of names, or a regular expression of whole names.
type Names struct {
	List []string
	Expr string // "all-linear" are all but the output embedding
}

// AllLinear is the Names.Expr of every linear layer but the output embedding.
const AllLinear = "all-linear"

// noted are keys without meaning for what is computed here.
var noted = []string{"auto_mapping", "inference_mode", "peft_version", "revision", "task_type", "megatron_core",
	"qalora_group_size", "runtime_config", "ensure_weight_tying"}

// neutral are the values with which PEFT writes what is off.
var neutral = []string{"null", "false", "{}", "[]", `""`, `"none"`}

// Read reads DIR/adapter_config.json.
//
// Errors: a file that is no LoRA configuration; a setting that is not supported, by its name.
func Read(dir string) (*Config, error) {
	path := filepath.Join(dir, "adapter_config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no adapter_config.json: want the folder of an adapter", dir)
	}
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads the text of an adapter_config.json.
func Parse(text []byte) (*Config, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	c := &Config{keep: map[string]any{}, Init: "default"}
	kind, lora := "", json.RawMessage("true")
	fields := map[string]any{"peft_type": &kind, "r": &c.Rank, "lora_alpha": &c.Alpha, "rank_pattern": (*patterns)(&c.RankOf),
		"alpha_pattern": (*patterns)(&c.AlphaOf), "target_modules": &c.Targets, "exclude_modules": &c.Exclude,
		"layers_to_transform": (*oneOrMore[int])(&c.Layers), "layers_pattern": (*oneOrMore[string])(&c.LayersIn),
		"lora_dropout": &c.Dropout, "use_rslora": &c.RSLoRA, "init_lora_weights": &lora, "base_model_name_or_path": &c.Base,
		"fan_in_fan_out": &c.FanInOut}
	var errs []error
	for key, raw := range all {
		switch at, ok := fields[key]; {
		case ok:
			if err := json.Unmarshal(raw, at); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
		case slices.Contains(noted, key):
			c.keep[key] = raw
		case !slices.Contains(neutral, string(raw)):
			errs = append(errs, fmt.Errorf("%s is %s: this is not supported", key, raw))
		}
	}
	if kind != "LORA" {
		errs = append(errs, fmt.Errorf("peft_type is %q, want LORA: others are not supported", kind))
	}
	switch string(lora) {
	case "true", "false":
	case `"gaussian"`:
		c.Init = "gaussian"
	default:
		errs = append(errs, fmt.Errorf("init_lora_weights is %s, want true or \"gaussian\": others are not supported", lora))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return c, errors.Join(append(errs, c.Check())...)
}

// Check reports every value that makes no sense.
func (c *Config) Check() error {
	var errs []error
	if c.Rank < 1 {
		errs = append(errs, fmt.Errorf("rank is %d, want at least 1", c.Rank))
	}
	if math.IsNaN(c.Alpha) || math.IsInf(c.Alpha, 0) {
		errs = append(errs, fmt.Errorf("alpha is %g, want a number", c.Alpha))
	}
	if c.Dropout < 0 || c.Dropout >= 1 {
		errs = append(errs, fmt.Errorf("dropout is %g, want at least 0 and below 1", c.Dropout))
	}
	if c.Init != "default" && c.Init != "gaussian" {
		errs = append(errs, fmt.Errorf("initialization is %q, want default or gaussian: others are not supported", c.Init))
	}
	if len(c.Targets.List) == 0 && c.Targets.Expr == "" {
		errs = append(errs, errors.New("no targets: want names of linear layers, a regular expression, or "+AllLinear))
	}
	for _, p := range c.RankOf {
		if p.Value < 1 || p.Value != math.Trunc(p.Value) {
			errs = append(errs, fmt.Errorf("rank_pattern: %q has rank %g, want a whole number of at least 1", p.Key, p.Value))
		}
	}
	return errors.Join(errs...)
}

// Text is the configuration as PEFT writes it: all keys sorted, two spaces of indent.
func (c *Config) Text() ([]byte, error) {
	all := map[string]any{"auto_mapping": nil, "bias": "none", "inference_mode": true, "layer_replication": nil,
		"loftq_config": map[string]any{}, "lora_bias": false, "megatron_config": nil, "megatron_core": "megatron.core",
		"modules_to_save": nil, "revision": nil, "task_type": nil, "trainable_token_indices": nil, "use_dora": false,
		"eva_config": nil, "corda_config": nil, "target_parameters": nil}
	for key, v := range c.keep {
		all[key] = v
	}
	all["peft_type"], all["r"], all["lora_alpha"], all["lora_dropout"] = "LORA", c.Rank, c.Alpha, decimal(c.Dropout)
	all["rank_pattern"], all["alpha_pattern"] = patterns(c.RankOf), patterns(c.AlphaOf)
	all["target_modules"], all["exclude_modules"] = c.Targets, c.Exclude
	all["layers_to_transform"], all["layers_pattern"] = orNull(c.Layers), orNull(c.LayersIn)
	all["use_rslora"], all["fan_in_fan_out"], all["init_lora_weights"] = c.RSLoRA, c.FanInOut, true
	if c.Init == "gaussian" {
		all["init_lora_weights"] = c.Init
	}
	if all["base_model_name_or_path"] = nil; c.Base != "" {
		all["base_model_name_or_path"] = c.Base
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(all)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decimal is a float that is written with its point.
type decimal float64

// MarshalJSON implements json.Marshaler.
func (d decimal) MarshalJSON() ([]byte, error) {
	s := strconv.FormatFloat(float64(d), 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return []byte(s), nil
}

func orNull[T any](list []T) any {
	if list == nil {
		return nil
	}
	return list
}
