package adapter

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vulcast/vulcast/runtime/nn"
)

// targets lists the layers that get adapters, in the order of the model.
//
// Errors: nothing matches; with strict also a name of the list that matches nothing.
func (c *Config) targets(linears []*nn.Linear, vocab int, strict bool) ([]*nn.Linear, error) {
	match, err := c.Targets.matcher()
	if err != nil {
		return nil, fmt.Errorf("targets: %w", err)
	}
	exclude, err := c.Exclude.matcher()
	if err != nil {
		return nil, fmt.Errorf("exclude_modules: %w", err)
	}
	inLayer, err := c.layerFilter()
	if err != nil {
		return nil, err
	}
	var list []*nn.Linear
	var known []string
	for _, l := range linears {
		if l.Tied {
			continue
		}
		known = append(known, l.Module)
		if c.Targets.Expr == AllLinear && l.Weight.Shape[0] == vocab {
			continue // the output embedding
		}
		if match(l.Module) && !exclude(l.Module) && inLayer(l.Module) {
			list = append(list, l)
		}
	}
	for _, name := range c.Targets.List {
		one := func(module string) bool { return endsWith(module, name) }
		if strict && !slices.ContainsFunc(known, one) {
			return nil, fmt.Errorf("targets: the model has no linear layer %q of its own; it has %s (embeddings, tied heads and "+
				"packed experts cannot be targets)", name, kinds(known))
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("targets: no linear layer of the model matches; it has %s", kinds(known))
	}
	return list, nil
}

// kinds are the last parts of names, each once.
func kinds(modules []string) string {
	var list []string
	for _, m := range modules {
		if last := m[strings.LastIndex(m, ".")+1:]; !slices.Contains(list, last) {
			list = append(list, last)
		}
	}
	return strings.Join(list, ", ")
}

func endsWith(module, name string) bool { return module == name || strings.HasSuffix(module, "."+name) }

// matcher tells whether a module is chosen.
func (n Names) matcher() (func(module string) bool, error) {
	if n.Expr == AllLinear {
		return func(string) bool { return true }, nil
	}
	if n.Expr == "" {
		return func(module string) bool {
			return slices.ContainsFunc(n.List, func(name string) bool { return endsWith(module, name) })
		}, nil
	}
	re, err := regexp.Compile(`^(?:` + n.Expr + `)$`)
	if err != nil {
		return nil, err
	}
	return re.MatchString, nil
}

// layerNumber finds the first number of a module's name, as layers_to_transform without a pattern does.
var layerNumber = regexp.MustCompile(`.*?\.[^.]*\.(\d+)\.`)

// layerFilter tells whether a module is in one of the chosen layers.
func (c *Config) layerFilter() (func(module string) bool, error) {
	if c.Layers == nil {
		return func(string) bool { return true }, nil
	}
	list := []*regexp.Regexp{layerNumber}
	if len(c.LayersIn) > 0 {
		list = nil
	}
	for _, p := range c.LayersIn {
		re, err := regexp.Compile(`^.*\.` + p + `\.(\d+)\.`)
		if err != nil {
			return nil, fmt.Errorf("layers_pattern: %w", err)
		}
		list = append(list, re)
	}
	return func(module string) bool {
		for _, re := range list {
			if m := re.FindStringSubmatch(module); m != nil {
				i, err := strconv.Atoi(m[1])
				return err == nil && slices.Contains(c.Layers, i)
			}
		}
		return false
	}, nil
}

// value is that of the first pattern that fits a module, otherwise def.
func value(list []Pattern, module string, def float64) (float64, error) {
	for _, p := range list {
		re, err := regexp.Compile(`^(?:.*\.)?(?:` + p.Key + `)$`)
		if err != nil {
			return 0, fmt.Errorf("pattern %q: %w", p.Key, err)
		}
		if re.MatchString(module) {
			return p.Value, nil
		}
	}
	return def, nil
}
