package model

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/vulcast/vulcast/runtime/hfconfig"
)

// resolved is an architecture chosen for a configuration.
type resolved struct {
	arch   *Arch
	cfg    *hfconfig.File // the part of the configuration that describes the graph
	rename []Rename
}

// packageKeys are read from the package's own configuration before that of its text part, as the tied head
// belongs to the package.
var packageKeys = [...]string{"tie_word_embeddings"}

// resolve finds the architecture of a configuration by its model_type, and in a package by that of its text
// part.
//
// Errors: no model_type; one that no architecture has, with those whose names are near; two architectures
// with it.
func resolve(root *hfconfig.File, archs []*Arch) (*resolved, error) {
	mt := root.String("model_type")
	if err := root.Err(); err != nil {
		return nil, err
	}
	var found []*resolved
	for _, a := range archs {
		if slices.Contains(a.ModelTypes, mt) {
			found = append(found, &resolved{arch: a, cfg: root})
		}
		for _, p := range a.Packages {
			if p.ModelType != mt {
				continue
			}
			r, err := unpack(root, a, p, archs)
			if err != nil {
				return nil, err
			}
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("%s: model_type %q is no known architecture%s", root.Name(), mt, near(mt,
			archs))
	}
	return nil, fmt.Errorf("%s: model_type %q belongs to %s and to %s", root.Name(), mt, found[0].arch.Name,
		found[1].arch.Name)
}

// unpack gives the graph inside the package p of the architecture a: a itself, or the one whose model_type the
// text part has.
func unpack(root *hfconfig.File, a *Arch, p Package, archs []*Arch) (*resolved, error) {
	cfg := root
	if root.Has(p.ConfigPath) { // older configurations of a package keep its text part at the top
		cfg = root.SubOver(p.ConfigPath, packageKeys[:]...)
	}
	if p.Set != "" {
		set, err := hfconfig.Parse("package "+p.ModelType+" of "+a.Name, []byte(p.Set))
		if err != nil {
			return nil, err
		}
		cfg = cfg.Fixed(set)
	}
	inner := cfg.StringOr("", "model_type")
	if inner == "" || inner == p.ModelType || inner == p.Text || slices.Contains(a.ModelTypes, inner) {
		return &resolved{a, cfg, p.Rename}, nil
	}
	for _, other := range archs {
		if slices.Contains(other.ModelTypes, inner) {
			return &resolved{other, cfg, p.Rename}, nil
		}
	}
	return nil, fmt.Errorf("%s: %s.model_type %q of a %s is no known architecture%s", root.Name(), p.ConfigPath,
		inner, p.ModelType, near(inner, archs))
}

// near lists model types that share the beginning of mt.
func near(mt string, archs []*Arch) string {
	var list []string
	head := strings.FieldsFunc(strings.ToLower(mt), func(r rune) bool { return r == '_' || r == '-' })
	for _, t := range ModelTypes(archs) {
		if len(head) > 0 && len(head[0]) > 2 && strings.HasPrefix(t, head[0][:3]) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return fmt.Sprintf(" (%d are; `vulcast archs` lists them)", len(ModelTypes(archs)))
	}
	return " (near: " + strings.Join(list, ", ") + ")"
}

// ModelTypes returns every model_type that the architectures answer to, sorted.
func ModelTypes(archs []*Arch) []string {
	var list []string
	for _, a := range archs {
		list = append(list, a.ModelTypes...)
		for _, p := range a.Packages {
			list = append(list, p.ModelType)
		}
	}
	sort.Strings(list)
	return list
}

// spellings returns the names that a tensor may have in a checkpoint, the preferred one first.
func (r *resolved) spellings(names []string) []string {
	var list []string
	add := func(s string) {
		for _, re := range r.rename {
			if strings.HasPrefix(re.From, ".") {
				s = strings.ReplaceAll(s, re.From, re.To)
			}
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, n := range names {
		renamed := false
		for _, re := range r.rename {
			if strings.HasPrefix(n, re.From) {
				add(re.To + n[len(re.From):])
				renamed = true
			}
		}
		if !renamed {
			add(n)
		}
	}
	return list
}
