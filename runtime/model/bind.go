package model

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// binding ties a piece of a parameter to a tensor of the checkpoint.
type binding struct {
	piece
	found     []string // the spellings that the checkpoint has, equal byte for byte; empty when optional and absent
	info      TensorInfo
	groupRows int
}

// bind finds the tensor of every piece of every parameter. All problems are reported at once: tensors that
// are missing, misshapen, of a wrong type, given twice with different contents, or claimed by two parameters.
func bind(params []*nn.Param, src TensorSource, rename func([]string) []string) ([]binding, error) {
	var list []binding
	var errs []error
	seen := map[string]bool{}
	for _, p := range params {
		ps, err := pieces(p, rename)
		if err != nil {
			errs = append(errs, err)
		}
		for _, pc := range ps {
			b, err := bindPiece(pc, src)
			if err != nil {
				if !seen[err.Error()] { // parts of one tensor share what is wrong with it
					errs = append(errs, err)
				}
				seen[err.Error()] = true
				continue
			}
			list = append(list, b)
		}
	}
	errs = append(errs, claims(list)...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s: %d of the model's tensors do not fit:\n%w", src.Path(), len(errs),
			errors.Join(errs...))
	}
	return list, nil
}

func bindPiece(p piece, src TensorSource) (binding, error) {
	b := binding{piece: p}
	for _, name := range p.names {
		if _, ok := src.Info(name); ok {
			b.found = append(b.found, name)
		}
	}
	if len(b.found) == 0 {
		if p.param.Disk.Optional {
			return b, nil
		}
		return b, fmt.Errorf("  tensor %s is missing, want %v", strings.Join(p.names, " or "), p.diskShape(0))
	}
	b.info, _ = src.Info(b.found[0])
	groupRows, err := p.fit(b.info.Shape)
	if err != nil {
		return b, fmt.Errorf("  tensor %s is %v, want %w", b.info.Name, b.info.Shape, err)
	}
	b.groupRows = groupRows
	if !typeFits(b.info.Type, p.param.Index) {
		want := "a floating-point type"
		if p.param.Index {
			want = "an integer type"
		}
		return b, fmt.Errorf("  tensor %s has type %s, want %s", b.info.Name, b.info.Type, want)
	}
	if scale := scaleOf(b.info, src); scale != "" {
		return b,
			fmt.Errorf("  tensor %s is %s with scales in %s, which are not applied: use a checkpoint in BF16, F16 or F32",
				b.info.Name, b.info.Type, scale)
	}
	return b, sameContents(b, src)
}

// scaleOf returns the tensor that holds the scales of an 8-bit tensor; "" when there is none. Without them its
// elements mean nothing.
func scaleOf(t TensorInfo, src TensorSource) string {
	if safetensors.DType(t.Type).Bits() != 8 {
		return ""
	}
	stem := strings.TrimSuffix(t.Name, ".weight")
	for _, name := range []string{t.Name + "_scale_inv", t.Name + "_scale", stem + ".scale_weight", stem +
		".scale"} {
		if _, ok := src.Info(name); ok {
			return name
		}
	}
	return ""
}

// typeFits judges an element type. Types that safetensors does not know are quantized formats of another
// source.
func typeFits(name string, index bool) bool {
	t := safetensors.DType(name)
	if index {
		return isInt(t)
	}
	return t.Float() || !t.Known()
}

// sameContents wants all spellings that are present to hold the same: a tied tensor may be stored twice.
func sameContents(b binding, src TensorSource) error {
	if len(b.found) == 1 {
		return nil
	}
	first, err := src.Raw(b.found[0])
	if err != nil {
		return err
	}
	for _, name := range b.found[1:] {
		other, err := src.Raw(name)
		if err != nil {
			return err
		}
		info, _ := src.Info(name)
		if info.Type != b.info.Type || !sameShape(info.Shape, b.info.Shape) || !bytes.Equal(first, other) {
			return fmt.Errorf("  tensors %s and %s are two spellings of one parameter but differ",
				b.found[0], name)
		}
	}
	return nil
}

// claims reports tensors, or rows of them, that two parameters would both write when saving.
func claims(list []binding) []error {
	byTensor := map[string][]binding{}
	var errs []error
	for _, b := range list {
		for _, name := range b.found {
			for _, o := range byTensor[name] {
				if overlap(o.param.Disk.Part, b.param.Disk.Part) {
					errs = append(errs, fmt.Errorf("  tensor %s is claimed by parameters %s and %s", name,
						o.param.Name, b.param.Name))
				}
			}
			byTensor[name] = append(byTensor[name], b)
		}
	}
	return errs
}

// overlap reports whether two parts of one tensor share rows. Parts with different groupings are taken to.
func overlap(a, b nn.Part) bool {
	if a == (nn.Part{}) || b == (nn.Part{}) || max(a.Groups, 1) != max(b.Groups, 1) {
		return true
	}
	return a.From < b.To && b.From < a.To
}
