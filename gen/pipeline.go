package main

import (
	"os"

	"github.com/vulcast/vulcast/gen/autodiff"
	"github.com/vulcast/vulcast/gen/emitgo"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/lower"
	"github.com/vulcast/vulcast/gen/ops"
	"github.com/vulcast/vulcast/gen/spec"
)

// pass is one stage that rewrites a module.
type pass struct {
	name string
	why  string // why it stands where it stands
	run  func(*ir.Module, ops.Table) error
}

// passes run in this order, after lowering and before printing. Fusion runs inside the printer, since a function's
// training, backward and decoding bodies keep different values and so fuse differently.
var passes = []pass{
	{"autodiff", "before fusion: derivatives are written per primitive, and their formulas fuse like any others", autodiff.Module},
}

// loadTable reads the op table.
func loadTable() (ops.Table, error) { return ops.Load(os.DirFS("specs/ops"), "specs/ops") }

// build takes one architecture from its spec to its module.
func build(name string, table ops.Table) (*ir.Module, error) {
	a, err := spec.Load(os.DirFS("specs"), "specs", name)
	if err != nil {
		return nil, err
	}
	m, err := lower.Module(a, table)
	if err != nil {
		return nil, err
	}
	for _, p := range passes {
		if err := p.run(m, table); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// emit takes one architecture from its spec to its files.
func emit(name string, table ops.Table) (*emitgo.Output, error) {
	m, err := build(name, table)
	if err != nil {
		return nil, err
	}
	return emitgo.Module(m, table)
}
