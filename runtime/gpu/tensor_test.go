package gpu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTensor(t *testing.T) {
	d := open(t, Options{})
	x := d.NewRecorder().Alloc(BF16, 2, 3, 4).Named("x")
	if x.Len() != 24 || x.Bytes() != 48 || x.Rows() != 6 || x.Cols() != 4 || x.Dim(-1) != 4 || x.Dim(0) != 2 ||
		x.Dim(3) != 0 || x.Dim(-4) != 0 || !x.Valid() || x.String() != "BF16[2 3 4] x" {
		t.Errorf("%v: Len %d, Bytes %d, Rows %d, Cols %d", x, x.Len(), x.Bytes(), x.Rows(), x.Cols())
	}
	tests := []struct {
		name string
		in   Tensor
		want []int
		off  int64
		typ  DType
	}{
		{"reshape", x.Reshape(6, 4), []int{6, 4}, 0, BF16},
		{"hole", x.Reshape(3, -1), []int{3, 8}, 0, BF16},
		{"vector", x.Reshape(-1), []int{24}, 0, BF16},
		{"slice", x.Slice(1, 2), []int{1, 3, 4}, 24, BF16},
		{"slice of a slice", x.Reshape(6, 4).Slice(2, 6).Slice(1, 3), []int{2, 4}, 24, BF16},
		{"empty slice", x.Slice(2, 2), []int{0, 3, 4}, 48, BF16},
		{"as words", x.As(U32), []int{2, 3, 2}, 0, U32},
		{"as bytes", x.As(U8), []int{2, 3, 8}, 0, U8},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, test.in.Shape); diff != "" || test.in.off != test.off ||
			test.in.Type != test.typ || test.in.err != nil {
			t.Errorf("%s: %v at %d, %v %s", test.name, test.in, test.in.off, test.in.err, diff)
		}
	}
	for name, bad := range map[string]Tensor{"holes": x.Reshape(-1, -1), "negative": x.Reshape(-2, 12),
		"backwards": x.Slice(1, 0), "as": x.Reshape(8, 3).As(F32), "no type": x.As(DType(9)),
		"zero": x.Reshape(0, -1)} {
		if bad.err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var none Tensor
	if none.Valid() || none.Len() != 0 || none.Bytes() != 0 || none.String() != "no tensor" {
		t.Errorf("zero Tensor: %v", none)
	}
	if scalar := d.NewRecorder().Alloc(F32); scalar.Len() != 1 || scalar.Rows() != 1 || scalar.Cols() != 1 {
		t.Errorf("scalar: %v", scalar)
	}
}

func TestReferences(t *testing.T) {
	d := open(t, Options{})
	r := d.NewRecorder()
	x := r.Alloc(F32, 64)
	alias := r.Retain(x.Reshape(8, 8))
	r.Free(x)
	y := r.Alloc(F32, 64) // x still has a reference
	if y.st.at == alias.st.at {
		t.Error("the bytes of a retained tensor were reused")
	}
	r.Free(alias, Tensor{})
	if z := r.Alloc(F32, 64); z.st.at != alias.st.at {
		t.Error("the bytes of a freed tensor were not reused")
	}
	r.Free(must[Tensor](t)(d.Alloc(F32, 4))) // persistent: ignored
	ok(t, r.Err())
}

func TestInfo(t *testing.T) {
	i := Info{Name: "Card", Type: "discrete", Driver: "D 1", API: "1.3.0", MemoryBytes: 8 << 30,
		SubgroupSize: 32, SharedBytes: 48 << 10, HasBDA: true,
		CoopMat: []Shape{{M: 16, N: 8, K: 16, A: "f16", B: "f16", C: "f32", R: "f32"}}}
	want := "Card (discrete, D 1, Vulkan 1.3.0, 8.00 GiB, subgroup 32, 48 KiB shared, cooperative matrices, " +
		"buffer addresses)"
	if got := i.String(); got != want {
		t.Errorf("%q, wanted %q", got, want)
	}
	if !i.HasShape(16, 8, 16, "f16", "f32") || i.HasShape(16, 16, 16, "f16", "f32") {
		t.Error("HasShape")
	}
	if got := i.CoopMat[0].String(); got != "16x8x16 f16 f16 f32 f32" {
		t.Error(got)
	}
	if componentName(1000141000) != "bf16" || componentName(77) != "type77" {
		t.Error("componentName")
	}
}
