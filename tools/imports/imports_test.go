// Package imports keeps the rules of who may import whom, by a test over what `go list` says.
//
// The flow of the generator has no arrow back, and the runtime stands alone: that is what lets a reader
// understand one part without the others, and a build of one architecture leave the others out.
package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/vulcast/vulcast/"

// A pkg is what `go list` says of one package. Paths of this module are written from its root: ./gen/plan.
type pkg struct {
	ImportPath   string
	Name         string
	Imports      []string // of its own files
	TestImports  []string
	XTestImports []string
	Deps         []string // all that its own files lead to
}

// A layer rule: packages below Of lead to no package below any of Not.
type layer struct {
	Of, Not []string
	Why     string
}

var layers = []layer{
	{Of: []string{"./gen"}, Not: []string{"./runtime", "./generated", "./tools"},
		Why: "the generator does not depend on what it generates or on what runs it"},
	{Of: []string{"./runtime"}, Not: []string{"./gen", "./generated", "./shaders", "./tools"},
		Why: "the runtime knows no architecture and no generator"},
	{Of: []string{"./shaders"}, Not: []string{"./gen", "./generated", "./runtime", "./tools"},
		Why: "templates are data only"},
	{Of: []string{"./generated"}, Not: []string{"./gen", "./shaders", "./tools"},
		Why: "generated code needs the runtime only"},
}

// A library rule: only packages below Of import a package below Library.
type library struct {
	Library string
	Of      []string
}

var libraries = []library{
	{"github.com/BurntSushi/toml", []string{"./gen/spec", "./gen/ops", "./runtime/train"}},
	{"github.com/dave/jennifer", []string{"./gen/emitgo"}},
	{"github.com/Masterminds/sprig", []string{"./gen/emitglsl"}},
	{"text/template", []string{"./gen/emitglsl"}},
	{"github.com/vulkan-go/vulkan", []string{"./runtime/gpu"}},
}

// below reports whether path is one of dirs or lies below one.
func below(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, dir+"/")
	})
}

// isMain reports whether a package is a command of an architecture, which like tools may see everything.
func isMain(path string) bool {
	words := strings.Split(path, "/") // ".", "generated", architecture, "cmd"
	return len(words) >= 4 && words[1] == "generated" && words[3] == "cmd"
}

// violations returns one line for each rule that a package breaks, sorted.
func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		direct := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		all := slices.Concat(direct, p.Deps)
		slices.Sort(all)
		for _, to := range slices.Compact(all) {
			if why := brokenLayer(p.ImportPath, to); why != "" {
				found = append(found, fmt.Sprintf("%s leads to %s: %s", p.ImportPath, to, why))
			}
		}
		slices.Sort(direct)
		for _, to := range slices.Compact(direct) {
			for _, l := range libraries {
				if below(to, l.Library) && !below(p.ImportPath, l.Of...) {
					found = append(found, fmt.Sprintf("%s imports %s: only %s may",
						p.ImportPath, to, strings.Join(l.Of, ", ")))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// brokenLayer returns why from may not lead to to, or "".
func brokenLayer(from, to string) string {
	if from == to || isMain(from) {
		return ""
	}
	for _, l := range layers {
		if below(from, l.Of...) && below(to, l.Not...) {
			return l.Why
		}
	}
	// generated itself lists the architectures; each of them stands alone.
	if strings.HasPrefix(from, "./generated/") && below(to, "./generated") && !below(to, "./generated/kernels") {
		own := strings.Join(strings.Split(from, "/")[:3], "/")
		if !below(to, own) {
			return "an architecture imports no other"
		}
	}
	return ""
}

// TestImports holds the module itself to the rules.
func TestImports(t *testing.T) {
	if err := openSources("../.."); err != nil {
		t.Fatal(err)
	}
	packages, err := list()
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package of the module " + module)
	}
	for _, v := range violations(packages) {
		t.Error(v)
	}
}

// openSources opens every Go file below root. `go test` repeats a cached result until a file that the test
// itself opened has changed, and `go list` opens them in a process of its own.
func openSources(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "build" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's or a generator's temporary file
		} else if err != nil {
			return err
		}
		return f.Close()
	})
}

// list returns the packages of this module. A package that does not compile is listed too (-e).
func list() ([]pkg, error) {
	out, err := exec.Command("go", "list", "-e", "-deps",
		"-json=ImportPath,Name,Imports,TestImports,XTestImports,Deps", module+"...").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("go list: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, err
	}
	var packages []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		path, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		p.ImportPath = "./" + path
		for _, paths := range [][]string{p.Imports, p.TestImports, p.XTestImports, p.Deps} {
			for i := range paths {
				if rest, ours := strings.CutPrefix(paths[i], module); ours {
					paths[i] = "./" + rest
				}
			}
		}
		packages = append(packages, p)
	}
}

func TestViolations(t *testing.T) {
	tests := []struct {
		name string
		in   pkg
		want []string
	}{
		{"generator imports runtime", pkg{ImportPath: "./gen/plan", Imports: []string{"./runtime/gpu"}},
			[]string{"./gen/plan leads to ./runtime/gpu: the generator does not depend on what it generates or on what runs it"}},
		{"through a third package", pkg{ImportPath: "./runtime/train", Deps: []string{"./generated/llama"}},
			[]string{"./runtime/train leads to ./generated/llama: the runtime knows no architecture and no generator"}},
		{"in a test", pkg{ImportPath: "./runtime/train", XTestImports: []string{"./gen/ir"}},
			[]string{"./runtime/train leads to ./gen/ir: the runtime knows no architecture and no generator"}},
		{"architecture imports another", pkg{ImportPath: "./generated/a", Imports: []string{"./generated/b"}},
			[]string{"./generated/a leads to ./generated/b: an architecture imports no other"}},
		{"kernels import an architecture", pkg{ImportPath: "./generated/kernels", Imports: []string{"./generated/b"}},
			[]string{"./generated/kernels leads to ./generated/b: an architecture imports no other"}},
		{"architecture imports kernels, runtime, itself", pkg{ImportPath: "./generated/a",
			Imports: []string{"./generated/kernels", "./runtime/gpu"}, XTestImports: []string{"./generated/a"}}, nil},
		{"list of architectures", pkg{ImportPath: "./generated", Imports: []string{"./generated/a", "./generated/b"}}, nil},
		{"small main", pkg{ImportPath: "./generated/a/cmd/a", Imports: []string{"./generated/a", "./tools/vulcast/cli"}}, nil},
		{"tool", pkg{ImportPath: "./tools/vulcast", Imports: []string{"./gen", "./generated", "./runtime/gpu"}}, nil},
		{"generator imports templates", pkg{ImportPath: "./gen/emitglsl", Imports: []string{"./shaders", "text/template"}}, nil},
		{"Vulkan outside gpu", pkg{ImportPath: "./runtime/train", Imports: []string{"github.com/vulkan-go/vulkan"}},
			[]string{"./runtime/train imports github.com/vulkan-go/vulkan: only ./runtime/gpu may"}},
		{"a name that only starts alike", pkg{ImportPath: "./generator/x", Imports: []string{"./runtime/gpu"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, violations([]pkg{tt.in})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
