package nn

import (
	"fmt"
	"math"
	"sync"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// RopeTable keeps the cosines and sines of a kind of rotary positions on a device. It is computed on the host
// in float64 from float32 frequencies and rounded once; it grows with the sequences that are recorded, and
// types whose frequencies depend on the length (dynamic, longrope) have a table per set of frequencies. It
// may be shared by recordings.
type RopeTable struct {
	Params RopeParams

	mu     sync.Mutex
	tables map[ropeKey]gpu.Tensor
	axis   map[*gpu.Device]gpu.Tensor
}

type ropeKey struct {
	dev       *gpu.Device
	variant   int // of the frequencies
	positions int
}

// NewRopeTable makes an empty table for parameters from NewRopeParams.
func NewRopeTable(p RopeParams) *RopeTable {
	return &RopeTable{Params: p, tables: map[ropeKey]gpu.Tensor{}, axis: map[*gpu.Device]gpu.Tensor{}}
}

// Half is the number of rotated pairs.
func (t *RopeTable) Half() int { return t.Params.Dim() / 2 }

// Angles returns the table [positions 2*Half]: cosines, then sines, of positions 0, 1, ... in sequences of
// the given length.
func (t *RopeTable) Angles(length, positions int) []float32 {
	inv, scale := t.Params.Frequencies(length)
	out := make([]float32, 0, positions*2*len(inv))
	for p := range positions {
		for _, f := range inv {
			out = append(out, float32(scale*math.Cos(float64(p)*float64(f))))
		}
		for _, f := range inv {
			out = append(out, float32(scale*math.Sin(float64(p)*float64(f))))
		}
	}
	return out
}

// variant numbers the sets of frequencies: 0 for the usual one.
func (t *RopeTable) variant(length int) int {
	switch p := t.Params; {
	case p.Type == "dynamic" && length > p.MaxPositions:
		return length
	case p.Type == "longrope" && length > p.Original:
		return 1
	}
	return 0
}

// on returns the table for sequences of the given length in dev's memory. It has a power of two of positions.
func (t *RopeTable) on(dev *gpu.Device, length int) (gpu.Tensor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := ropeKey{dev, t.variant(length), 256}
	for key.positions < length {
		key.positions *= 2
	}
	if x, ok := t.tables[key]; ok {
		return x, nil
	}
	x, err := dev.Alloc(gpu.F32, key.positions, 2*t.Half())
	if err != nil {
		return x, fmt.Errorf("rope table: %w", err)
	}
	if err := dev.Write(x.Named("rope table"), t.Angles(length, key.positions)); err != nil {
		return x, fmt.Errorf("rope table: %w", err)
	}
	t.tables[key] = x
	return x, nil
}

// axes returns which row of positions rules each frequency, in dev's memory.
func (t *RopeTable) axes(dev *gpu.Device) (gpu.Tensor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x, ok := t.axis[dev]; ok {
		return x, nil
	}
	x, err := dev.Alloc(gpu.U32, t.Half())
	if err == nil {
		err = dev.Write(x, t.Params.Axes())
	}
	if err != nil {
		return x, fmt.Errorf("rope axes: %w", err)
	}
	t.axis[dev] = x
	return x, nil
}

// Axes returns, for each frequency, the row of positions (0 time, 1 height, 2 width) that rules it. Sections
// that follow one another take the rows in turn; interleaved ones take every third frequency, the rest being
// time's.
// Source: Qwen2-VL, https://arxiv.org/abs/2409.12191; transformers modeling_qwen3_vl.py.
func (p *RopeParams) Axes() []uint32 {
	axes := make([]uint32, p.Dim()/2)
	if p.InterleavedSections {
		for row := 1; row < min(3, len(p.Sections)); row++ {
			for i := row; i < min(3*p.Sections[row], len(axes)); i += 3 {
				axes[i] = uint32(row)
			}
		}
		return axes
	}
	at := 0
	for n, s := range p.Sections {
		for range s {
			axes[at] = uint32(n % 3)
			at++
		}
	}
	return axes
}

// Release frees the device memory. The table may be used again afterwards.
func (t *RopeTable) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, x := range t.tables {
		key.dev.Release(x)
		delete(t.tables, key)
	}
	for dev, x := range t.axis {
		dev.Release(x)
		delete(t.axis, dev)
	}
}
