package model

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// TestPhilox compares with the known answers of Random123, examples/kat_vectors.
func TestPhilox(t *testing.T) {
	const f = 0xffffffff
	tests := []struct {
		key     [2]uint32
		counter [4]uint32
		want    [4]uint32
	}{
		{[2]uint32{}, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[2]uint32{f, f}, [4]uint32{f, f, f, f}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Philox(tt.key, tt.counter)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestInitialValues(t *testing.T) {
	p := &nn.Param{Name: "p", Init: nn.Init{Std: 0.02}}
	whole := make([]float32, 100003)
	if err := initialValues(p, 0, whole, 7); err != nil {
		t.Fatal(err)
	}
	sum, square := 0.0, 0.0
	for _, v := range whole {
		sum += float64(v)
		square += float64(v) * float64(v)
	}
	n := float64(len(whole))
	mean, std := sum/n, math.Sqrt(square/n)
	if math.Abs(mean) > 5*0.02/math.Sqrt(n) || math.Abs(std-0.02) > 5*0.02/math.Sqrt(2*n) {
		t.Errorf("mean %g, deviation %g; want 0, 0.02", mean, std)
	}
	for _, from := range []int{1, 2, 3, 5, 4096} { // a range does not depend on where it starts
		part := make([]float32, 10)
		if err := initialValues(p, from, part, 7); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole[from:from+10], part); diff != "" {
			t.Errorf("from %d (-want +got):\n%s", from, diff)
		}
	}
	other := make([]float32, 8)
	if err := initialValues(&nn.Param{Name: "q", Init: p.Init}, 0, other, 7); err != nil || cmp.Equal(other,
		whole[:8]) {
		t.Error("two names have the same values")
	}
	ones, err := initialBytes(&nn.Param{Init: nn.Init{Kind: nn.InitOnes}}, 0, 2, gpu.BF16, 0)
	if diff := cmp.Diff([]byte{0x80, 0x3f, 0x80, 0x3f}, ones); err != nil || diff != "" {
		t.Errorf("ones (-want +got):\n%s", diff)
	}
	err = initialValues(&nn.Param{Name: "p", Init: nn.Init{Kind: 9}}, 0, other, 0)
	if err == nil || err.Error() != "parameter p: initial distribution 9 is not known" {
		t.Errorf("error is %v", err)
	}
	if w := Signs(1, "s", 6); len(w) != 6 || w[0] == w[1] || !cmp.Equal(w[:4], Signs(1, "s", 4)) {
		t.Errorf("signs %x", w)
	}
}
