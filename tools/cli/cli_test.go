package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/verify"
)

var twoArchs = []*model.Arch{
	{Name: "a", Kind: model.Causal, ModelTypes: []string{"a", "a2"},
		Packages: []model.Package{{ModelType: "a_vl"}}},
	{Name: "b", Kind: model.Seq2Seq, ModelTypes: []string{"b"}},
}

func TestArchs(t *testing.T) {
	var text, js bytes.Buffer
	if err := printArchs(&text, twoArchs, false); err != nil {
		t.Fatal(err)
	}
	want := "ARCHITECTURE  KIND     MODEL TYPES\na             causal   a, a2; in a_vl\nb             seq2seq  b\n"
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := printArchs(&js, twoArchs[:1], true); err != nil {
		t.Fatal(err)
	}
	wantJSON := `[
  {
    "name": "a",
    "kind": "causal",
    "model_types": [
      "a",
      "a2"
    ],
    "packages": [
      "a_vl"
    ]
  }
]
`
	if diff := cmp.Diff(wantJSON, js.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDevices(t *testing.T) {
	var b bytes.Buffer
	list := []gpu.Info{{Index: 0, Name: "fast", Type: "discrete", MemoryBytes: 3 << 30, SubgroupSize: 32,
		CoopMat2: true,
		CoopMat:  make([]gpu.Shape, 1), BF16Coop: true, Driver: "d 1"}, {Index: 1, Name: "slow", Type: "cpu"}}
	if err := printDevices(&b, list); err != nil {
		t.Fatal(err)
	}
	want := "#  NAME  TYPE      MEMORY   SUBGROUP  MATRICES      DRIVER\n" +
		"0  fast  discrete  3.0 GiB  32        KHR NV2 bf16  d 1\n1  slow  cpu       0.0 GiB  0         none          \n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// run runs the program with arguments.
func run(a *app, args ...string) (out, errs string, err error) {
	var o, e bytes.Buffer
	root := a.root()
	root.SetArgs(args)
	root.SetOut(&o)
	root.SetErr(&e)
	err = root.Execute()
	return o.String(), e.String(), err
}

func TestErrors(t *testing.T) {
	empty, fixture := t.TempDir(), bigramFixture(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"verify"}, "requires at least 1 arg(s), only received 0"},
		{[]string{"verify", empty}, empty + ": no fixture in it (a folder with expect.safetensors)"},
		{[]string{"verify", "--checks", "x", empty},
			`no check "x"; there are logits, left, loss, grads, adamw2, train8, ` +
				`generate, roundtrip`},
		{[]string{"verify", "--match", "(", empty}, "--match: error parsing regexp: missing closing ): `(`"},
		{[]string{"verify", "--dtype", "f8", fixture}, `--dtype is "f8", want f32, bf16 or f16`},
		{[]string{"verify", "--match", "x", fixture}, `--match "x": none of 1 fixtures has such a name`},
		{[]string{"nonsense"}, `unknown command "nonsense" for "vulcast"`},
	} {
		if _, _, err := run(&app{}, tt.args...); err == nil || err.Error() != tt.want {
			t.Errorf("%v: error is %v, want %s", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	out, _, err := run(&app{}, "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"archs", "devices", "doctor", "verify", "--device"} {
		if !strings.Contains(out, want) {
			t.Errorf("the help does not name %s", want)
		}
	}
}

func TestExempt(t *testing.T) {
	for _, tt := range []struct {
		fixture, check string
		want           bool
	}{{"phi3/longrope", "generate", true}, {"phi3/tiny", "generate", false}, {"cpmant/tiny", "generate",
		true},
		{"cpmant/tiny", "logits", false}} {
		if got := exempt(tt.fixture, tt.check) != ""; got != tt.want {
			t.Errorf("%s %s: %v", tt.fixture, tt.check, got)
		}
	}
}

func TestPrintResult(t *testing.T) {
	res := verify.Result{Fixture: "a/tiny", ModelType: "a", Pass: true, Seconds: 0.5,
		Checks: map[string]*verify.Check{"grads": {Err: 1, Bound: 2, Pass: true, Worst: "w[0]"}}}
	var js, text bytes.Buffer
	if err := printResult(&js, res, true); err != nil {
		t.Fatal(err)
	}
	want := `{"fixture":"a/tiny","model_type":"a","pass":true,"seconds":0.5,"checks":{"grads":{"err":1,"bound":2,` +
		`"pass":true,"worst":"w[0]"}}}` + "\n"
	if diff := cmp.Diff(want, js.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := printResult(&text, res, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("pass a/tiny 0.5s  grads 50%\n", text.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
