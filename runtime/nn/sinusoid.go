package nn

import (
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/gpu"
)

// SinusoidAttrs: the row of position p holds sin(p*f[i]) and cos(p*f[i]) of the frequencies f[i] = Theta^(-2i/Cols), or
// Theta^(-i/(Cols/2-1)) when Reach, so that the last one is 1/Theta. Sines fill the first half, unless Interleaved.
type SinusoidAttrs struct {
	Rows, Cols  int
	Theta       float64
	Reach       bool
	Interleaved bool
	Zero        int // this row is zero; -1 = none
}

// SinusoidTable is a table of positions in a device's memory, made on the host in float64 and rounded once.
type SinusoidTable struct{ table *Param }

// NewSinusoidTable makes the table. Errors: sizes below one; too little memory.
func NewSinusoidTable(dev *gpu.Device, a SinusoidAttrs) (*SinusoidTable, error) {
	if a.Rows < 1 || a.Cols < 2 || a.Reach && a.Cols < 4 || !(a.Theta > 0) {
		return nil, fmt.Errorf("sinusoidal positions: %d rows of %d columns, theta %g: want at least one row of 2 columns "+
			"(4 when the last frequency is 1/theta)", a.Rows, a.Cols, a.Theta)
	}
	values := make([]float32, a.Rows*a.Cols)
	for p := range a.Rows {
		if p != a.Zero {
			SinusoidRow(values[p*a.Cols:(p+1)*a.Cols], p, a)
		}
	}
	t, err := dev.Alloc(gpu.F32, a.Rows, a.Cols)
	if err != nil {
		return nil, fmt.Errorf("sinusoidal positions: %w", err)
	}
	t.Named("sinusoidal positions")
	return &SinusoidTable{&Param{Name: "sinusoidal positions", Shape: []int{a.Rows, a.Cols}, Value: t}}, dev.Write(t, values)
}

// SinusoidRow fills row with the features of a position. A row of odd width ends in one more sine, or in zero when Reach.
// Source: transformers, MarianSinusoidalPositionalEmbedding and M2M100SinusoidalPositionalEmbedding.
func SinusoidRow(row []float32, position int, a SinusoidAttrs) {
	clear(row)
	cols := len(row)
	half, sines := cols/2, (cols+1)/2
	if a.Reach {
		sines = half
	}
	for i := range sines {
		exponent := 2 * float64(i) / float64(cols)
		if a.Reach {
			exponent = float64(i) / float64(half-1)
		}
		angle := float64(position) * math.Pow(a.Theta, -exponent)
		at, behind := i, sines+i
		if a.Interleaved {
			at, behind = 2*i, 2*i+1
		}
		row[at] = float32(math.Sin(angle))
		if i < half {
			row[behind] = float32(math.Cos(angle))
		}
	}
}

// Sinusoid returns the table's rows that index names: F32 [..., Cols].
func (r *Recorder) Sinusoid(t *SinusoidTable, index gpu.Tensor) gpu.Tensor {
	return r.rowsOf(t.table, index, gpu.F32)
}

// LookupAttrs are the sizes of the table.
type LookupAttrs struct{ Rows, Cols int }

// Lookup is Embed for a table that is never trained.
func (r *Recorder) Lookup(table *Param, index gpu.Tensor, _ LookupAttrs) gpu.Tensor {
	return r.Embed(table, index)
}

// EmbedPaddedAttrs are the sizes of the table and its padding row.
type EmbedPaddedAttrs struct{ Rows, Cols, Padding int }

// EmbedPadded is Embed for a table with a padding row.
func (r *Recorder) EmbedPadded(table *Param, index gpu.Tensor, _ EmbedPaddedAttrs) gpu.Tensor {
	return r.Embed(table, index)
}

// EmbedPaddedGrad is EmbedGradPadded.
func (r *Recorder) EmbedPaddedGrad(table *Param, index, dy gpu.Tensor, a EmbedPaddedAttrs) {
	r.EmbedGradPadded(table, index, dy, a.Padding)
}
