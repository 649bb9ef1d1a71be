package data

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/vulcast/vulcast/runtime/nn"
)

// Examples is a set of examples, padded to rows of one length: one to a row, or several that do not see each
// other.
type Examples struct {
	list   []*Example
	rows   [][]int // examples of each row
	length int

	encLength int // 0 = there is no encoder
}

// NewExamples makes a set of rows of length tokens. With pack set, rows are filled with several examples, the
// longest first, each into the fullest row that has room: their attention is separate and their positions
// begin anew, so that the loss is that of examples in rows of their own.
//
// Errors: no example; one longer than a row.
func NewExamples(list []*Example, length int, pack bool) (*Examples, error) {
	if len(list) == 0 {
		return nil, errors.New("the data set is empty: it has no examples")
	}
	s := &Examples{list: list, length: length}
	for i, e := range list {
		if len(e.Tokens) > length {
			return nil, fmt.Errorf("example %d has %d tokens, a row %d: shorten it, or lengthen the rows", i, len(e.Tokens), length)
		}
		if !pack {
			s.rows = append(s.rows, []int{i})
		}
	}
	if pack {
		s.pack()
	}
	return s, nil
}

// pack is best fit decreasing, with rows grouped by the room that they have left.
func (s *Examples) pack() {
	order := make([]int, len(s.list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(s.list[b].Tokens), len(s.list[a].Tokens)) })
	room := make([][]int, s.length+1) // rows by room
	for _, i := range order {
		n := len(s.list[i].Tokens)
		at := n
		for at <= s.length && len(room[at]) == 0 {
			at++
		}
		var row int
		if at > s.length {
			row, at = len(s.rows), s.length
			s.rows = append(s.rows, nil)
		} else {
			row = room[at][len(room[at])-1]
			room[at] = room[at][:len(room[at])-1]
		}
		s.rows[row] = append(s.rows[row], i)
		room[at-n] = append(room[at-n], row)
	}
}

// Len implements Set.
func (s *Examples) Len() int { return len(s.rows) }

// Length implements Set.
func (s *Examples) Length() int { return s.length }

// EncLength implements Set.
func (s *Examples) EncLength() int { return s.encLength }

// Tokens is the number of tokens without padding.
func (s *Examples) Tokens() int {
	n := 0
	for _, e := range s.list {
		n += len(e.Tokens)
	}
	return n
}

// Fill implements Set.
func (s *Examples) Fill(p Place, row Row) error {
	at := 0
	for seg, i := range s.rows[p.Index] {
		e := s.list[i]
		if row.Enc != nil {
			fillSource(row.Enc, e.Source)
		}
		n := len(e.Tokens)
		copy(row.Tokens[at:], e.Tokens)
		e.labels(row.Labels[at : at+n])
		for t := range n {
			row.Pos[at+t], row.Seg[at+t] = int32(t), int32(seg+1)
		}
		at += n
	}
	for ; at < s.length; at++ {
		row.Tokens[at], row.Pos[at], row.Seg[at], row.Labels[at] = 0, 0, 0, nn.Ignored
	}
	return nil
}
