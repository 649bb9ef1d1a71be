package data

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Batch is what one recording of a step reads.
type Batch struct {
	Dec    model.Rows
	Enc    *model.Rows
	Counts int // labels that are not ignored
	Tokens int // tokens that are not padding
}

// Loader visits the rows of a set, epoch after epoch, each in its own seeded order. Position counts the rows
// given out since the beginning: it is all the state there is, and a batch may span two epochs.
type Loader struct {
	set      Set
	rows     int
	seed     uint64
	shuffle  bool
	position int64

	epoch int     // that order belongs to
	order []int32 // of the epoch's rows; nil until needed
}

// NewLoader makes batches of rows rows.
func NewLoader(set Set, rows int, seed uint64, shuffle bool) (*Loader, error) {
	if rows < 1 {
		return nil, fmt.Errorf("batches of %d rows: want at least 1", rows)
	}
	if set.Len() < 1 {
		return nil, fmt.Errorf("the data set is empty: it has no rows")
	}
	return &Loader{set: set, rows: rows, seed: seed, shuffle: shuffle}, nil
}

// Position is the number of rows given out.
func (l *Loader) Position() int64 { return l.position }

// SetPosition sets the position: the next batch begins with the row there.
func (l *Loader) SetPosition(position int64) error {
	if position < 0 {
		return fmt.Errorf("position %d of the data is negative", position)
	}
	l.position = position
	return nil
}

// Epoch is the number of full passes over the set so far, fractions included.
func (l *Loader) Epoch() float64 { return float64(l.position) / float64(l.set.Len()) }

// Next gives the next batch. Its slices are new.
func (l *Loader) Next() (*Batch, error) {
	places := make([]Place, l.rows)
	n := int64(l.set.Len())
	for i := range places {
		at := l.position + int64(i)
		places[i] = Place{int(at / n), l.index(int(at/n), int(at%n))}
	}
	b, err := fill(l.set, places, l.rows)
	if err != nil {
		return nil, err
	}
	l.position += int64(l.rows)
	return b, nil
}

// index is the row that comes i-th in an epoch.
func (l *Loader) index(epoch, i int) int {
	if !l.shuffle {
		return i
	}
	if l.order == nil || l.epoch != epoch {
		l.order, l.epoch = permutation(l.set.Len(), l.seed, uint32(epoch)), epoch
	}
	return int(l.order[i])
}

// permutation shuffles 0 ... n-1, after Fisher and Yates, with numbers keyed by seed and epoch.
func permutation(n int, seed uint64, epoch uint32) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		w := model.Philox(key(seed), [4]uint32{uint32(i), uint32(i >> 32), epoch, purposeOrder})
		r := uint64(w[0]) | uint64(w[1])<<32
		j := r % uint64(i+1) // the bias is below n / 2^64
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// InOrder gives the rows of a set once, in order, in batches of rows rows. With limit above 0 it gives at
// most limit batches, whose rows are spread evenly over the set. The last batch is filled up with padding.
func InOrder(set Set, rows, limit int, visit func(*Batch) error) error {
	all := set.Len()
	n := all
	if limit > 0 {
		n = min(n, limit*rows)
	}
	for from := 0; from < n; from += rows {
		var places []Place
		for i := from; i < min(from+rows, n); i++ {
			places = append(places, Place{0, int(int64(i) * int64(all) / int64(n))})
		}
		b, err := fill(set, places, rows)
		if err != nil {
			return err
		}
		if err := visit(b); err != nil {
			return err
		}
	}
	return nil
}

// fill makes a batch of rows rows, the first of them those at places and the others padding.
func fill(set Set, places []Place, rows int) (*Batch, error) {
	b := &Batch{Dec: emptyRows(rows, set.Length())}
	if n := set.EncLength(); n > 0 {
		e := emptyRows(rows, n)
		b.Enc = &e
	}
	for i, p := range places {
		row := rowOf(&b.Dec, i)
		if b.Enc != nil {
			e := rowOf(b.Enc, i)
			row.Enc = &e
		}
		if err := set.Fill(p, row); err != nil {
			return nil, err
		}
	}
	for i, label := range b.Dec.Labels {
		if label != nn.Ignored {
			b.Counts++
		}
		if b.Dec.Seg[i] != 0 {
			b.Tokens++
		}
	}
	if b.Counts > 0 {
		b.Dec.LossScale = 1 / float32(b.Counts)
	}
	return b, nil
}

// emptyRows are n rows of padding.
func emptyRows(n, length int) model.Rows {
	r := model.Rows{B: n, T: length, S: length, Tokens: make([]int32, n*length), Pos: make([]int32, n*length),
		Seg: make([]int32, n*length), Labels: make([]int32, n*length)}
	for i := range r.Labels {
		r.Labels[i] = nn.Ignored
	}
	return r
}

// rowOf views row i.
func rowOf(r *model.Rows, i int) Row {
	from, to := i*r.T, (i+1)*r.T
	return Row{Tokens: r.Tokens[from:to], Pos: r.Pos[from:to], Seg: r.Seg[from:to], Labels: r.Labels[from:to]}
}
