// Package spec reads architecture specs: TOML files of small declarations and op lines.
//
// Load returns an Arch: everything one spec and its parents say, parsed into words and expressions but not yet given a
// meaning (package lower does that). All errors of a file are reported together, each with file and line. The grammar
// is described in specs/README.md.
package spec

import (
	"fmt"

	"github.com/vulcast/vulcast/gen/expr"
)

// Pos is a place in a spec.
type Pos struct {
	File string // as given to Load, such as specs/llama.toml
	Line int    // 1-based; 0 when only the file is known
}

// String returns file:line.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Errorf returns an error that starts with the position.
func (p Pos) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{p}, args...)...)
}

// Kind is the contract that an architecture fulfils.
type Kind string

// The kinds of architectures.
const (
	Causal  Kind = "causal"  // predicts the next token
	Masked  Kind = "masked"  // predicts tokens in place, both directions visible
	Seq2Seq Kind = "seq2seq" // encoder and decoder, trained jointly
)

// Arch is a spec merged with its parents.
type Arch struct {
	Name       string
	Doc        string // head comment of the spec's own file
	File       string
	Lines      int // lines of the spec's own file
	Parents    []string
	Abstract   bool // a contract under base/: not generated
	Kind       Kind
	ModelTypes []string
	Packages   []Package
	Config     []ConfigVar // in order of declaration, parents first
	Lets       []Let
	Checks     []Check
	Fns        []*Fn // in order of declaration, parents first

	Decode        *Check // condition under which tokens can follow through caches; nil: always
	LabelsInPlace bool   // the reference's loss takes the labels of a causal model as they stand
}

// Fn returns the named function, nil if there is none.
func (a *Arch) Fn(name string) *Fn {
	for _, f := range a.Fns {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Package is a model_type whose config.json and tensors hold the architecture inside something larger.
type Package struct {
	ModelType  string   `toml:"model_type"`
	ModelTypes []string `toml:"model_types"` // or several that differ in nothing else; merged into one Package each
	Config     string   `toml:"config"`      // key of the nested configuration, "" when it is the file itself
	Rename     []string `toml:"rename"`      // "from -> to": parts of tensor names that the package spells otherwise
	// Text is a nested model_type that stays with this spec although another has it too; "" is none.
	Text string `toml:"text"`
	// Set holds values of the configuration that the package has whatever its file says.
	Set map[string]any `toml:"set"`
	Pos Pos            `toml:"-"`
}

// ConfigVar is one value of the configuration: where config.json keeps it and what stands in when it does not.
type ConfigVar struct {
	Name    string
	Type    expr.Type
	Keys    []string // tried in order; nested keys are joined by dots
	Default *expr.Expr
	Null    bool // a null is the zero value, not the default
	Wordy   bool // a text counts as absent
	Pos     Pos
}

// Let is a value derived from the configuration; one that mentions i exists for each layer.
type Let struct {
	Name string
	Expr *expr.Expr
	Pos  Pos
	Over bool // stands for a key that the parents read, and so may drop one that nothing here needs
}

// Check is a condition that the configuration must meet; Say tells what a violation asks for.
type Check struct {
	Expr *expr.Expr
	Say  string
	Pos  Pos
}

// Fn is a function of the spec.
type Fn struct {
	Name    string
	In, Out []string
	Prefix  string // prepended to the tensor names inside
	Lines   []Line
	Pos     Pos
}

// Line is one op line: op in... -> out... key=value...
type Line struct {
	Op      string // without the @
	Call    bool   // @op: a function of the spec
	In, Out []string
	Attrs   []Attr
	Text    string // the line as written, for messages and generated comments
	Pos     Pos
}

// Attr is one key=value of a line.
type Attr struct{ Key, Value string }

// Attr returns the value of a key and whether it is there.
func (l *Line) Attr(key string) (string, bool) {
	for _, a := range l.Attrs {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}
