package gpu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSPIRV(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		binds []binding
		specs []uint32
		push  int
	}{
		{"axpy", axpyCode, []binding{{0, "", true, false}, {1, "", true, false}, {2, "", false, true}},
			[]uint32{0}, 8},
		{"inc", incCode, []binding{{0, "", true, true}}, []uint32{0, 1}, 8},
		{"types", typesCode, []binding{{0, "", true, false}, {1, "", true, false}, {2, "", false, true}},
			[]uint32{0, 1, 100, 101}, 0},
		{"subgroup", subgroupCode, []binding{{0, "", false, true}}, []uint32{0, 1}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info := must[*spirvInfo](t)(parseSPIRV(test.in))
			for i := range info.bindings {
				info.bindings[i].name = ""
			}
			if diff := cmp.Diff(test.binds, info.bindings, cmp.AllowUnexported(binding{})); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.specs, info.specIDs); diff != "" {
				t.Error(diff)
			}
			if info.pushBytes != test.push || info.entry != "main" {
				t.Errorf("push %d, entry %q", info.pushBytes, info.entry)
			}
		})
	}
}

func TestSpecializedSizes(t *testing.T) {
	info := must[*spirvInfo](t)(parseSPIRV(subgroupCode))
	if n := info.sharedBytes(nil); n != 16*4*4 {
		t.Errorf("%d bytes of workgroup memory by default, wanted 256", n)
	}
	if n := info.sharedBytes(map[uint32]uint32{1: 100}); n != 1600 {
		t.Errorf("%d bytes of workgroup memory, wanted 1600", n)
	}
	if g, known := info.groupSize(map[uint32]uint32{0: 24}); !known || g != [3]uint32{24, 1, 1} {
		t.Errorf("workgroup %v", g)
	}
}

func TestBrokenSPIRV(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"empty", "", "0 bytes are no SPIR-V module"},
		{"odd", incCode[:401], "401 bytes"},
		{"magic", strings.Repeat("abcd", 10), "first word"},
		{"cut", incCode[:404], "at word"},
		{"header only", incCode[:20], "no compute entry point"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseSPIRV(test.in)
			wantError(t, err, test.want)
		})
	}
}

func FuzzParseSPIRV(f *testing.F) {
	for _, s := range []string{axpyCode, incCode, typesCode, subgroupCode, axpyCode[:100]} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if info, err := parseSPIRV(code); err == nil {
			info.sharedBytes(map[uint32]uint32{0: 64, 1: 3})
			info.groupSize(nil)
		}
	})
}

func TestSpecOp(t *testing.T) {
	m := newModule()
	for id, v := range map[uint32]uint32{1: 7, 2: 2, 3: 0} {
		m.constants[id] = constant{opConstant, []uint32{v}}
	}
	m.specID[2] = 5
	tests := []struct {
		op         uint32
		args       []uint32
		want       uint32
		impossible bool
	}{
		{128, []uint32{1, 2}, 10, false}, {130, []uint32{1, 2}, 4, false}, {132, []uint32{1, 2}, 21, false},
		{134, []uint32{1, 2}, 2, false}, {137, []uint32{1, 2}, 1, false}, {194, []uint32{1, 2}, 0, false},
		{196, []uint32{1, 2}, 56, false}, {197, []uint32{1, 2}, 7, false}, {199, []uint32{1, 2}, 3, false},
		{169, []uint32{3, 1, 2}, 3, false}, {169, []uint32{1, 1, 2}, 7, false}, {170, []uint32{1, 2}, 0, false},
		{171, []uint32{1, 2}, 1, false}, {172, []uint32{1, 2}, 1, false}, {174, []uint32{1, 2}, 1, false},
		{176, []uint32{1, 2}, 0, false}, {178, []uint32{1, 2}, 0, false}, {134, []uint32{1, 3}, 0, true},
		{134, []uint32{1, 9}, 0, true}, {128, []uint32{10, 1}, 0, true}, // refers to itself
		{128, []uint32{10, 10}, 0, true}, {999, []uint32{1, 2}, 0, true},
	}
	for _, test := range tests {
		m.constants[10] = constant{opSpecOp, append([]uint32{test.op}, test.args...)}
		got, known := m.under(map[uint32]uint32{5: 3}).value(10)
		if known == test.impossible || known && got != test.want {
			t.Errorf("op %d of %v = %d, %v, wanted %d", test.op, test.args, got, known, test.want)
		}
	}
}
