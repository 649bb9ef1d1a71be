package lower

import (
	"os"
	"testing"

	"github.com/vulcast/vulcast/gen/ops"
	"github.com/vulcast/vulcast/gen/spec"
)

func TestSpecsLower(t *testing.T) {
	table, err := ops.Load(os.DirFS("../../specs/ops"), "specs/ops")
	if err != nil {
		t.Fatal(err)
	}
	fsys := os.DirFS("../../specs")
	names, err := spec.List(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			a, err := spec.Load(fsys, "specs", name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Module(a, table); err != nil {
				t.Fatal(err)
			}
		})
	}
}
