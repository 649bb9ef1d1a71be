package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A kind of file, which decides its budget.
type kind int

const (
	goCode kind = iota
	goTest
	spec
	template
	kernel
	readme
)

// A file is what the budgets look at.
type file struct {
	path      string // with slashes, relative to the root
	kind      kind
	lines     int
	long      int    // lines over the column limit
	generated bool   // its head says "Code generated ... DO NOT EDIT."
	reason    string // of a spec: what follows "Long because" in its head comment
	functions []function
}

// Dir is the folder of the file, "." for the root.
func (f file) Dir() string { return path.Dir(f.path) }

// A function of a Go file, from the line of its name to its closing brace.
type function struct {
	name        string
	line, lines int
}

// columns is the length at which a line counts as long; tabWidth is how wide a tab is in it.
const columns, tabWidth = 110, 4

// skipped are folders that hold nothing of ours to read: outputs, test data, what tools fetched.
var skipped = map[string]bool{"testdata": true, "build": true, "bin": true, "demo": true, "node_modules": true}

// measureTree measures every file of a known kind below root, in path order.
func measureTree(root string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && (skipped[entry.Name()] || strings.HasPrefix(entry.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		k, known := kindOf(rel)
		if !known {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := measure(rel, k, text)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// kindOf tells a file's kind by its path.
func kindOf(name string) (kind, bool) {
	base := path.Base(name)
	switch {
	case strings.HasSuffix(base, "_test.go"):
		return goTest, true
	case strings.HasSuffix(base, ".go"):
		return goCode, true
	case strings.HasSuffix(base, ".toml") && strings.HasPrefix(name, "specs/"):
		return spec, true
	case strings.HasSuffix(base, ".tmpl"):
		return template, true
	case strings.HasSuffix(base, ".comp") || strings.HasSuffix(base, ".glsl"):
		return kernel, true
	case base == "README.md":
		return readme, true
	}
	return 0, false
}

var (
	generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.\r?$`)
	writtenTable  = regexp.MustCompile(`(?s)<!-- proven: begin -->.*<!-- proven: end -->\n`)
	longBecause   = regexp.MustCompile(`Long because:?\s+(\S.*)`)
)

// measure counts one file.
func measure(name string, k kind, text []byte) (file, error) {
	if k == readme {
		text = writtenTable.ReplaceAll(text, nil)
	}
	f := file{path: name, kind: k, lines: countLines(text)}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if utf8.RuneCount(line)+(tabWidth-1)*bytes.Count(line, []byte("\t")) > columns {
			f.long++
		}
	}
	switch k {
	case goCode, goTest:
		return f, f.parse(text)
	case kernel:
		first, _, _ := bytes.Cut(text, []byte("\n"))
		f.generated = generatedLine.Match(first)
	case spec:
		if m := longBecause.FindSubmatch(head(text)); m != nil {
			f.reason = string(m[1])
		}
	}
	return f, nil
}

// parse fills in what only the Go parser knows: whether the file is generated, and its functions.
func (f *file) parse(text []byte) error {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	f.generated = ast.IsGenerated(tree)
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first, last := set.Position(fn.Pos()).Line, set.Position(fn.End()).Line
		f.functions = append(f.functions, function{fn.Name.Name, first, last - first + 1})
	}
	return nil
}

// countLines counts a last line without a newline too.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// head returns the comment lines and empty lines at the start of a TOML file.
func head(text []byte) []byte {
	end := 0
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		end += len(line)
	}
	return text[:end]
}
