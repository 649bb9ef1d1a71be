package train

import (
	"fmt"
	"math"
	"strings"
)

// Schedule is how the learning rate runs from Config.LR to Config.MinLR after warm-up.
type Schedule string

// The schedules.
const (
	Constant Schedule = "constant" // LR to the end
	Linear   Schedule = "linear"   // a straight line to MinLR at the last step
	Cosine   Schedule = "cosine"   // half a cosine to MinLR at the last step
	WSD      Schedule = "wsd"      // warm-up, stable at LR, and a straight line to MinLR over the last Decay steps
)

// Schedules lists the names.
func Schedules() []string {
	return []string{string(Constant), string(Linear), string(Cosine), string(WSD)}
}

func (s Schedule) check(c *Config) error {
	switch s {
	case Constant, Linear, Cosine:
	case WSD:
		if c.Decay == 0 {
			return fmt.Errorf("decay is 0, want the number of steps at the end over which wsd lowers the learning rate")
		}
		if c.Steps > 0 && c.Warmup+c.Decay > c.Steps {
			return fmt.Errorf("warmup (%d) and decay (%d) together exceed steps (%d)", c.Warmup, c.Decay, c.Steps)
		}
	default:
		return fmt.Errorf("schedule is %q, want one of %s", s, strings.Join(Schedules(), ", "))
	}
	return nil
}

// Rate is the learning rate of a step, 1 to steps. Warm-up rises from LR/Warmup at step 1 to LR at step
// Warmup; the decay reaches MinLR at the last step.
func (c *Config) Rate(step, steps int) float64 {
	if step <= c.Warmup {
		return c.LR * float64(step) / float64(c.Warmup)
	}
	from := c.Warmup
	if c.Schedule == WSD {
		from = max(from, steps-c.Decay)
	}
	if step <= from || c.Schedule == Constant {
		return c.LR
	}
	done := min(1, float64(step-from)/float64(max(1, steps-from)))
	if c.Schedule == Cosine {
		done = (1 - math.Cos(math.Pi*done)) / 2
	}
	return c.LR + (c.MinLR-c.LR)*done
}
