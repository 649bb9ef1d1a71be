package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"testing"

	"github.com/vulcast/vulcast/gen/autodiff"
	"github.com/vulcast/vulcast/gen/emitglsl"
	"github.com/vulcast/vulcast/gen/fuse"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/lower"
	"github.com/vulcast/vulcast/gen/ops"
	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/gen/spec"
	"github.com/vulcast/vulcast/runtime/gpu"
)

// sampleFloats are values of the numbers that formula kernels take.
var sampleFloats = map[string]float64{"eps": 1e-3, "by": 0.7, "cap": 1.5, "low": -0.6, "high": 0.8, "limit": 0.9, "alpha": 1.3}

// formulaGroup is a fused group and whether its first op takes inputs of any shape.
type formulaGroup struct {
	*ir.Group
	broadcasts bool
}

// formulaGroups collects every fused group of every architecture, by kernel name.
func formulaGroups(t *testing.T) map[string]formulaGroup {
	t.Helper()
	root := os.DirFS("../../specs")
	table, err := ops.Load(os.DirFS("../../specs/ops"), "specs/ops")
	if err != nil {
		t.Fatal(err)
	}
	names, err := spec.List(root)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]formulaGroup{}
	add := func(body []*ir.Node, keep []*ir.Value) {
		for _, n := range fuse.Body(body, keep) {
			if n.Group == nil {
				continue
			}
			o := table[n.Group.Members[0].Op]
			g := formulaGroup{n.Group, o != nil && o.Rule == nil}
			k, err := emitglsl.Formula(g.Group, g.broadcasts)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat("../../generated/kernels/" + k.Name + ".spv"); err != nil {
				continue // a combination that no generated function keeps
			}
			groups[k.Name] = g
		}
	}
	for _, name := range names {
		a, err := spec.Load(root, "specs", name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lower.Module(a, table)
		if err == nil {
			err = autodiff.Module(m, table)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Funcs {
			add(f.Body, f.Out)
			add(f.Body, append(append([]*ir.Value{}, f.Out...), f.Saved...))
			if f.Grad != nil {
				add(f.Grad.Body, f.Grad.Out)
			}
		}
	}
	return groups
}

// TestFormulaKernels runs every generated kernel on the device, at a size that 4 divides and at one that it does not, and
// compares all results with the float64 evaluation of its formulas.
func TestFormulaKernels(t *testing.T) {
	d := device(t)
	groups := formulaGroups(t)
	names := make([]string, 0, len(groups))
	for n := range groups {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		for _, last := range []int{36, 37} {
			t.Run(fmt.Sprintf("%s/%d", n, last), func(t *testing.T) { runFormula(t, d, groups[n], last) })
		}
	}
	t.Logf("%d kernels", len(names))
}

func runFormula(t *testing.T, d *gpu.Device, fg formulaGroup, last int) {
	g := fg.Group
	k, err := emitglsl.Formula(g, fg.broadcasts)
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../../generated/kernels/" + k.Name + ".spv")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(11, uint64(last)))
	size := sizesOf(g, last)
	in := make([]*refrun.Array, len(g.In))
	r := recorder(d, gpu.F32)
	tensors := make([]gpu.Tensor, len(g.In))
	full := -1
	for i, v := range g.In {
		in[i] = sample(rng, size(v.Shape))
		tensors[i] = upload(t, d, gpu.F32, in[i])
		if k.In[i].Class == emitglsl.Full {
			full = i
		}
	}
	if full < 0 {
		t.Fatalf("no operand of the iteration's shape %s", g.Shape)
	}
	kernel := gpu.Kernel{Name: k.Name, Code: string(code)}
	f := r.Formula(&kernel, tensors[full], k.Rows)
	if k.Act != nil {
		f.Activation("silu")
	}
	for i, o := range k.In {
		switch o.Class {
		case emitglsl.Full:
			f.InFull(tensors[i])
		case emitglsl.Vector:
			f.InVector(tensors[i])
		case emitglsl.Suffix:
			f.InSuffix(tensors[i])
		case emitglsl.RowOf:
			f.InRow(tensors[i])
		case emitglsl.Prefix:
			f.InPrefix(tensors[i])
		case emitglsl.Scalar:
			f.InScalar(tensors[i])
		}
	}
	outs := make([]gpu.Tensor, len(k.Out))
	for i, o := range k.Out {
		switch o.Class {
		case emitglsl.Full:
			outs[i] = f.OutFull(gpu.F32)
		case emitglsl.RowOf:
			outs[i] = f.OutRow(gpu.F32)
		case emitglsl.Column:
			outs[i] = f.OutColumn()
		}
	}
	for _, a := range k.Attrs {
		f.Float(float32(floatOf(a.Key)))
	}
	f.Record()
	run(t, r)
	want := evaluate(t, g, in)
	for i, v := range g.Out {
		ref, got := want[v], download(t, d, outs[i])
		if k.Out[i].Class == emitglsl.Column { // partial sums over the rows
			cols := ref.Shape[len(ref.Shape)-1]
			ref = refrun.SumTo(ref, []int{cols})
			got = refrun.SumTo(&refrun.Array{Shape: []int{len(got) / cols, cols}, Data: got}, []int{cols}).Data
		}
		closeTo(t, k.Out[i].Name, got, ref)
	}
}

// closeTo compares with a bound of a few float32 roundings of the largest value: formulas are short, sums have 37 terms.
func closeTo(t *testing.T, name string, got []float64, want *refrun.Array) {
	t.Helper()
	if len(got) != len(want.Data) {
		t.Fatalf("%s: %d values, want %d", name, len(got), len(want.Data))
	}
	largest := 0.0
	for _, v := range want.Data {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			largest = math.Max(largest, math.Abs(v))
		}
	}
	for i, v := range want.Data {
		if math.IsNaN(v) && math.IsNaN(got[i]) { // the sample lies outside the domain of a formula
			continue
		}
		if bound := 4e-6 * math.Max(largest, 1); got[i] != v && !(math.Abs(got[i]-v) <= bound) {
			t.Errorf("%s[%d] = %g, want %g (bound %g)", name, i, got[i], v, bound)
			return
		}
	}
}

// floatOf is the sample value of a number.
func floatOf(key string) float64 {
	if v, ok := sampleFloats[key]; ok {
		return v
	}
	return 0.5
}

// evaluate computes every value of the group in float64.
func evaluate(t *testing.T, g *ir.Group, in []*refrun.Array) map[*ir.Value]*refrun.Array {
	t.Helper()
	env := map[*ir.Value]*refrun.Array{}
	for i, v := range g.In {
		env[v] = in[i]
	}
	for _, m := range g.Members {
		for _, f := range m.Formulas {
			y, err := refrun.Formula(f.Expr, func(name string) (*refrun.Array, bool) {
				if v := m.Bound(name); v != nil {
					a, ok := env[v]
					return a, ok
				}
				return refrun.Number(float64(float32(floatOf(name)))), true
			}, "silu")
			if err != nil {
				t.Fatal(err)
			}
			env[f.Out] = y
		}
	}
	return env
}

// sizesOf gives every symbolic size a number: the last dimension of the iteration is last, one is one, others are small odd
// numbers in order of appearance.
func sizesOf(g *ir.Group, last int) func(ir.Shape) []int {
	numbers := map[string]int{g.Shape[len(g.Shape)-1].String(): last, "1": 1}
	next := []int{3, 5, 2, 7}
	return func(s ir.Shape) []int {
		out := make([]int, len(s))
		for i, d := range s {
			key := d.String()
			if numbers[key] == 0 {
				numbers[key] = next[len(numbers)%len(next)]
			}
			out[i] = numbers[key]
		}
		return out
	}
}

// sample is random and away from zero, where reciprocals and kinks live.
func sample(rng *rand.Rand, shape []int) *refrun.Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	a := &refrun.Array{Shape: shape, Data: make([]float64, n)}
	for i := range a.Data {
		a.Data[i] = 0.3 + rng.Float64()
		if rng.IntN(2) == 0 {
			a.Data[i] = -a.Data[i]
		}
	}
	return a
}
