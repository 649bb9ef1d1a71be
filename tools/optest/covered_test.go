package optest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/gen/ops"
)

// elsewhere names the test that compares a kernel primitive with its reference, where TestPrimitives does not.
var elsewhere = map[string]string{
	"attention":         "TestAttention",
	"choose_keys":       "TestChooseKeys",
	"rope_table":        "TestRope",
	"rope":              "TestRope",
	"linear":            "TestLinear",
	"matmul":            "TestMatmulShapes",
	"embed":             "TestEmbed",
	"embed_padded":      "TestEmbed",
	"cross_entropy":     "TestCrossEntropy",
	"causal_conv":       "TestCausalConv",
	"linear_recurrence": "TestRecurrence",
	"delta_recurrence":  "TestRecurrence",
	"selective_scan":    "TestSelectiveScan",
	"dropout":           "TestDropout",
	"token_positions":   "TestBatchReaders",
	"masked_share":      "TestBatchReaders",
	"hide_padding":      "TestBatchReaders",
	"token_mask":        "TestBatchReaders",
	"positions":         "TestBatchReaders",
	"place":             "TestBatchReaders",
	"token_numbers":     "TestBatchReaders",
	"constant_index":    "TestBatchReaders",
	"group_ids":         "TestBatchReaders",
	"token_types":       "TestBatchReaders",
	"all_keys":          "TestBatchReaders",
	"no_tokens":         "TestBatchReaders",
	"alibi":             "TestTables",
	"sinusoid":          "TestTables",
}

// without says why a kernel primitive has no comparison.
var without = map[string]string{
	"tokens":       "hands the batch's own tensor on",
	"cache":        "hands its input on; what decoding appends is TestCacheAppend",
	"tensor":       "hands the parameter's value on; its gradient is Recorder.AddGrad, which linear and embed use",
	"lookup":       "is embed without a gradient",
	"reshape":      "a view: no kernel",
	"same_as":      "a view: no kernel",
	"at_most":      "a view: no kernel; TestBatchReaders has the refusal",
	"limit_length": "a view: no kernel; TestBatchReaders has the refusal",
	"rope_back":    "rope with the angles negated: the kernel of rope's gradient, which TestRope runs",
}

// TestEveryPrimitiveHasAReference fails for a kernel primitive of specs/ops that no test compares with a reference and that has no reason
// for that, and for entries that are out of date. Gradient ops are compared by the test of what they are the gradient of.
func TestEveryPrimitiveHasAReference(t *testing.T) {
	table, err := ops.Load(os.DirFS("../../specs/ops"), "specs/ops")
	if err != nil {
		t.Fatal(err)
	}
	here, grads := map[string]bool{}, map[string]bool{}
	for _, p := range primitives() {
		here[p.op] = true
	}
	for _, o := range table {
		for _, d := range o.D {
			if d.Op != "" && d.Op != o.Name {
				grads[d.Op] = true
			}
		}
	}
	tests := testSource(t)
	for name, o := range table {
		if o.IsFormula() {
			continue // tools/optest/formula_test.go runs every formula
		}
		test, other := elsewhere[name]
		_, reason := without[name]
		switch {
		case other && !strings.Contains(tests, "\nfunc "+test+"("):
			t.Errorf("%s: there is no test %s", name, test)
		case reason && (other || here[name]):
			t.Errorf("%s is compared with a reference: take it out of without", name)
		case !other && !reason && !here[name] && !grads[name]:
			t.Errorf("%s: primitive %s has no comparison with a float64 reference: add a case to primitives(), or the reason to without", o.Pos, name)
		}
	}
	for _, list := range []map[string]string{elsewhere, without} {
		for name := range list {
			if table[name] == nil {
				t.Errorf("%s is no primitive of specs/ops any more", name)
			}
		}
	}
}

func testSource(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}
