package model

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vulcast/vulcast/runtime/nn"
)

func same(s []string) []string { return s }

// TestTakePut: parts that tile a tensor, taken and put back into an empty one, restore it.
func TestTakePut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.IntRange(0, 3).Draw(t, "groups")
		transposed := rapid.Bool().Draw(t, "transposed")
		cols := rapid.IntRange(1, 40).Draw(t, "cols")
		size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "size")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 4).Draw(t, "parts")
		rows := 0
		for _, s := range sizes {
			rows += s
		}
		total := max(groups, 1) * rows
		disk := rapid.SliceOfN(rapid.Byte(), total*cols*size, total*cols*size).Draw(t, "disk")
		shape := []int{total, cols}
		if transposed {
			shape = []int{cols, total}
		}
		back, at := make([]byte, len(disk)), 0
		for _, s := range sizes {
			param := &nn.Param{Name: "p", Shape: []int{max(groups, 1) * s, cols},
				Disk: nn.Disk{Transposed: transposed, Part: nn.Part{From: at, To: at + s, Groups: groups}}}
			at += s
			ps, err := pieces(param, same)
			if err != nil {
				t.Fatal(err)
			}
			groupRows, err := ps[0].fit(shape)
			if err != nil || groupRows != rows {
				t.Fatalf("fit: %d, %v; want %d", groupRows, err, rows)
			}
			ps[0].put(back, ps[0].take(disk, groupRows, size), groupRows, size)
		}
		if !bytes.Equal(disk, back) {
			t.Fatal("the tensor was not restored")
		}
	})
}

func TestTake(t *testing.T) {
	disk := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	tests := []struct {
		name  string
		shape []int
		disk  nn.Disk
		found []int
		want  []byte
	}{
		{"as it is", []int{6, 2}, nn.Disk{}, []int{6, 2}, disk},
		{"a dimension of 1", []int{6, 2}, nn.Disk{}, []int{6, 1, 2}, disk},
		{"transposed", []int{4, 3}, nn.Disk{Transposed: true}, []int{3, 4}, []byte{0, 4, 8, 1, 5, 9, 2, 6,
			10, 3, 7, 11}},
		{"transposed stack", []int{2, 3, 2}, nn.Disk{Transposed: true}, []int{2, 2, 3},
			[]byte{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}},
		{"rows", []int{2, 2}, nn.Disk{Part: nn.Part{From: 1, To: 3}}, []int{6, 2}, []byte{2, 3, 4, 5}},
		{"vector rows", []int{2}, nn.Disk{Part: nn.Part{From: 1, To: 3}}, []int{12}, []byte{1, 2}},
		{"groups", []int{2, 2}, nn.Disk{Part: nn.Part{From: 1, To: 2, Groups: 2}}, []int{6, 2}, []byte{2, 3,
			8, 9}},
		{"transposed rows", []int{1, 3}, nn.Disk{Transposed: true, Part: nn.Part{From: 3, To: 4}}, []int{3,
			4},
			[]byte{3, 7, 11}},
	}
	for _, tt := range tests {
		ps, err := pieces(&nn.Param{Name: "p", Shape: tt.shape, Disk: tt.disk}, same)
		if err != nil {
			t.Fatal(err)
		}
		groupRows, err := ps[0].fit(tt.found)
		if err != nil {
			t.Errorf("%s: want %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, ps[0].take(disk, groupRows, 1)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestFitErrors(t *testing.T) {
	tests := []struct {
		name  string
		shape []int
		disk  nn.Disk
		found []int
		want  string
	}{
		{"other", []int{6, 2}, nn.Disk{}, []int{2, 6}, "[6 2]"},
		{"straight", []int{4, 3}, nn.Disk{Transposed: true}, []int{4, 3}, "[3 4]"},
		{"too few rows", []int{2, 2}, nn.Disk{Part: nn.Part{From: 1, To: 3}}, []int{2, 2}, "at least [3 2]"},
		{"other columns", []int{2, 2}, nn.Disk{Part: nn.Part{From: 1, To: 3}}, []int{4, 3}, "[4 2]"},
		{"uneven groups", []int{2, 2}, nn.Disk{Part: nn.Part{From: 1, To: 2, Groups: 2}}, []int{5, 2},
			"at least [4 2]"},
		{"rank", []int{2, 2}, nn.Disk{Part: nn.Part{From: 1, To: 3}}, []int{8}, "at least [3 2]"},
		{"part and shape", []int{3, 2}, nn.Disk{Part: nn.Part{From: 1, To: 3}}, []int{6, 2},
			"at least [3 2]"},
	}
	for _, tt := range tests {
		ps, err := pieces(&nn.Param{Name: "p", Shape: tt.shape, Disk: tt.disk}, same)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ps[0].fit(tt.found); err == nil || err.Error() != tt.want {
			t.Errorf("%s: wants %v, should want %s", tt.name, err, tt.want)
		}
	}
}

func TestPieces(t *testing.T) {
	names := func(e int) []string { return []string{string(rune('a' + e))} }
	for _, tt := range []struct {
		name  string
		stack int
		want  [][]int
	}{{"a tensor a slice", 2, [][]int{{4, 3}, {4, 3}}}, {"two tensors a slice", 4, [][]int{{2, 3}, {2, 3},
		{2, 3}, {2, 3}}}} {
		ps, err := pieces(&nn.Param{Shape: []int{2, 4, 3}, Disk: nn.Disk{Stack: tt.stack,
			StackNames: names}}, same)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]int
		for i, p := range ps {
			got = append(got, p.shape)
			if p.names[0] != names(i)[0] {
				t.Errorf("%s: slice %d is named %v", tt.name, i, p.names)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	_, err := pieces(&nn.Param{Name: "p", Shape: []int{2, 4}, Disk: nn.Disk{Stack: 3, StackNames: names}},
		same)
	if err == nil || err.Error() != "parameter p [2 4]: cannot be a stack of 3 tensors" {
		t.Errorf("error is %v", err)
	}
}
