package ops

import (
	"regexp"
	"sort"
	"strings"

	"github.com/vulcast/vulcast/gen/expr"
	"github.com/vulcast/vulcast/gen/ir"
)

// reader turns the raw table of one row into an Op.
type reader struct {
	op   *Op
	raw  map[string]any
	text string
	errs []error
}

func (r *reader) fail(format string, args ...any) {
	r.errs = append(r.errs, r.op.Pos.Errorf(r.op.Name+": "+format, args...))
}

func (r *reader) word(key string) string {
	v, ok := r.raw[key]
	if !ok {
		return ""
	}
	delete(r.raw, key)
	s, ok := v.(string)
	if !ok {
		r.fail("%s is %T, want a string", key, v)
	}
	return s
}

func (r *reader) flag(key string) bool {
	v, ok := r.raw[key]
	if !ok {
		return false
	}
	delete(r.raw, key)
	b, ok := v.(bool)
	if !ok {
		r.fail("%s is %T, want true or false", key, v)
	}
	return b
}

func (r *reader) read() {
	o := r.op
	o.Doc, o.Source = r.word("doc"), r.word("source")
	if o.Doc == "" {
		r.fail("no doc")
	}
	r.signature(r.word("sig"), r.word("params"))
	r.attrs(r.word("attr"))
	o.Kernel, o.Object, o.State, o.Code = r.word("kernel"), r.word("object"), r.word("state"), r.word("rule")
	o.Init, o.Struct = r.word("init"), r.word("struct")
	if c := strings.Fields(r.word("const")); len(c) == 2 {
		o.ConstType, o.Const = c[0], c[1]
	} else if len(c) != 0 {
		r.fail("const = %q, want \"Type NewType\"", strings.Join(c, " "))
	}
	o.Batch, o.Keys, o.NoGrad, o.View = r.flag("batch"), r.flag("keys"), r.flag("nograd"), r.flag("view")
	for _, w := range strings.Fields(r.word("f32")) {
		o.Types[w] = ir.F32
	}
	for _, w := range strings.Fields(r.word("i32")) {
		o.Types[w] = ir.I32
	}
	if s := r.word("shape"); s != "" {
		rule, err := parseRule(s)
		if err != nil {
			r.fail("shape: %v", err)
		}
		o.Rule = rule
	}
	r.formulas()
	r.derivatives()
	left := make([]string, 0, len(r.raw))
	for k := range r.raw {
		left = append(left, k)
	}
	sort.Strings(left)
	for _, k := range left {
		r.fail("unknown key %s", k)
	}
	if o.IsFormula() == (o.Kernel != "") {
		r.fail("want either a formula for each output or kernel = \"Method\"")
	}
	if o.Kernel != "" && o.Rule == nil && o.Code == "" {
		r.fail("a kernel op needs a shape")
	}
}

func (r *reader) signature(sig, params string) {
	in, out, ok := strings.Cut(sig, "->")
	if !ok {
		r.fail("sig = %q, want \"inputs -> outputs\"", sig)
	}
	for _, w := range strings.Fields(in) {
		name := strings.TrimRight(w, "?*")
		r.op.In = append(r.op.In, Input{Name: name, Optional: strings.HasSuffix(w, "?"), Variadic: strings.HasSuffix(w, "*")})
	}
	for _, w := range strings.Fields(out) {
		r.op.Out = append(r.op.Out, strings.TrimSuffix(w, "*"))
		r.op.VariadicOut = r.op.VariadicOut || strings.HasSuffix(w, "*")
	}
	for _, p := range strings.Fields(params) {
		i := r.op.Input(p)
		if i < 0 {
			r.fail("params names %s, which is no input", p)
			continue
		}
		r.op.In[i].Param = true
	}
}

func (r *reader) attrs(decl string) {
	if strings.TrimSpace(decl) == "" {
		return
	}
	for _, d := range strings.Split(decl, ";") {
		left, def, hasDefault := strings.Cut(d, "=")
		w := strings.Fields(left)
		if len(w) != 2 {
			r.fail("attr %q, want `name type [= default]`", strings.TrimSpace(d))
			continue
		}
		a := AttrDecl{Name: w[0], Type: w[1], HasDefault: hasDefault}
		if a.Type == "word" {
			a.Word = strings.TrimSpace(def)
		} else if hasDefault {
			e, err := expr.Parse(strings.TrimSpace(def))
			if err != nil {
				r.fail("attr %s: %v", a.Name, err)
				continue
			}
			a.Default = e
		}
		r.op.Attrs = append(r.op.Attrs, a)
	}
}

// formulas reads save.* and the outputs; a formula may use inputs, attributes, saves before it and outputs before it.
func (r *reader) formulas() {
	known := map[string]bool{}
	for _, in := range r.op.In {
		known[in.Name] = true
	}
	for _, a := range r.op.Attrs {
		known[a.Name] = true
	}
	add := func(name, src string) (Formula, bool) {
		e, err := expr.Parse(src)
		if err == nil {
			err = e.CheckFormula(func(n string) bool { return known[n] })
		}
		if err != nil {
			r.fail("%s: %v", name, err)
			return Formula{}, false
		}
		known[name] = true
		return Formula{name, e}, true
	}
	if saves, ok := r.raw["save"].(map[string]any); ok {
		delete(r.raw, "save")
		names := make([]string, 0, len(saves))
		for n := range saves {
			names = append(names, n)
		}
		sort.Slice(names, func(i, j int) bool { return r.keyLine("save."+names[i]) < r.keyLine("save."+names[j]) })
		for _, n := range names {
			src, _ := saves[n].(string)
			if f, ok := add(n, src); ok {
				r.op.Saves = append(r.op.Saves, f)
			}
		}
	}
	for _, out := range r.op.Out {
		if src := r.word(out); src != "" {
			if f, ok := add(out, src); ok {
				r.op.Y = append(r.op.Y, f)
			}
		}
	}
	if n := len(r.op.Y); n > 0 && n != len(r.op.Out) {
		r.fail("%d formulas for %d outputs", n, len(r.op.Out))
	}
}

// keyLine finds the line of a key below the row's header.
func (r *reader) keyLine(key string) int {
	for i, l := range strings.Split(r.text, "\n") {
		rest, ok := strings.CutPrefix(l, key)
		if ok && i+1 > r.op.Pos.Line && strings.HasPrefix(strings.TrimSpace(rest), "=") {
			return i + 1
		}
	}
	return 0
}

func (r *reader) derivatives() {
	d, _ := r.raw["d"].(map[string]any)
	delete(r.raw, "d")
	done := map[string]bool{}
	keys := make([]string, 0, len(d))
	for k := range d {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return r.op.Input(first(keys[i])) < r.op.Input(first(keys[j])) })

	for _, k := range keys {
		src, _ := d[k].(string)
		dv := Derivative{Inputs: strings.Fields(k), None: src == "none"}
		for j, in := range dv.Inputs {
			in = strings.TrimSuffix(in, "*")
			dv.Inputs[j] = in
			if r.op.Input(in) < 0 {
				r.fail("d.%s: no such input", in)
			}
			done[in] = true
		}
		if !dv.None {
			r.derivative(&dv, k, src)
		}
		r.op.D = append(r.op.D, dv)
	}
	if r.op.NoGrad {
		return
	}
	for _, in := range r.op.In {
		if !done[in.Name] {
			r.fail("no derivative d.%s: give a formula, a call, or \"none\"", in.Name)
		}
	}
}

func first(s string) string { return strings.TrimSuffix(strings.Fields(s + " x")[0], "*") }

// rowCall matches the call of another row: name(value, value, ...), where value* stands for all of a list.
var rowCall = regexp.MustCompile(`^([a-z_0-9]+)\(([a-z_0-9*, ]*)\)$`)

func (r *reader) derivative(dv *Derivative, key, src string) {
	if m := rowCall.FindStringSubmatch(src); m != nil && !expr.IsFormulaFunc(m[1]) {
		dv.Op = m[1]
		dv.Args = strings.FieldsFunc(m[2], func(c rune) bool { return c == ',' || c == ' ' })
		return
	}
	e, err := expr.Parse(src)
	if err != nil {
		r.fail("d.%s: %v", key, err)
		return
	}
	known := func(n string) bool {
		if r.op.Input(n) >= 0 || r.op.Attr(n) != nil {
			return true
		}
		for _, s := range r.op.Saves {
			if s.Name == n {
				return true
			}
		}
		for _, o := range r.op.Out {
			if n == o || n == "d"+o {
				return true
			}
		}
		return false
	}
	if err := e.CheckFormula(known); err != nil {
		r.fail("d.%s: %v", key, err)
		return
	}
	if len(dv.Inputs) != 1 {
		r.fail("d.%s: a formula is the derivative of one input", key)
	}
	dv.Expr = e
}
