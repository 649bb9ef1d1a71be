package ir

import (
	"slices"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/spec"
)

// Module is one architecture.
type Module struct {
	Name  string
	Arch  *spec.Arch
	Funcs []*Func // callees before callers
}

// Func returns the named function, nil if there is none.
func (m *Module) Func(name string) *Func {
	for _, f := range m.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Type is the storage class of a value.
type Type string

// Storage classes. Act follows the precision mode; the others are fixed.
const (
	Act Type = "act"
	F32 Type = "f32"
	I32 Type = "i32"
)

// Func is a function over tensors.
type Func struct {
	Name   string
	Pos    spec.Pos
	In     []*Value
	Out    []*Value
	Body   []*Node
	Params []*Param // tensors of the checkpoint that the function's own nodes use, in order
	Prefix string   // of the tensor names inside
	Layer  bool     // the function, or one it calls, mentions the layer number i

	ActiveIn  []bool // inputs through which a gradient flows
	ActiveOut []bool // outputs likewise

	Grad  *Func    // backward function, nil when nothing inside reaches a gradient
	Saved []*Value // values of this function that Grad reads, in order
	Of    *Func    // for a backward function: its forward function
}

// Value is a tensor.
type Value struct {
	Name  string
	Shape Shape
	Type  Type
	Param *Param // the value is a tensor of the checkpoint
	Of    *Value // for a gradient: the value it is the gradient of
}

// Param is a tensor of the checkpoint.
type Param struct {
	Key      string   // the attribute that names it: weight, bias, ...
	Names    []string // names on disk relative to the prefix; the first is canonical
	Shape    Shape
	Trans    bool       // [in,out] on disk
	Flat     bool       // the first two dimensions are one on disk
	Stack    bool       // one disk tensor for each index {e} of the first dimension
	Optional bool       // absent when the checkpoint has no such tensor
	Cond     *expr.Expr // absent when false
	Tied     string     // full name of the tensor it shares when TiedIf holds
	TiedIf   *expr.Expr
	Node     *Node // first user
	Pos      spec.Pos
}

// Attr is an evaluated attribute of a node.
type Attr struct {
	Key  string
	Expr *expr.Expr // a configuration expression; nil for Word
	Word string     // a plain word (an enumeration, a list of names)
	Type string     // the declared type
}

// Node is one operation.
type Node struct {
	Op    string
	Call  *Call // set for calls
	In    []*Value
	Out   []*Value
	Attrs []Attr
	Guard *expr.Expr // when false, each output is the value of Else at the same place
	Else  []*Value   // nil entries: zeros
	Text  string     // the spec line
	Pos   spec.Pos
	Of    *Node // for a node of a backward function: the forward node

	Formulas []Formula // for formula nodes: what each output is, over the names of Env and the attributes
	Env      []Binding
	Group    *Group // for op "kernel": the formula nodes that one kernel computes
}

// Formula is the expression of one output. Expressions are over the node's own names (Env), attributes included.
type Formula struct {
	Name string // what other formulas of the node call the output
	Expr *expr.Expr
	Out  *Value
}

// Binding gives a name inside formulas its tensor.
type Binding struct {
	Name  string
	Value *Value
}

// Bound returns the tensor that a name of the node's formulas stands for.
func (n *Node) Bound(name string) *Value {
	for _, b := range n.Env {
		if b.Name == name {
			return b.Value
		}
	}
	for _, f := range n.Formulas {
		if f.Name == name {
			return f.Out
		}
	}
	return nil
}

// Attr returns the attribute with the key, nil if there is none.
func (n *Node) Attr(key string) *Attr {
	for i := range n.Attrs {
		if n.Attrs[i].Key == key {
			return &n.Attrs[i]
		}
	}
	return nil
}

// Call is a call of functions of the module.
type Call struct {
	Cases  []Case
	On     *expr.Expr // selects the case by its label (a string), or true/false; nil for a single case
	Repeat *expr.Expr // the call runs Repeat times, its outputs feeding its first inputs
	From   *expr.Expr // first value of i, nil for 0
	Index  string     // name of the loop counter
	Outs   []*Value   // for Grad: the forward outputs whose gradients come in, in order
	Ins    []*Value   // for Grad: the forward inputs whose gradients go out, in order
	Stream string     // "encoder" when the call runs over the encoder's batch
	Once   bool       // decoding computes the results at the first step and keeps them
	Grad   bool       // the call runs the backward functions of the cases
}

// Case is one callee of a call.
type Case struct {
	Label  string
	Fn     *Func
	Prefix string
	Field  string // Go-independent name of the weights and saved values of this case inside the caller
}

// Group is a set of formula nodes computed by one kernel.
type Group struct {
	Name    string
	Members []*Node  // in order
	Shape   Shape    // iteration space; reductions run over its last dimension
	Rows    bool     // some member reduces over the last dimension, or some output is summed over the rows
	In      []*Value // read from memory
	Out     []*Value // written to memory, in order
	Cols    []*Value // outputs that leave the kernel summed over rows, as partial sums [groups, D]
}

// IsCol reports whether a value leaves the kernel summed over the rows.
func (g *Group) IsCol(v *Value) bool { return slices.Contains(g.Cols, v) }

// Params returns the node's inputs that are tensors of the checkpoint.
func (n *Node) Params() []*Param {
	var out []*Param
	for _, v := range n.In {
		if v != nil && v.Param != nil {
			out = append(out, v.Param)
		}
	}
	return out
}
