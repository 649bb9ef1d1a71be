// Package shaders holds the hand-written GLSL templates of the library kernels and the list of variants made from them.
//
// It is data only: one NAME.comp.tmpl per kernel shape, partials in lib/*.glsl, and Sources, which says which kernels
// exist and with which parameters each template is rendered. gen/emitglsl renders them, gen/spirv compiles them into
// generated/kernels, and runtime/nn launches them. Every family of kernels lists its variants in a file of its own.
package shaders

import "embed"

// FS holds every template (NAME.comp.tmpl) and partial (lib/NAME.glsl).
//
//go:embed *.comp.tmpl lib/*.glsl
var FS embed.FS

// A Source is one kernel: a template and what is filled into it.
type Source struct {
	Name     string         // of the kernel: words joined by underscores, also the file name of its .comp and .spv
	Template string         // file name in FS
	Params   map[string]any // seen by the template as its dot

	Addresses bool   // takes buffer addresses instead of bindings
	Writes    uint16 // then: bit b set = buffer b is written
}

// Sources lists every library kernel, sorted by family.
func Sources() []Source {
	var all []Source
	for _, family := range [][]Source{rowSources(), matmulSources(), embedSources(), lossSources(), optimizerSources(),
		attentionSources(), ropeSources(), cacheSources(), elementarySources(), structureSources(), expertSources(),
		recurrenceSources(), mixerSources()} {
		all = append(all, family...)
	}
	return all
}
