package fuse

import (
	"slices"
	"strings"

	"github.com/vulcast/vulcast/gen/ir"
)

// kind classifies a formula node or group by what its kernel does.
type kind int

const (
	pointwise kind = iota // one element at a time
	row                   // reductions over the last dimension
)

// rule allows one pair of neighbours to share a kernel.
type rule struct {
	name            string
	picture         string
	group, follower kind
}

// rules is the whole policy. Chains are pairs applied again: add, then norm, then gain.
var rules = []rule{
	{"chain", "t = f(x);  y = g(t)                 ->  y = g(f(x))", pointwise, pointwise},
	{"residual before norm", "s = x + a;  y = s * rstd(s) * w     ->  one pass for s and its row", pointwise, row},
	{"epilogue of a row", "n = x * rstd(x);  y = f(n)          ->  f in the row's last pass", row, pointwise},
	{"rows in a row", "n = norm(x);  y = norm(n)           ->  phases of one kernel", row, row},
}

// maxMembers keeps kernels short enough to read and to keep in registers.
const maxMembers = 6

// allowed reports whether a rule lets the node join the group.
func allowed(g, n *ir.Node) bool {
	if len(g.Group.Members) >= maxMembers || twoActivations(g, n) {
		return false
	}
	gk, nk := pointwise, pointwise
	if g.Group.Rows {
		gk = row
	}
	if reduces(n) {
		nk = row
	}
	return slices.ContainsFunc(rules, func(r rule) bool { return r.group == gk && r.follower == nk })
}

// twoActivations: a kernel has one activation constant.
func twoActivations(g, n *ir.Node) bool {
	name := activation(n)
	if name == "" {
		return false
	}
	for _, m := range g.Group.Members {
		if a := activation(m); a != "" && a != name {
			return true
		}
	}
	return false
}

func activation(n *ir.Node) string {
	for _, a := range n.Attrs {
		if a.Type == "act" && a.Expr != nil {
			return a.Expr.Src
		}
	}
	return ""
}

// Name is the group's kernel name: its members' ops, a repeated word once.
func Name(g *ir.Group) string {
	var words []string
	for _, m := range g.Members {
		if len(words) == 0 || words[len(words)-1] != m.Op {
			words = append(words, m.Op)
		}
	}
	name := strings.Join(words, "_")
	if len(name) > 40 {
		name = strings.Join(words[:2], "_") + "_chain"
	}
	return name
}
