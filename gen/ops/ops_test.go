package ops

import (
	"os"
	"testing"
)

func TestTablesLoad(t *testing.T) {
	if _, err := Load(os.DirFS("../../specs/ops"), "specs/ops"); err != nil {
		t.Fatal(err)
	}
}
