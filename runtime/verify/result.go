package verify

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"
)

// checkNames are the checks in the order in which they run.
var checkNames = []string{"logits", "left", "loss", "grads", "adamw2", "train8", "generate", "roundtrip"}

// CheckNames returns the names of the checks in the order in which they run.
func CheckNames() []string { return append([]string(nil), checkNames...) }

// Result is the outcome of one fixture.
type Result struct {
	Fixture   string            `json:"fixture"`
	ModelType string            `json:"model_type"`
	Pass      bool              `json:"pass"`
	Seconds   float64           `json:"seconds"`
	Checks    map[string]*Check `json:"checks"`
	Error     string            `json:"error,omitempty"` // what kept the model from running at all
	Projected bool              `json:"projected,omitempty"`
}

// Check is the outcome of one check.
type Check struct {
	Err     Number `json:"err"`
	Bound   Number `json:"bound"`
	Pass    bool   `json:"pass"`
	Worst   string `json:"worst,omitempty"`   // tensor or position of the largest error
	Skipped string `json:"skipped,omitempty"` // why the check did not run; it then counts as passed
	Note    string `json:"note,omitempty"`    // what else is to be said
	Error   string `json:"error,omitempty"`   // what kept the check from finishing
}

// Number is a float64 whose JSON form may also be "inf" or "nan".
type Number float64

// MarshalJSON writes numbers that JSON does not know as strings.
func (n Number) MarshalJSON() ([]byte, error) {
	switch v := float64(n); {
	case math.IsInf(v, 0):
		return []byte(`"inf"`), nil
	case math.IsNaN(v):
		return []byte(`"nan"`), nil
	default:
		return json.Marshal(v)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"inf"`:
		*n = Number(math.Inf(1))
		return nil
	case `"nan"`:
		*n = Number(math.NaN())
		return nil
	}
	var v float64
	err := json.Unmarshal(b, &v)
	*n = Number(v)
	return err
}

// ratio is how much of its bound an error takes.
func (c *Check) ratio() float64 {
	if c.Bound == 0 {
		return 0
	}
	return float64(c.Err / c.Bound)
}

// String is one line: the fixture, pass or FAIL, and the share of its bound that each check takes.
func (r Result) String() string {
	var b strings.Builder
	word := "pass"
	if !r.Pass {
		word = "FAIL"
	}
	fmt.Fprintf(&b, "%s %s %.1fs", word, r.Fixture, r.Seconds)
	if r.Error != "" {
		fmt.Fprintf(&b, ": %s", r.Error)
		return b.String()
	}
	for _, name := range sortedChecks(r.Checks) {
		c := r.Checks[name]
		switch {
		case c.Skipped != "":
			fmt.Fprintf(&b, "  %s skipped", name)
		case c.Error != "":
			fmt.Fprintf(&b, "  %s: %s", name, c.Error)
		case !c.Pass:
			fmt.Fprintf(&b, "  %s", name)
			if !(c.Err <= c.Bound) { // else it is the note alone that fails it
				fmt.Fprintf(&b, " %.3g > %.3g", float64(c.Err), float64(c.Bound))
				if c.Worst != "" {
					fmt.Fprintf(&b, " at %s", c.Worst)
				}
			}
			if c.Note != "" {
				fmt.Fprintf(&b, " (%s)", c.Note)
			}
		default:
			fmt.Fprintf(&b, "  %s %.0f%%", name, 100*c.ratio())
		}
	}
	return b.String()
}

// sortedChecks lists check names in the order in which they run.
func sortedChecks(checks map[string]*Check) []string {
	place := map[string]int{}
	for i, n := range checkNames {
		place[n] = i
	}
	var names []string
	for n := range checks {
		names = append(names, n)
	}
	sort.Slice(names, func(a, b int) bool { return place[names[a]] < place[names[b]] })
	return names
}
