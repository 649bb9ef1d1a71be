package train

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/vulcast/vulcast/runtime/nn"
)

// DefaultNoDecay are the parameters that usually have no weight decay: biases, norms and embeddings. Vectors
// match "vector" in NoDecay whatever their name.
func DefaultNoDecay() []string { return []string{"vector", `(^|\.)[a-z_]*(embed|wte|wpe)[a-z_]*\.`} }

// vector is the pattern that stands for all parameters of one dimension.
const vector = "vector"

// patterns are regular expressions of parameter names.
type patterns struct {
	vectors bool
	list    []*regexp.Regexp
}

func compile(list []string) (*patterns, error) {
	p := &patterns{}
	for _, text := range list {
		if text == vector {
			p.vectors = true
			continue
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		p.list = append(p.list, re)
	}
	return p, nil
}

func checkPatterns(flag string, list []string) error {
	if _, err := compile(list); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

func (p *patterns) match(q *nn.Param) bool {
	if p.vectors && len(q.Shape) < 2 {
		return true
	}
	for _, re := range p.list {
		if re.MatchString(q.Name) {
			return true
		}
	}
	return false
}

// Freeze marks the parameters whose names match as frozen; it must run before they get memory, so that they
// get no gradients.
//
// Errors: a pattern that matches nothing; all parameters frozen.
func Freeze(params []*nn.Param, list []string) error {
	var errs []error
	for _, text := range list {
		p, err := compile([]string{text})
		if err != nil {
			return fmt.Errorf("freeze: %w", err)
		}
		n := 0
		for _, q := range params {
			if p.match(q) {
				q.Frozen = true
				n++
			}
		}
		if n == 0 {
			errs = append(errs, fmt.Errorf("freeze: no parameter matches %q", text))
		}
	}
	for _, q := range params {
		if !q.Frozen && !q.Index {
			return errors.Join(errs...)
		}
	}
	return errors.Join(append(errs, errors.New("freeze: no parameter is left to train"))...)
}
