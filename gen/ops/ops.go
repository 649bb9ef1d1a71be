// Package ops is the table of primitives: specs/ops/*.toml read into Op values.
//
// A row declares a primitive once: signature, shape rule, attributes, and either formulas (from which the reference
// result, the derivative kernels and the GLSL all come) or the name of a kernel of the runtime. Derivatives are formulas
// or calls of other rows.
package ops

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/spec"
)

// Table maps names to primitives.
type Table map[string]*Op

// Op is one primitive.
type Op struct {
	Name        string
	Doc         string
	Source      string
	In          []Input
	Out         []string
	VariadicOut bool // the last output stands for any number
	Attrs       []AttrDecl
	Rule        *Rule              // shape rule; nil for formula ops (broadcasting) and ops with a coded rule
	Code        string             // name of a coded shape rule
	Saves       []Formula          // computed for the backward pass, in order
	Y           []Formula          // one for each output of a formula op
	D           []Derivative       // in signature order
	Kernel      string             // method of the runtime's recorder
	Object      string             // the parameters travel as one object of the runtime, such as Linear
	Batch       bool               // the kernel reads the batch (positions, masks)
	Keys        bool               // the kernel also reads the batch of its keys
	Types       map[string]ir.Type // storage of outputs that differs from Act
	ConstType   string             // its Go type in nn
	Const       string             // the op reads a constant table made when the model is prepared: its constructor in nn
	Struct      string             // Go struct of the runtime that holds the attributes; "" is Kernel+"Attrs"
	Init        string             // how its weight starts: ones, zeros; "" is ones for formula ops, normal for kernels
	State       string             // the op keeps state between steps: name of the state
	NoGrad      bool               // nothing flows back through it
	View        bool               // outputs share the storage of the input
	Pos         spec.Pos
}

// Input is an input of a signature.
type Input struct {
	Name     string
	Optional bool
	Variadic bool // any number of tensors; only as the last input
	Param    bool // passed as the parameter itself; its gradient is the kernel's business
}

// AttrDecl declares an attribute: name type [= default].
type AttrDecl struct {
	Name    string
	Type    string // int, float, bool, string, rope, act (an activation's name), dims (sizes), ints, word (as written)
	Default *expr.Expr
	Word    string // default of a word

	HasDefault bool
}

// Formula is a named expression.
type Formula struct {
	Name string
	Expr *expr.Expr
}

// Derivative gives the gradients of some inputs.
type Derivative struct {
	Inputs []string
	None   bool       // not differentiable, said outright
	Expr   *expr.Expr // a formula, or
	Op     string     // a call of another row with
	Args   []string   // these values
}

// IsFormula reports whether the op is computed by generated kernels.
func (o *Op) IsFormula() bool { return len(o.Y) > 0 }

// Attr returns the declaration of an attribute, nil if there is none.
func (o *Op) Attr(name string) *AttrDecl {
	for i := range o.Attrs {
		if o.Attrs[i].Name == name {
			return &o.Attrs[i]
		}
	}
	return nil
}

// Input returns the index of an input, -1 if there is none.
func (o *Op) Input(name string) int {
	for i := range o.In {
		if o.In[i].Name == name {
			return i
		}
	}
	return -1
}

// Load reads every table of the folder. show is prepended to file names in errors.
func Load(fsys fs.FS, show string) (Table, error) {
	files, err := fs.Glob(fsys, "*.toml")
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	t := Table{}
	var errs []error
	for _, f := range files {
		text, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, err
		}
		errs = append(errs, t.read(show+"/"+f, string(text))...)
	}
	errs = append(errs, t.check()...)
	return t, errors.Join(errs...)
}

func (t Table) read(file, text string) []error {
	raw := map[string]map[string]any{}
	if _, err := toml.Decode(text, &raw); err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return []error{spec.Pos{File: file, Line: pe.Position.Line}.Errorf("%s", pe.Message)}
		}
		return []error{fmt.Errorf("%s: %w", file, err)}
	}
	var errs []error
	names := make([]string, 0, len(raw))
	for n := range raw {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		pos := spec.Pos{File: file, Line: lineOf(text, "["+n+"]")}
		if t[n] != nil {
			errs = append(errs, pos.Errorf("%s is declared twice (also at %s)", n, t[n].Pos))
			continue
		}
		r := reader{op: &Op{Name: n, Pos: pos, Types: map[string]ir.Type{}}, raw: raw[n], text: text}
		r.read()
		t[n] = r.op
		errs = append(errs, r.errs...)
	}
	return errs
}

func lineOf(text, header string) int {
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, header) {
			return i + 1
		}
	}
	return 0
}

// check verifies what one row says of another.
func (t Table) check() []error {
	var errs []error
	names := make([]string, 0, len(t))
	for n := range t {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		o := t[n]
		for _, d := range o.D {
			if d.Op == "" {
				continue
			}
			g := t[d.Op]
			switch {
			case g == nil:
				errs = append(errs, o.Pos.Errorf("%s: d.%s calls %s, which no table declares", n, strings.Join(d.Inputs, " "), d.Op))
			case len(d.Args) > len(g.In) && !g.In[len(g.In)-1].Variadic:
				errs = append(errs, o.Pos.Errorf("%s: d.%s gives %s %d arguments, it takes %d",
					n, strings.Join(d.Inputs, " "), d.Op, len(d.Args), len(g.In)))
			}
		}
	}
	return errs
}
