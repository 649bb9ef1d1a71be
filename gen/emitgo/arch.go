package emitgo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
	"github.com/vulcast/vulcast/gen/lower"
	"github.com/vulcast/vulcast/gen/spec"
)

// model prints arch.go: the description of the architecture and the Model that the runtime drives.
func (e *emitter) model() *source {
	s := e.source("arch.go")
	s.doc = append([]string{"Package " + e.pkg + " is generated code for one architecture:", ""}, strings.Split(e.arch.Doc, "\n")...)
	e.archVar(s)
	e.modelStruct(s)
	e.prepare(s)
	switch e.arch.Kind {
	case spec.Seq2Seq:
		e.seq2seq(s)
	default:
		e.decoder(s)
	}
	return s
}

func (e *emitter) archVar(s *source) {
	kind := map[spec.Kind]string{spec.Causal: "Causal", spec.Masked: "Masked", spec.Seq2Seq: "Seq2Seq"}[e.arch.Kind]
	s.comment("Arch describes the architecture to the runtime.")
	s.line("func Arch() *model.Arch {")
	s.line("return &model.Arch{")
	s.line("Name: %q,", e.mod.Name)
	s.line("Kind: model.%s,", kind)
	if e.arch.LabelsInPlace {
		s.line("LabelsInPlace: true,")
	}
	s.line("ModelTypes: []string{%s},", quoted(e.arch.ModelTypes))
	if len(e.arch.Packages) > 0 {
		s.line("Packages: []model.Package{")
		for _, p := range e.arch.Packages {
			var renames []string
			for _, r := range p.Rename {
				from, to, _ := strings.Cut(r, "->")
				renames = append(renames, fmt.Sprintf("{From: %q, To: %q}", strings.TrimSpace(from), strings.TrimSpace(to)))
			}
			set := ""
			if len(p.Set) > 0 {
				text, err := json.Marshal(p.Set)
				if err != nil {
					panic(err) // numbers, strings and truth values of TOML
				}
				set = fmt.Sprintf(", Set: %q", text)
			}
			if p.Text != "" {
				set += fmt.Sprintf(", Text: %q", p.Text)
			}
			s.line("{ModelType: %q, ConfigPath: %q, Rename: []model.Rename{%s}%s},", p.ModelType, p.Config,
				strings.Join(renames, ", "), set)
		}
		s.line("},")
	}
	s.line("New: func(f *hfconfig.File) (model.Model, error) { return New(f) },")
	s.line("}")
	s.line("}")
	s.gap()
}

func quoted(list []string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(parts, ", ")
}

func (e *emitter) roots() []*ir.Func {
	var out []*ir.Func
	for _, r := range lower.Contract(e.arch.Kind) {
		out = append(out, e.mod.Func(r.Name))
	}
	return out
}

func (e *emitter) modelStruct(s *source) {
	s.comment("Model is one " + e.mod.Name + ": its configuration, its tensors and its constant tables.")
	s.line("type Model struct {")
	s.line("*Config")
	s.line("declared *nn.Builder")
	s.line("options model.Options")
	for _, f := range e.roots() {
		if e.hasWeights(f) {
			s.line("%sW *%sWeights", lowerCamel(f.Name), e.tree[f].typ)
		}
	}
	for _, f := range e.mod.Funcs {
		for _, op := range f.Body {
			if name, ok := e.tree[f].consts[op]; ok {
				list := ""
				if e.layeredConst(op) {
					list = "[]"
				}
				s.line("%s %s*nn.%s // %s", name, list, e.table[op.Op].ConstType, op.Text)
			}
		}
	}
	s.line("}")
	s.gap()
	s.comment("New declares the model that the configuration describes; it takes no device memory.")
	s.line("func New(f *hfconfig.File) (m *Model, err error) {")
	s.line("defer f.Recover(&err) // a list of the configuration may be too short")
	s.line("c, err := NewConfig(f)")
	s.line("if err != nil {")
	s.line("return nil, err")
	s.line("}")
	std := "0.02"
	if e.hasConfig("initializer_range") {
		std = "c.InitializerRange"
	}
	s.line("b := nn.NewBuilder(%s)", std)
	s.line("m = &Model{Config: c, declared: b}")
	for _, f := range e.roots() {
		if e.hasWeights(f) {
			s.line("m.%sW = c.%sWeights(b)", lowerCamel(f.Name), lowerCamel(f.Name))
		}
	}
	s.line("return m, b.Err()")
	s.line("}")
	s.gap()
	s.comment("Arch returns the architecture's description.")
	s.line("func (m *Model) Arch() *model.Arch { return Arch() }")
	s.gap()
	s.comment("Params lists the tensors in checkpoint order.")
	s.line("func (m *Model) Params() []*nn.Param { return m.declared.Params() }")
	s.gap()
	s.comment("Linears lists the linear layers, the targets of adapters.")
	s.line("func (m *Model) Linears() []*nn.Linear { return m.declared.Linears() }")
	s.gap()
}

func (e *emitter) hasConfig(name string) bool {
	for _, c := range e.arch.Config {
		if c.Name == name {
			return true
		}
	}
	return false
}

// prepare prints the making of constant tables.
func (e *emitter) prepare(s *source) {
	sc := newScope(e.arch, "m")
	s.comment("Prepare makes the constant tables.")
	s.line("func (m *Model) Prepare(dev *gpu.Device, o model.Options) error {")
	s.line("m.options = o")
	any := false
	for _, f := range e.mod.Funcs {
		for _, op := range f.Body {
			name, ok := e.tree[f].consts[op]
			if !ok {
				continue
			}
			if !any {
				s.line("var err error")
				any = true
			}
			e.constTable(s, sc, f, op, name)
		}
	}
	s.line("return nil")
	s.line("}")
	s.gap()
}

// rootCall prints the call of an entry function in one of its forms.
func (e *emitter) rootCall(f *ir.Func, fm form, batch, keep string, in ...string) string {
	args := []string{"r", batch}
	if e.hasWeights(f) {
		args = append(args, "m."+lowerCamel(f.Name)+"W")
	}
	if fm != stepping && e.hasSaved(f) || fm == stepping && e.hasState(f) {
		args = append(args, keep)
	}
	args = append(args, in...)
	p := &printer{emitter: e, f: f, form: fm}
	return fmt.Sprintf("m.%s(%s)", p.method(f, fm), strings.Join(args, ", "))
}

// keepLine prints the declaration of a saved struct, when the function keeps anything.
func (e *emitter) keepLine(s *source, f *ir.Func, name string) {
	if e.hasSaved(f) {
		s.line("%s := &%sSaved{}", name, e.tree[f].typ)
	}
}

// vocab is the size of the last dimension of the logits.
func (e *emitter) vocab(sc *scope) string {
	h := e.mod.Func("head").Out[0].Shape
	return sc.dim(h[len(h)-1])
}

// decoder prints the methods of causal and masked architectures.
func (e *emitter) decoder(s *source) {
	body, head := e.mod.Func("model"), e.mod.Func("head")
	sc := newScope(e.arch, "m")
	s.comment("Logits records a full forward pass without cache: [B T vocabulary].")
	s.line("func (m *Model) Logits(r *nn.Recorder, in *model.Inputs) gpu.Tensor {")
	s.line("b := in.Dec")
	e.noState(s, body)
	s.line("h := %s", e.rootCall(body, stepping, "b", "&st", "b.Tokens"))
	e.headStep(s, head, "h")
	s.line("}")
	s.gap()
	s.comment("Loss records a forward pass and the loss of every token, weighted by the batch's loss scale.")
	s.line("func (m *Model) Loss(r *nn.Recorder, in *model.Inputs) gpu.Tensor {")
	s.line("b := in.Dec")
	e.noState(s, body)
	s.line("h := %s", e.rootCall(body, stepping, "b", "&st", "b.Tokens"))
	e.lossTail(s, head, sc)
	s.line("}")
	s.gap()
	s.comment("Train records forward, loss and backward; gradients go to the parameters. It returns the loss of every token.")
	s.line("func (m *Model) Train(r *nn.Recorder, in *model.Inputs) gpu.Tensor {")
	s.line("b := in.Dec")
	e.keepLine(s, body, "s")
	s.line("h := %s", e.rootCall(body, training, "b", "s", "b.Tokens"))
	e.trainHead(s, head, sc)
	if body.Grad != nil {
		s.line("%s", e.rootCall(body, backward, "b", "s", "dh"))
	}
	s.line("r.Free(dh)")
	s.line("return loss")
	s.line("}")
	s.gap()
	e.stateMethods(s, body, nil)
	s.comment("Step records the tokens of the batch through the caches: logits [B T vocabulary], or of the last token alone.")
	s.line("func (m *Model) Step(r *nn.Recorder, in *model.Inputs, st model.State) gpu.Tensor {")
	s.line("b := in.Dec")
	if e.hasState(body) {
		s.line("h := %s", e.rootCall(body, stepping, "b", "&st.(*State).decoder", "b.Tokens"))
	} else {
		s.line("h := %s", e.rootCall(body, stepping, "b", "", "b.Tokens"))
	}
	s.line("if in.LastOnly {")
	s.line("h = r.LastToken(b, h)")
	s.line("}")
	e.headStep(s, head, "h")
	s.line("}")
	s.gap()
	s.comment("Encode records nothing: there is no encoder.")
	s.line("func (m *Model) Encode(*nn.Recorder, *model.Inputs, model.State) {}")
}

// noState declares an empty state: a forward pass without cache keeps nothing.
func (e *emitter) noState(s *source, f *ir.Func) {
	if e.hasState(f) {
		s.line("st := m.%sState(nn.NoState())", lowerCamel(f.Name))
	}
}

func (e *emitter) headStep(s *source, head *ir.Func, h string) {
	s.line("logits := %s", e.rootCall(head, stepping, "b", "nil", h))
	s.line("r.Free(%s)", h)
	s.line("return logits")
}

func (e *emitter) lossTail(s *source, head *ir.Func, sc *scope) {
	s.line("loss := r.HeadLoss(b, h, %s, func(b *nn.Batch, h gpu.Tensor) gpu.Tensor {", e.vocab(sc))
	s.line("return %s", e.rootCall(head, stepping, "b", "nil", "h"))
	s.line("})")
	s.line("r.Free(h)")
	s.line("return loss")
}

func (e *emitter) trainHead(s *source, head *ir.Func, sc *scope) {
	s.comment("the head runs on pieces of rows, so that the logits never exist whole")
	s.line("loss, dh := r.HeadGrad(b, h, %s, func(b *nn.Batch, h gpu.Tensor) (logits gpu.Tensor, back func(dlogits gpu.Tensor) gpu.Tensor) {",
		e.vocab(sc))
	e.keepLine(s, head, "s")
	s.line("logits = %s", e.rootCall(head, training, "b", "s", "h"))
	s.line("return logits, func(dlogits gpu.Tensor) gpu.Tensor {")
	s.line("return %s", e.rootCall(head, backward, "b", "s", "dlogits"))
	s.line("}")
	s.line("})")
	s.line("r.Free(h)")
}

// stateMethods prints the State type and NewState.
func (e *emitter) stateMethods(s *source, body, encoder *ir.Func) {
	s.comment("State is the memory of a decoding: caches and recurrent states.")
	s.line("type State struct {")
	s.line("*nn.StateAlloc")
	if e.hasState(body) {
		s.line("decoder %sState", e.tree[body].typ)
	}
	s.line("}")
	s.gap()
	s.comment("NewState allocates the memory of a decoding of B rows and up to S tokens a row.")
	s.line("func (m *Model) NewState(dev *gpu.Device, B, S int) (model.State, error) {")
	if d := e.arch.Decode; d != nil {
		s.line("if !(%s) {", newScope(e.arch, "m").expr(d.Expr, expr.Bool))
		s.line("return nil, fmt.Errorf(%q, model.ErrNoDecoding)", e.mod.Name+": %w: it needs "+d.Expr.Src)
		s.line("}")
	}
	s.line("st := &State{StateAlloc: nn.NewStateAlloc(dev, m.options.Activations, B, S)}")
	if e.hasState(body) {
		s.line("st.decoder = m.%sState(st.StateAlloc)", lowerCamel(body.Name))
	}
	s.line("return st, st.Err()")
	s.line("}")
	s.gap()
}

// attrDim gives an op's int attributes as sizes.
func (e *emitter) attrDim(n *ir.Node) func(string) (ir.Dim, bool) {
	return func(name string) (ir.Dim, bool) {
		a := n.Attr(name)
		if a == nil || a.Expr == nil || a.Type != "int" {
			return ir.Dim{}, false
		}
		return ir.ParseDim(a.Expr, func(string) (*expr.Expr, bool) { return nil, false }), true
	}
}

// command prints the architecture's own program.
func (e *emitter) command() *source {
	s := e.source("cmd/" + e.pkg + "/main.go")
	s.pkg = "main"
	s.doc = []string{"Command " + e.pkg + " is the command line of " + e.mod.Name + " models alone."}
	s.line("func main() {")
	s.line("os.Exit(cli.Main(%q, []*model.Arch{ARCH.Arch()}, &kernels.NN))", e.pkg)
	s.line("}")
	return s
}
