package model

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/nn"
)

// piece is the part of a parameter that one tensor on disk holds: all of it, or one slice of a stacked
// parameter.
//
// From the tensor on disk to the piece: reshape to disk's shape, swap the last two dimensions when
// transposed, take part's rows.
type piece struct {
	param *nn.Param
	slice int   // of the stack
	shape []int // of the piece
	names []string
}

// pieces splits a parameter by its Disk rules. rename gives the spellings in this checkpoint.
func pieces(p *nn.Param, rename func([]string) []string) ([]piece, error) {
	d := p.Disk
	if d.Stack == 0 {
		names := d.Names
		if len(names) == 0 {
			names = []string{p.Name}
		}
		return []piece{{p, 0, p.Shape, rename(names)}}, nil
	}
	if d.StackNames == nil || len(p.Shape) < 2 || product(p.Shape[:2])%d.Stack != 0 {
		return nil, fmt.Errorf("parameter %s %v: cannot be a stack of %d tensors", p.Name, p.Shape, d.Stack)
	}
	shape := append([]int(nil), p.Shape[1:]...)
	if d.Stack != p.Shape[0] { // several tensors a slice, one after the other along dimension 1
		shape[0] = product(p.Shape[:2]) / d.Stack
	}
	list := make([]piece, d.Stack)
	for e := range list {
		list[e] = piece{p, e, shape, rename(d.StackNames(e))}
	}
	return list, nil
}

// diskShape returns the shape that the tensor on disk must have. With a Part, groupRows is the rows of a
// group; 0 asks for the fewest that hold the part.
func (p piece) diskShape(groupRows int) []int {
	d := p.param.Disk
	shape := append([]int(nil), p.shape...)
	if part := d.Part; part != (nn.Part{}) && len(shape) > 0 {
		shape[0] = max(part.Groups, 1) * max(groupRows, part.To)
	}
	if n := len(shape); d.Transposed && n >= 2 {
		shape[n-1], shape[n-2] = shape[n-2], shape[n-1]
	}
	if d.Flat && len(shape) > 2 {
		shape = append([]int{shape[0] * shape[1]}, shape[2:]...)
	}
	return shape
}

// fit compares a shape on disk with the piece; the error is what was wanted.
//
// Dimensions of 1 may be more or fewer on disk when there is neither Part nor transposition: the elements are
// the same ([C 1 K] of a convolution for [C K]).
func (p piece) fit(shape []int) (groupRows int, err error) {
	d := p.param.Disk
	if d.Part == (nn.Part{}) {
		want := p.diskShape(0)
		if sameShape(shape, want) || !d.Transposed && sameShape(squeeze(shape), squeeze(want)) {
			return 0, nil
		}
		return 0, fmt.Errorf("%v", want)
	}
	axis := 0
	if d.Transposed && len(shape) == 2 {
		axis = 1
	}
	groups := max(d.Part.Groups, 1)
	if len(shape) != len(p.shape) || shape[axis]%groups != 0 || shape[axis]/groups < d.Part.To ||
		(d.Part.To-d.Part.From)*groups != p.shape[0] {
		return 0, fmt.Errorf("at least %v", p.diskShape(0))
	}
	if want := p.diskShape(shape[axis] / groups); !sameShape(shape, want) {
		return 0, fmt.Errorf("%v", want)
	}
	return shape[axis] / groups, nil
}

func squeeze(shape []int) []int {
	out := []int{}
	for _, d := range shape {
		if d != 1 {
			out = append(out, d)
		}
	}
	return out
}

// take copies the piece out of a tensor on disk; size is the bytes of an element.
func (p piece) take(disk []byte, groupRows, size int) []byte {
	lead, rows, cols := p.matrix(groupRows)
	if p.param.Disk.Transposed && len(p.shape) >= 2 {
		straight := make([]byte, len(disk))
		transpose(straight, disk, lead, cols, rows, size)
		disk = straight
	}
	if p.param.Disk.Part == (nn.Part{}) {
		return disk
	}
	out := make([]byte, product(p.shape)*size)
	p.runs(groupRows, size, func(diskAt, at, n int) { copy(out[at:at+n], disk[diskAt:diskAt+n]) })
	return out
}

// put writes the piece into a tensor on disk: the inverse of take.
func (p piece) put(disk, values []byte, groupRows, size int) {
	lead, rows, cols := p.matrix(groupRows)
	if !p.param.Disk.Transposed || len(p.shape) < 2 {
		p.runs(groupRows, size, func(diskAt, at, n int) { copy(disk[diskAt:diskAt+n], values[at:at+n]) })
		return
	}
	straight := make([]byte, len(disk))
	transpose(straight, disk, lead, cols, rows, size)
	p.runs(groupRows, size, func(diskAt, at, n int) { copy(straight[diskAt:diskAt+n], values[at:at+n]) })
	transpose(disk, straight, lead, rows, cols, size)
}

// matrix returns the whole tensor, not transposed, as lead matrices of rows x cols.
func (p piece) matrix(groupRows int) (lead, rows, cols int) {
	shape := append([]int(nil), p.shape...)
	if part := p.param.Disk.Part; part != (nn.Part{}) {
		shape[0] = max(part.Groups, 1) * groupRows
	}
	n := len(shape)
	if n < 2 {
		return 1, 1, product(shape)
	}
	return product(shape[:n-2]), shape[n-2], shape[n-1]
}

// runs calls f for each run of bytes that the piece has in common with the tensor that is not transposed.
func (p piece) runs(groupRows, size int, f func(diskAt, at, n int)) {
	part := p.param.Disk.Part
	if part == (nn.Part{}) {
		f(0, 0, product(p.shape)*size)
		return
	}
	row := product(p.shape[1:]) * size
	n := (part.To - part.From) * row
	for g := range max(part.Groups, 1) {
		f((g*groupRows+part.From)*row, g*n, n)
	}
}

// transpose copies lead matrices src [rows cols] to dst [cols rows].
func transpose(dst, src []byte, lead, rows, cols, size int) {
	bytes := rows * cols * size
	for m := range lead {
		s, d := src[m*bytes:(m+1)*bytes], dst[m*bytes:(m+1)*bytes]
		switch size {
		case 2:
			blocks(rows, cols, func(r, c int) { *(*[2]byte)(d[(c*rows+r)*2:]) = *(*[2]byte)(s[(r*cols+c)*2:]) })
		case 4:
			blocks(rows, cols, func(r, c int) { *(*[4]byte)(d[(c*rows+r)*4:]) = *(*[4]byte)(s[(r*cols+c)*4:]) })
		default:
			blocks(rows, cols, func(r, c int) { copy(d[(c*rows+r)*size:(c*rows+r+1)*size], s[(r*cols+c)*size:]) })
		}
	}
}

// blocks calls f for each element of a matrix, in blocks that a cache holds.
func blocks(rows, cols int, f func(r, c int)) {
	const block = 32
	for r0 := 0; r0 < rows; r0 += block {
		for c0 := 0; c0 < cols; c0 += block {
			for r := r0; r < min(r0+block, rows); r++ {
				for c := c0; c < min(c0+block, cols); c++ {
					f(r, c)
				}
			}
		}
	}
}
