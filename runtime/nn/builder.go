package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Builder declares the parameters of a model in checkpoint order. Derived builders (In, If, Transposed ...) add to the
// same list; each carries the prefix and the storage rules of the parameters declared through it.
type Builder struct {
	list   *declared
	prefix string
	skip   bool
	disk   Disk
	tied   string
	stack  bool
	fixed  bool
}

type declared struct {
	params  []*Param
	linears []*Linear
	byName  map[string]*Param
	std     float64
	errs    []error
}

// NewBuilder starts the declaration of a model whose matrices are drawn with the given standard deviation.
func NewBuilder(std float64) *Builder {
	return &Builder{list: &declared{byName: map[string]*Param{}, std: std}}
}

// Params lists what was declared, each parameter once.
func (b *Builder) Params() []*Param { return b.list.params }

// Linears lists the declared linear layers.
func (b *Builder) Linears() []*Linear { return b.list.linears }

// Err joins the errors of the declarations.
func (b *Builder) Err() error { return errors.Join(b.list.errs...) }

// In returns a builder for names under prefix, which begins at the top when it begins with a slash.
func (b *Builder) In(prefix string) *Builder {
	c := *b
	if top, ok := strings.CutPrefix(prefix, "/"); ok {
		c.prefix = ""
		prefix = top
	}
	c.prefix += prefix
	return &c
}

// If returns a builder that declares nothing, and gives nil, when present is false.
func (b *Builder) If(present bool) *Builder {
	c := *b
	c.skip = c.skip || !present
	return &c
}

// Optional returns a builder for tensors that a checkpoint may lack.
func (b *Builder) Optional() *Builder {
	c := *b
	c.disk.Optional = true
	return &c
}

// Transposed returns a builder for matrices stored as [in, out].
func (b *Builder) Transposed() *Builder {
	c := *b
	c.disk.Transposed = true
	return &c
}

// Flat returns a builder for tensors stored with their first two dimensions as one.
func (b *Builder) Flat() *Builder {
	c := *b
	c.disk.Flat = true
	return &c
}

// Stacked returns a builder for tensors stored as one per index {e} of their first dimension.
func (b *Builder) Stacked() *Builder {
	c := *b
	c.stack = true
	return &c
}

// Fixed returns a builder for tensors that no gradient reaches, such as statistics of another training: they are frozen.
func (b *Builder) Fixed() *Builder {
	c := *b
	c.fixed = true
	return &c
}

// Tied returns a builder whose next parameter is the named one, when share is true.
func (b *Builder) Tied(share bool, name string) *Builder {
	c := *b
	if share {
		c.tied = name
	}
	return &c
}

// Normal declares a parameter drawn from a normal distribution. names are spellings joined by |.
func (b *Builder) Normal(names string, shape ...int) *Param {
	return b.declare(names, Init{Kind: InitNormal, Std: b.list.std}, shape)
}

// Zeros declares a parameter that starts at zero.
func (b *Builder) Zeros(names string, shape ...int) *Param {
	return b.declare(names, Init{Kind: InitZeros}, shape)
}

// Ones declares a parameter that starts at one.
func (b *Builder) Ones(names string, shape ...int) *Param {
	return b.declare(names, Init{Kind: InitOnes}, shape)
}

// Sinusoid declares a table of positions that starts as sines and cosines.
func (b *Builder) Sinusoid(names string, shape ...int) *Param {
	return b.declare(names, Init{Kind: InitSinusoid}, shape)
}

func (b *Builder) declare(names string, init Init, shape []int) *Param {
	if b.skip {
		return nil
	}
	spellings := strings.Split(names, "|")
	for i := range spellings {
		spellings[i] = b.prefix + spellings[i]
	}
	if b.tied != "" {
		p := b.list.byName[b.tied]
		if p == nil {
			b.list.errs = append(b.list.errs, fmt.Errorf("%s is tied to %s, which is not declared before it", spellings[0], b.tied))
			return nil
		}
		p.Frozen = p.Frozen && b.fixed
		return p
	}
	if p := b.list.byName[spellings[0]]; p != nil { // a function called again with the same names shares its tensors
		if fmt.Sprint(p.Shape) != fmt.Sprint(shape) {
			b.list.errs = append(b.list.errs, fmt.Errorf("%s is declared as %v and as %v", p.Name, p.Shape, shape))
		}
		p.Frozen = p.Frozen && b.fixed
		return p
	}
	for _, n := range shape {
		if n < 1 {
			b.list.errs = append(b.list.errs, fmt.Errorf("%s: shape %v follows from the configuration: every size must be at least 1", spellings[0], shape))
			return nil
		}
	}
	p := &Param{Name: spellings[0], Shape: shape, Init: init, Disk: b.disk, Frozen: b.fixed}
	p.Disk.Names = spellings
	if b.stack {
		p.Disk.Stack = shape[0]
		p.Disk.StackNames = func(e int) []string {
			out := make([]string, len(spellings))
			for i, s := range spellings {
				out[i] = strings.ReplaceAll(s, "{e}", fmt.Sprint(e))
			}
			return out
		}
	}
	b.list.byName[spellings[0]] = p
	b.list.params = append(b.list.params, p)
	return p
}

// Linear declares a linear layer of two parameters; bias may be nil. A nil weight gives nil.
func (b *Builder) Linear(weight, bias *Param) *Linear {
	if weight == nil {
		return nil
	}
	for _, l := range b.list.linears {
		if l.Weight == weight && l.Bias == bias {
			return l
		}
	}
	l := &Linear{Weight: weight, Bias: bias, Module: strings.TrimSuffix(weight.Name, ".weight")}
	// The layer's own tensors are the last that were declared.
	l.Tied = !slices.Contains(b.list.params[max(0, len(b.list.params)-2):], weight)
	b.list.linears = append(b.list.linears, l)
	return l
}

// Each returns the list of f(0) ... f(n-1), for lists that follow from a configuration.
func Each[T any](n int, f func(i int) T) []T {
	out := make([]T, max(n, 0))
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// After returns what follows the last sep in s, s itself when there is none.
func After(s, sep string) string {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[i+len(sep):]
	}
	return s
}

// Probit returns the standard normal quantile.
func Probit(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Char is the character of s at place i, "" outside.
func Char(s string, i int) string {
	if i < 0 || i >= len(s) {
		return ""
	}
	return s[i : i+1]
}
