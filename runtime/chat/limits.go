package chat

// Limits bounds what one template may use. A zero field takes its default, so Limits{} is usable.
type Limits struct {
	// MaxSource is the largest template in bytes (default 4 MiB).
	MaxSource int
	// MaxNesting bounds nested blocks and expressions in the source (default 200).
	MaxNesting int
	// MaxDepth bounds nested macro calls and recursive loops at run time (default 200).
	MaxDepth int
	// MaxSteps bounds the work of one Render: nodes evaluated, loop turns, items compared (default 50 million).
	MaxSteps int64
	// MaxBytes bounds all strings and lists one Render makes, together (default 1 GiB).
	MaxBytes int64
	// MaxOutput bounds the rendered text and every single string, in bytes (default 64 MiB).
	MaxOutput int64
	// MaxRange is the longest range() (default 100,000, which is Jinja's own sandbox bound).
	MaxRange int64
	// MaxIntBits bounds integers (default 16,384 bits).
	MaxIntBits int
}

// DefaultLimits gives the bounds that stand in for zero fields.
func DefaultLimits() Limits {
	return Limits{
		MaxSource: 4 << 20, MaxNesting: 200, MaxDepth: 200, MaxSteps: 50_000_000, MaxBytes: 1 << 30,
		MaxOutput: 64 << 20, MaxRange: 100_000, MaxIntBits: 16_384,
	}
}

func pick[T int | int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func (l Limits) filled() Limits {
	d := DefaultLimits()
	return Limits{
		MaxSource: pick(l.MaxSource, d.MaxSource), MaxNesting: pick(l.MaxNesting, d.MaxNesting),
		MaxDepth: pick(l.MaxDepth, d.MaxDepth), MaxSteps: pick(l.MaxSteps, d.MaxSteps),
		MaxBytes: pick(l.MaxBytes, d.MaxBytes), MaxOutput: pick(l.MaxOutput, d.MaxOutput),
		MaxRange: pick(l.MaxRange, d.MaxRange), MaxIntBits: pick(l.MaxIntBits, d.MaxIntBits),
	}
}
