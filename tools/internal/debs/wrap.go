package debs

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Root is an unpacked folder of packages that brings its own C library.
type Root struct {
	Dir       string   // the folder
	Loader    string   // the dynamic loader, relative to Dir
	Libraries []string // folders of shared libraries, relative to Dir
}

// OpenRoot finds the loader and the libraries of an unpacked folder.
func OpenRoot(dir string) (Root, error) {
	r := Root{Dir: dir}
	loaders := r.glob("lib*/ld-linux*.so.*", "usr/lib*/ld-linux*.so.*", "usr/lib/*/ld-linux*.so.*")
	if len(loaders) == 0 {
		return r, fmt.Errorf("%s: no dynamic loader (ld-linux*.so.*): the C library was not unpacked", dir)
	}
	r.Loader = loaders[0]
	r.Libraries = r.glob("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*")
	return r, nil
}

// glob returns what matches the patterns, relative to the root, sorted within each pattern.
func (r Root) glob(patterns ...string) []string {
	var found []string
	for _, p := range patterns {
		// A pattern of this package is well formed, so Glob's only error cannot come.
		matches, _ := filepath.Glob(filepath.Join(r.Dir, p))
		sort.Strings(matches)
		for _, m := range matches {
			rel, err := filepath.Rel(r.Dir, m)
			if err == nil {
				found = append(found, rel)
			}
		}
	}
	return found
}

// Wrap writes an executable script that starts the root's program (a path such as usr/bin/glslc) through the
// root's loader. The script finds the root relative to itself, so that the folder can move as a whole.
func (r Root) Wrap(script, program string) error {
	if _, err := os.Stat(filepath.Join(r.Dir, program)); err != nil {
		return fmt.Errorf("wrap %s: %w", program, err)
	}
	return r.script(script, nil, fmt.Sprintf(`"$root/%s" "$@"`, program))
}

// WrapAny writes an executable script that starts any program, given as its arguments, through the root's
// loader, with further environment variables (NAME=VALUE, where VALUE may use $root).
func (r Root) WrapAny(script string, env ...string) error {
	return r.script(script, env, `"$program" "$@"`)
}

// script writes the wrapper: environment, loader, library path, then the command words.
func (r Root) script(path string, env []string, command string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(filepath.Dir(abs), root)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Starts a program with the C library and the libraries of the folder beside it.\n")
	fmt.Fprintf(&b, "root=$(cd \"$(dirname \"$(readlink -f \"$0\")\")/%s\" && pwd) || exit\n", rel)
	if strings.HasPrefix(command, `"$program"`) {
		b.WriteString("program=$(command -v -- \"$1\") || { echo \"$0: $1: not found\" >&2; exit 127; }\nshift\n")
	}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&b, "export %s=\"%s\"\n", name, value)
	}
	var libraries []string
	for _, l := range r.Libraries {
		libraries = append(libraries, "$root/"+l)
	}
	fmt.Fprintf(&b, "exec \"$root/%s\" --library-path \"%s\" %s\n", r.Loader, strings.Join(libraries, ":"), command)
	return WriteScript(path, b.String())
}

// WriteScript writes an executable file, whole or not at all.
func WriteScript(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o755); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
