package generate

import (
	"errors"
	"fmt"
)

// Options say how to choose tokens and when to stop. The zero value is greedy.
type Options struct {
	MaxTokens   int     // tokens to write at most; 0 = as many as the model allows
	Temperature float64 // divides the logits; 0 = greedy: always the likeliest token
	TopK        int     // only the k likeliest tokens; 0 = all
	TopP        float64 // only the likeliest tokens that together reach this probability; 0 or 1 = all
	MinP        float64 // only tokens with at least this part of the likeliest one's probability; 0 = all
	Repetition  float64 // penalty of tokens that occurred: positive logits are divided by it; 0 or 1 = none
	Seed        uint64

	StopTokens []int32  // end a row; they are part of Output.Tokens but not of its text
	Stop       []string // end a row; left out of its text
}

// Check reports every value that makes no sense.
func (o *Options) Check() error {
	var errs []error
	want := func(ok bool, name string, found any, wanted string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", name, found, wanted))
		}
	}
	want(o.MaxTokens >= 0, "max-tokens", o.MaxTokens, "0 or more")
	want(o.Temperature >= 0 && o.Temperature <= 1e6, "temperature", o.Temperature, "0 (greedy) or more")
	want(o.TopK >= 0, "top-k", o.TopK, "0 (all) or more")
	want(o.TopP >= 0 && o.TopP <= 1, "top-p", o.TopP, "between 0 and 1")
	want(o.MinP >= 0 && o.MinP <= 1, "min-p", o.MinP, "between 0 and 1")
	want(o.Repetition >= 0 && o.Repetition <= 1e6, "repetition-penalty", o.Repetition, "above 0 (1 = none)")
	for _, s := range o.Stop {
		want(s != "", "stop", `""`, "a text that is not empty")
	}
	return errors.Join(errs...)
}
