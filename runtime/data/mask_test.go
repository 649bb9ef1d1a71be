package data

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/nn"
)

// TestMasked counts what becomes of many tokens.
func TestMasked(t *testing.T) {
	x := &Tokens{Starts: []int{0}}
	for i := range 200_001 {
		x.IDs = append(x.IDs, int32(2+i%500))
	}
	blocks, err := NewBlocks(x, 100, false)
	if err != nil {
		t.Fatal(err)
	}
	m := &Masked{Set: blocks, Mask: 1, Vocab: 1000, Part: 0.15, Seed: 3, Special: func(id int32) bool { return id == 7 }}
	fill := func(epoch, index int) Row {
		rows := emptyRows(1, 100)
		row := rowOf(&rows, 0)
		if err := m.Fill(Place{epoch, index}, row); err != nil {
			t.Fatal(err)
		}
		return row
	}
	var chosen, masked, kept, special float64
	for i := range m.Len() {
		row := fill(0, i)
		for j, label := range row.Labels {
			id := x.IDs[i*100+j]
			switch {
			case label == nn.Ignored && row.Tokens[j] != id, label != nn.Ignored && label != id:
				t.Fatalf("row %d: token %d is %d with label %d, was %d", i, j, row.Tokens[j], label, id)
			case label == nn.Ignored:
				continue
			case id == 7:
				special++
			}
			chosen++
			if row.Tokens[j] == 1 {
				masked++
			} else if row.Tokens[j] == id {
				kept++
			}
		}
	}
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 0.01 {
			t.Errorf("%s: %.3f, want %.3f", name, got, want)
		}
	}
	near("chosen", chosen/200_000, 0.15*499/500)
	near("masked", masked/chosen, 0.8)
	near("kept", kept/chosen, 0.1)
	if special != 0 {
		t.Errorf("%g special tokens were chosen", special)
	}
	if diff := cmp.Diff(fill(1, 4), fill(1, 4)); diff != "" {
		t.Errorf("the same place twice (-want +got)\n%s", diff)
	}
	if cmp.Equal(fill(1, 4), fill(2, 4)) {
		t.Error("two epochs have the same masks")
	}
}
