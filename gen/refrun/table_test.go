package refrun

import (
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"testing"

	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
)

// sampleAttrs are values of the numbers that formula ops take.
var sampleAttrs = map[string]float64{"eps": 1e-3, "by": 0.7, "cap": 1.5, "low": -0.6, "high": 0.8, "limit": 0.9, "alpha": 1.3,
	"beta": 0.5, "every": 0.4, "shift": 0.1, "within": 0.5, "slope": 1.7}

// TestFormulaDerivatives checks every derivative formula of the op table against central differences, at an odd size.
func TestFormulaDerivatives(t *testing.T) {
	table, err := ops.Load(os.DirFS("../../specs/ops"), "specs/ops")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(table))
	for n := range table {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		o := table[n]
		if !o.IsFormula() || o.NoGrad {
			continue
		}
		acts := []string{""}
		for _, a := range o.Attrs {
			if a.Type == "act" {
				acts = []string{"silu", "gelu", "gelu_new", "quick_gelu", "tanh", "mish"}
			}
		}
		for _, act := range acts {
			t.Run(n+act, func(t *testing.T) { checkFormulas(t, o, act) })
		}
	}
}

// checkFormulas compares the gradients of sum(dy * y) with central differences for every input.
func checkFormulas(t *testing.T, o *ops.Op, act string) {
	rng := rand.New(rand.NewPCG(7, uint64(len(o.Name))))
	in := map[string]*Array{}
	for i, s := range formulaShapes(t, o) {
		a := random(rng, s...)
		for k := range a.Data { // away from kinks and poles
			a.Data[k] = math.Copysign(0.3+math.Abs(a.Data[k]), a.Data[k])
			if sampleAttrs["positive"] == 1 {
				a.Data[k] = math.Abs(a.Data[k])
			}
		}
		in[o.In[i].Name] = a
	}
	forward := func() map[string]*Array {
		env := map[string]*Array{}
		for k, v := range in {
			env[k] = v
		}
		for _, f := range append(append([]ops.Formula{}, o.Saves...), o.Y...) {
			y, err := Formula(f.Expr, lookup(env), act)
			if err != nil {
				t.Fatal(err)
			}
			env[f.Name] = y
		}
		return env
	}
	env := forward()
	dys := map[string]*Array{}
	for _, y := range o.Out {
		dys[y] = random(rng, env[y].Shape...)
		env["d"+y] = dys[y]
	}
	value := func() float64 {
		e, sum := forward(), 0.0
		for _, y := range o.Out {
			sum += dot(e[y].Data, dys[y].Data)
		}
		return sum
	}
	for _, d := range o.D {
		if d.None || d.Expr == nil {
			continue
		}
		g, err := Formula(d.Expr, lookup(env), act)
		if err != nil {
			t.Fatal(err)
		}
		x := in[d.Inputs[0]]
		// A derivative that is constant over y is broadcast first.
		full := zeros(env[o.Out[0]].Shape...)
		_, ig, _, err := broadcast(g.Shape, full.Shape)
		if err != nil {
			t.Fatal(err)
		}
		for k := range full.Data {
			full.Data[k] = g.Data[ig[k]]
		}
		differences(t, d.Inputs[0], x, SumTo(full, x.Shape), value)
	}
}

func differences(t *testing.T, name string, x, g *Array, value func() float64) {
	t.Helper()
	const h = 1e-6
	for k := range x.Data {
		keep := x.Data[k]
		x.Data[k] = keep + h
		up := value()
		x.Data[k] = keep - h
		want := (up - value()) / (2 * h)
		x.Data[k] = keep
		if math.Abs(g.Data[k]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("d.%s element %d: formula %g, central difference %g", name, k, g.Data[k], want)
		}
	}
}

// lookup finds names among arrays, then among the sample attributes.
func lookup(env map[string]*Array) func(string) (*Array, bool) {
	return func(n string) (*Array, bool) {
		if a, ok := env[n]; ok {
			return a, true
		}
		v, ok := sampleAttrs[n]
		return Number(v), ok
	}
}

// formulaShapes chooses the shapes of an op's inputs: [2 3 5] for all, or what the shape rule says for D = 5.
func formulaShapes(t *testing.T, o *ops.Op) [][]int {
	full := ir.Shape{ir.Const(2), ir.Const(3), ir.Const(5)}
	in := make([]ir.Shape, len(o.In))
	in[0] = full
	if o.Rule == nil {
		for i := range in {
			in[i] = full
		}
	}
	ins, _, err := (&ops.Shaper{Op: o, In: in, Attr: func(string) (ir.Dim, bool) { return ir.Dim{}, false }}).Shapes()
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]int, len(ins))
	for i, s := range ins {
		if s == nil {
			s = full
		}
		for _, d := range s {
			n := 0
			for k := range 64 {
				if d.IsConst(k) {
					n = k
				}
			}
			out[i] = append(out[i], n)
		}
	}
	return out
}
