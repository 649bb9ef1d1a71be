package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/generated"
	"github.com/vulcast/vulcast/generated/kernels"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/verify"
)

// quick are the fixtures that also run with -short: a shape of each kind.
var quick = map[string]bool{"llama/tiny": true, "gpt2/tiny": true, "bert/tiny": true, "t5/tiny": true, "mixtral/tiny": true}

// TestFixtures runs every check of every small fixture of testdata (made by `vulcast verify --shrink`).
func TestFixtures(t *testing.T) { runFixtures(t, "testdata/fixtures", false) }

// TestWholeFixtures runs the whole fixtures where they lie beside the project.
func TestWholeFixtures(t *testing.T) {
	const beside = "../../../shared/goldens"
	if _, err := os.Stat(beside); err != nil {
		t.Skipf("no whole fixtures beside the project: %v", err)
	}
	if testing.Short() {
		t.Skip("-short: the small fixtures are enough")
	}
	runFixtures(t, beside, true)
}

// runFixtures runs the fixtures below a folder; with skipUnknown those without a spec are skipped instead of failing.
func runFixtures(t *testing.T, root string, skipUnknown bool) {
	dev, err := gpu.Open(gpu.Options{})
	if err != nil {
		t.Skipf("no Vulkan device: %v", err)
	}
	defer dev.Close()
	dirs, err := filepath.Glob(filepath.Join(root, "*", "*", "config.json"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no fixtures in %s: %v", root, err)
	}
	archs := generated.All()
	for _, d := range dirs {
		dir := filepath.Dir(d)
		name := verify.NameOf(dir)
		if testing.Short() && !quick[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			res := verify.Run(dir, verify.Options{Dev: dev, Archs: archs, Kernels: &kernels.NN, Exempt: exempt})
			if skipUnknown && strings.Contains(res.Error, "no known architecture") {
				t.Skip(res.Error) // a whole fixture whose architecture has no spec yet
			}
			if !res.Pass {
				var b strings.Builder
				if err := printResult(&b, res, false); err != nil {
					t.Fatal(err)
				}
				t.Error(b.String())
			}
		})
	}
}
