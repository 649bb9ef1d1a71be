package autodiff

import (
	"slices"

	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/ops"
)

// demand tells, for every function, which outputs' gradients anybody asks for and which inputs' gradients follow from them.
// Without it a value that only rules a choice would carry a gradient of zeros, and its tensors would count as trained.
type demand struct {
	table   ops.Table
	in, out map[*ir.Func][]bool
	changed bool
}

// pruneUnwanted takes back the activity of inputs and outputs through which no gradient can come from the loss.
func pruneUnwanted(m *ir.Module, table ops.Table, roots []string) {
	d := &demand{table: table, in: map[*ir.Func][]bool{}, out: map[*ir.Func][]bool{}}
	for _, f := range m.Funcs {
		d.in[f], d.out[f] = make([]bool, len(f.In)), make([]bool, len(f.Out))
		if slices.Contains(roots, f.Name) {
			for i := range f.Out {
				d.out[f][i] = true
			}
		}
	}
	for d.changed = true; d.changed; {
		d.changed = false
		for _, f := range m.Funcs {
			d.function(f)
		}
	}
	for _, f := range m.Funcs {
		for i := range f.In {
			f.ActiveIn[i] = f.ActiveIn[i] && d.in[f][i]
		}
		for i := range f.Out {
			f.ActiveOut[i] = f.ActiveOut[i] && d.out[f][i]
		}
	}
}

func (d *demand) set(list []bool, i int) {
	if !list[i] {
		list[i], d.changed = true, true
	}
}

// function follows the demand for f's outputs back through its body.
func (d *demand) function(f *ir.Func) {
	want := map[*ir.Value]bool{}
	for i, v := range f.Out {
		want[v] = want[v] || d.out[f][i]
	}
	for _, n := range slices.Backward(f.Body) {
		any := slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return want[v] })
		switch {
		case n.Call != nil:
			d.call(n, want)
		case any && !d.table[n.Op].NoGrad:
			for j, v := range n.In {
				if v != nil && !undifferentiable(d.table[n.Op], j) {
					want[v] = true
				}
			}
		}
		for i, v := range n.Else {
			want[v] = want[v] || want[n.Out[i]]
		}
	}
	for i, v := range f.In {
		if want[v] {
			d.set(d.in[f], i)
		}
	}
}

// call carries demand into the callees and back; all cases of a call share one signature.
func (d *demand) call(n *ir.Node, want map[*ir.Value]bool) {
	cases := n.Call.Cases
	for _, c := range cases {
		for i, v := range n.Out {
			if want[v] || n.Call.Repeat != nil && d.in[c.Fn][i] { // what one round takes, the round before gives
				d.set(d.out[c.Fn], i)
			}
		}
		for _, o := range cases {
			for i := range c.Fn.Out {
				if d.out[c.Fn][i] {
					d.set(d.out[o.Fn], i)
				}
			}
			for i := range c.Fn.In {
				if d.in[c.Fn][i] {
					d.set(d.in[o.Fn], i)
				}
			}
		}
	}
	for i, v := range n.In {
		// A carried output's gradient comes back through the input that it replaces.
		if d.in[cases[0].Fn][i] || n.Call.Repeat != nil && i < len(n.Out) && want[n.Out[i]] {
			d.set(d.in[cases[0].Fn], i)
			want[v] = true
		}
	}
}
