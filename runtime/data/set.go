package data

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/nn"
)

// Row is a row of a batch: slices of the set's length, to be filled in.
type Row struct {
	Tokens []int32
	Pos    []int32 // position of each token in its sequence
	Seg    []int32 // 0 = padding, else the number of the sequence
	Labels []int32 // what each position is to predict, nn.Ignored where nothing
	Enc    *Row    // the encoder's side of encoder-decoder sets; nil otherwise
}

// Place says for which visit a row is filled: sets that draw random numbers key them by it.
type Place struct{ Epoch, Index int }

// Set is a data set cut into rows of one length. Fill may be called from one goroutine at a time.
type Set interface {
	Len() int       // rows of an epoch
	Length() int    // tokens of a row
	EncLength() int // tokens of a row of the encoder; 0 = none
	Fill(p Place, row Row) error
}

// Blocks cuts a token stream into rows without padding; the label of a token is the one behind it, so that
// rows need no overlap.
type Blocks struct {
	tokens   *Tokens
	length   int
	separate bool
}

// NewBlocks makes rows of length tokens. With separate set, documents are segments: their positions start at
// 0, they do not see each other, and their last token predicts nothing; else a row is one sequence. A tail
// that fills no row is left out.
//
// Errors: too few tokens for one row.
func NewBlocks(t *Tokens, length int, separate bool) (*Blocks, error) {
	if length < 1 {
		return nil, fmt.Errorf("rows of %d tokens: want at least 1", length)
	}
	if len(t.IDs) == 0 {
		return nil, fmt.Errorf("the data set is empty: no document has any text")
	}
	if len(t.IDs) < length+1 {
		return nil, fmt.Errorf("the data set has %d tokens, too few for one row of %d and the token behind it: shorten the "+
			"rows or add text", len(t.IDs), length)
	}
	return &Blocks{t, length, separate}, nil
}

// Len implements Set.
func (b *Blocks) Len() int { return (len(b.tokens.IDs) - 1) / b.length }

// Length implements Set.
func (b *Blocks) Length() int { return b.length }

// EncLength implements Set.
func (b *Blocks) EncLength() int { return 0 }

// Fill implements Set.
func (b *Blocks) Fill(p Place, row Row) error {
	from := p.Index * b.length
	copy(row.Tokens, b.tokens.IDs[from:from+b.length])
	copy(row.Labels, b.tokens.IDs[from+1:from+1+b.length])
	if !b.separate {
		for i := range row.Pos {
			row.Pos[i], row.Seg[i] = int32(i), 1
		}
		return nil
	}
	doc := b.docOf(from) + 1 // the next document to begin
	pos, seg := int32(0), int32(1)
	for i := range row.Pos {
		at := from + i
		if doc < len(b.tokens.Starts) && b.tokens.Starts[doc] == at {
			doc++
			if i > 0 {
				pos, seg = 0, seg+1
			}
		}
		row.Pos[i], row.Seg[i] = pos, seg
		pos++
		if doc < len(b.tokens.Starts) && b.tokens.Starts[doc] == at+1 {
			row.Labels[i] = nn.Ignored
		}
	}
	return nil
}

// docOf is the document that token at belongs to.
func (b *Blocks) docOf(at int) int {
	lo, hi := 0, len(b.tokens.Starts)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if b.tokens.Starts[mid] <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
