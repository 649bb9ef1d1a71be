package emitgo

import (
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/gen/emitglsl"
	"github.com/vulcast/vulcast/gen/fuse"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
	"github.com/vulcast/vulcast/gen/spec"
)

// Output is everything generated for one architecture.
type Output struct {
	Files   []File
	Kernels []*emitglsl.FormulaKernel // used by the files, sorted by name, each once
}

// emitter prints one module.
type emitter struct {
	mod     *ir.Module
	arch    *spec.Arch
	table   ops.Table
	pkg     string
	kernels map[string]*emitglsl.FormulaKernel
	tree    map[*ir.Func]*node // fields of each function's structs
	reached map[*ir.Param]bool // tensors that some gradient reaches
	errs    []error
}

// Package is the Go package name of an architecture.
func Package(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// Module prints an architecture.
func Module(m *ir.Module, table ops.Table) (*Output, error) {
	e := &emitter{mod: m, arch: m.Arch, table: table, pkg: Package(m.Name), kernels: map[string]*emitglsl.FormulaKernel{},
		tree: map[*ir.Func]*node{}}
	e.reached = e.reachedParams()
	for _, f := range m.Funcs {
		e.tree[f] = e.fieldsOf(f)
	}
	sources := []*source{e.config(), e.weights(), e.model()}
	for _, f := range m.Funcs {
		sources = append(sources, e.function(f))
		if f.Grad != nil {
			sources = append(sources, e.gradFunction(f))
		}
	}
	sources = append(sources, e.command())
	out := &Output{}
	for _, s := range sources {
		file, err := s.render()
		if err != nil {
			return nil, err
		}
		if s.pkg == "main" { // the one file that names the architecture's own package
			file.Text = ownImport(file.Text, e.pkg)
		}
		out.Files = append(out.Files, file)
	}
	for _, name := range sortedKeys(e.kernels) {
		out.Kernels = append(out.Kernels, e.kernels[name])
	}
	if len(e.errs) > 0 {
		return nil, e.errs[0]
	}
	return out, nil
}

func (e *emitter) source(file string) *source {
	return &source{path: "generated/" + e.pkg + "/" + file, pkg: e.pkg, header: e.arch.File}
}

// train, step: the two forms of a forward body.
func (e *emitter) fused(f *ir.Func, training bool) []*ir.Node {
	keep := append([]*ir.Value{}, f.Out...)
	if training {
		keep = append(keep, f.Saved...)
	}
	return fuse.Body(f.Body, keep)
}

// kernel prints the group's kernel once and returns it.
func (e *emitter) kernel(n *ir.Node) *emitglsl.FormulaKernel {
	o := e.table[n.Group.Members[0].Op]
	k, err := emitglsl.Formula(n.Group, o != nil && o.Rule == nil)
	if err != nil {
		e.errs = append(e.errs, fmt.Errorf("%s: %s: %w", n.Group.Members[0].Pos, n.Group.Members[0].Op, err))
		return &emitglsl.FormulaKernel{}
	}
	e.kernels[k.Name] = k
	return k
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sortStrings(out)
	return out
}

// ownImport puts the architecture's package where command wrote ARCH.
func ownImport(text []byte, pkg string) []byte {
	s := strings.Replace(string(text), "ARCH.", pkg+".", 1)
	mark := "\t\"" + root + "generated/kernels\"\n"
	own := "\t\"" + root + "generated/" + pkg + "\"\n"
	if pkg < "kernels" {
		return []byte(strings.Replace(s, mark, own+mark, 1))
	}
	return []byte(strings.Replace(s, mark, mark+own, 1))
}
