package emitgo

import (
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/gen/emitglsl"
)

// Launcher prints the Go file of a generated kernel: its code and the function that records it.
func Launcher(k *emitglsl.FormulaKernel) (File, error) {
	s := &source{path: "generated/kernels/" + k.Name + ".go", pkg: "kernels", header: "specs/ops"}
	local := lowerCamel(k.Name)
	s.line("//go:embed %s.spv", k.Name)
	s.line("var code%s string", camel(k.Name))
	s.gap()
	s.line("var %s_ = gpu.Kernel{Name: %q, Code: code%s}", local, k.Name, camel(k.Name))
	s.gap()
	s.comment(fmt.Sprintf("%s records the kernel %s:", camel(k.Name), k.Name), "")
	for _, l := range k.Lines {
		s.comment("\t" + l)
	}
	var in, out []string
	for _, o := range k.In {
		in = append(in, goOperand(o.Name))
	}
	for _, o := range k.Out {
		out = append(out, goOperand(o.Name))
	}
	args := []string{"r *nn.Recorder", strings.Join(in, ", ") + " gpu.Tensor"}
	if len(k.Floats) > 0 {
		var fl []string
		for _, f := range k.Floats {
			fl = append(fl, goOperand(f))
		}
		args = append(args, strings.Join(fl, ", ")+" float32")
	}
	if k.Act != nil {
		args = append(args, "activation string")
	}
	result := "(" + strings.Join(out, ", ") + " gpu.Tensor)"
	s.line("func %s(%s) %s {", camel(k.Name), strings.Join(args, ", "), result)
	like := likeOperand(k)
	s.line("f := r.Formula(&%s_, %s, %t)", local, like, k.Rows)
	if k.Act != nil {
		s.line("f.Activation(activation)")
	}
	for i, o := range k.In {
		s.line("f.In%s(%s)", classMethod[o.Class], in[i])
	}
	for i, o := range k.Out {
		typ := "r.Act"
		if o.F32 {
			typ = "gpu.F32"
		}
		if o.Class == emitglsl.Column {
			s.line("%s = f.OutColumn()", out[i])
			continue
		}
		s.line("%s = f.Out%s(%s)", out[i], classMethod[o.Class], typ)
	}
	for _, f := range k.Floats {
		s.line("f.Float(%s)", goOperand(f))
	}
	s.line("f.Record()")
	s.line("return %s", strings.Join(out, ", "))
	s.line("}")
	return s.renderWithEmbed()
}

var classMethod = map[emitglsl.Class]string{emitglsl.Full: "Full", emitglsl.Vector: "Vector", emitglsl.Suffix: "Suffix",
	emitglsl.RowOf: "Row", emitglsl.Prefix: "Prefix", emitglsl.Scalar: "Scalar"}

// likeOperand is the operand whose shape is the iteration.
func likeOperand(k *emitglsl.FormulaKernel) string {
	for _, o := range k.In {
		if o.Class == emitglsl.Full {
			return goOperand(o.Name)
		}
	}
	return goOperand(k.In[0].Name)
}

// goOperand keeps GLSL names clear of Go's own.
func goOperand(s string) string {
	name := lowerCamel(s)
	switch name {
	case "r", "f", "nn", "gpu", "kernels", "min", "max", "cap", "len", "func", "map", "type", "range", "go":
		name += "_"
	}
	return name
}

// renderWithEmbed adds the blank import that //go:embed needs.
func (s *source) renderWithEmbed() (File, error) {
	f, err := s.render()
	if err != nil {
		return f, err
	}
	text := strings.Replace(string(f.Text), "import (", "import (\n\t_ \"embed\"\n", 1)
	f.Text = []byte(text)
	return f, nil
}

// Archs prints generated/archs.go, the list of all architectures.
func Archs(names []string) (File, error) {
	s := &source{path: "generated/archs.go", pkg: "generated", header: "specs"}
	s.doc = []string{"Package generated lists the architectures that specs/ defines."}
	s.comment("All returns every architecture, sorted by name.")
	s.line("func All() []*model.Arch {")
	s.line("return []*model.Arch{")
	for _, n := range names {
		s.line("%s.Arch(),", "X"+Package(n))
	}
	s.line("}")
	s.line("}")
	f, err := s.render()
	if err != nil {
		return f, err
	}
	var imp strings.Builder
	imp.WriteString("import (\n")
	for _, n := range names {
		fmt.Fprintf(&imp, "\t%q\n", root+"generated/"+Package(n))
	}
	text := strings.ReplaceAll(string(f.Text), "\t\tX", "\t\t")
	text = strings.Replace(text, "import \""+root+"runtime/model\"", imp.String()+"\t\""+root+"runtime/model\"\n)", 1)
	text = strings.Replace(text, "import model \""+root+"runtime/model\"", imp.String()+"\t\""+root+"runtime/model\"\n)", 1)
	f.Text = []byte(text)
	return f, nil
}
