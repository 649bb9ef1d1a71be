package verify

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Options of Run.
type Options struct {
	Dev     *gpu.Device
	Archs   []*model.Arch
	Kernels *nn.Kernels
	Storage gpu.DType // of weights and activations: F32, or BF16 or F16 with their looser bounds
	Checks  []string  // names of the checks to run; nil = all
	Verbose io.Writer // the error of every tensor; nil = none
	// Exempt says why a check of a fixture is not judged against the reference; "" = it is. Nil = all are.
	Exempt func(fixture, check string) string
}

// ParseChecks reads a list of check names separated by commas; "" is all.
func ParseChecks(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	list := strings.Split(text, ",")
	for _, c := range list {
		if !slices.Contains(checkNames, c) {
			return nil, fmt.Errorf("no check %q; there are %s", c, strings.Join(checkNames, ", "))
		}
	}
	return list, nil
}

// Run checks one fixture. What goes wrong is in the result; a panic of a model too, so that the other
// fixtures of a run are still checked.
func Run(dir string, o Options) Result {
	start := time.Now()
	res := Result{Fixture: NameOf(dir), Checks: map[string]*Check{}}
	if err := res.guarded(dir, o); err != nil {
		res.Error = err.Error()
		res.Pass = false
	}
	res.Seconds = time.Since(start).Seconds()
	return res
}

func (res *Result) guarded(dir string, o Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return res.run(dir, o)
}

func (res *Result) run(dir string, o Options) (err error) {
	f, err := Load(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	res.ModelType = f.Meta.ModelType
	l, err := model.Open(dir, o.Dev, o.Archs, model.Options{Train: true, Kernels: o.Kernels, Weights: o.Storage,
		Activations: o.Storage})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if want := kindOf(f.Meta.Kind); l.Arch.Kind != want {
		return fmt.Errorf("the fixture is %s but architecture %s is %s", f.Meta.Kind, l.Arch.Name,
			l.Arch.Kind)
	}
	f.labelsInPlace = l.Arch.LabelsInPlace
	eng := newDeviceEngine(l)
	defer func() { err = errors.Join(err, eng.close()) }()
	return res.checks(f, eng, o)
}

func kindOf(kind string) model.Kind {
	switch kind {
	case "masked":
		return model.Masked
	case "seq2seq":
		return model.Seq2Seq
	}
	return model.Causal
}

// checks runs the wanted checks.
func (res *Result) checks(f *Fixture, eng engine, o Options) error {
	in, err := f.mainStep()
	if err != nil {
		return err
	}
	r := &run{f: f, bounds: boundsOf(f.Meta.Errors, o.Storage), eng: eng, main: in, exempt: func(string) string { return "" }, log: func(string,
		...any) {
	}}
	if o.Exempt != nil {
		r.exempt = func(check string) string { return o.Exempt(f.Name, check) }
	}
	if o.Verbose != nil {
		r.log = func(format string, a ...any) { fmt.Fprintf(o.Verbose, format+"\n", a...) }
	}
	res.Pass = true
	for _, name := range checkNames {
		if len(o.Checks) > 0 && !slices.Contains(o.Checks, name) {
			continue
		}
		r.log(" %s %s", f.Name, name)
		c := r.check(name)
		res.Checks[name] = c
		res.Pass = res.Pass && c.Pass
	}
	if f.grads != nil {
		_, res.Projected, _ = seedOf(f.grads) // a wrong seed is the error of the check
	}
	return nil
}
