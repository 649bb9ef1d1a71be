package data

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Doc is one text with the name it goes by in messages.
type Doc struct{ Name, Text string }

// Files expands file names, folders and glob patterns (** crosses folders) into the sorted list of regular
// files, each once. Hidden files and folders are left out unless named.
//
// Errors: a name or pattern that matches nothing.
func Files(patterns []string) ([]string, error) {
	var all []string
	var errs []error
	for _, p := range patterns {
		list, err := expand(p)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("%s: no file matches", p)
		}
		errs = append(errs, err)
		all = append(all, list...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// expand lists the files of one name, folder or pattern.
func expand(p string) ([]string, error) {
	if st, err := os.Stat(p); err == nil {
		if st.IsDir() {
			return walk(p, func(string) bool { return true })
		}
		return []string{p}, nil
	} else if !strings.ContainsAny(p, "*?[") {
		return nil, err
	}
	if !strings.Contains(p, "**") {
		matches, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		return slices.DeleteFunc(matches, func(m string) bool {
			st, err := os.Stat(m)
			return err != nil || !st.Mode().IsRegular()
		}), nil
	}
	root := filepath.Clean(p[:strings.IndexAny(p, "*?[")] + ".")
	if st, err := os.Stat(root); err != nil || !st.IsDir() {
		root = filepath.Dir(root)
	}
	want := strings.Split(filepath.ToSlash(filepath.Clean(p)), "/")
	if _, err := filepath.Match(strings.ReplaceAll(p, "**", "*"), ""); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return walk(root, func(path string) bool {
		return matchParts(want, strings.Split(filepath.ToSlash(filepath.Clean(path)), "/"))
	})
}

// walk lists the regular files below root that keep accepts; hidden ones are left out.
func walk(root string, keep func(path string) bool) ([]string, error) {
	var list []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.Type().IsRegular() && keep(path):
			list = append(list, path)
		}
		return nil
	})
	return list, err
}

// matchParts matches the parts of a path against those of a pattern, whose ** stands for any number of parts.
func matchParts(want, path []string) bool {
	if len(want) == 0 {
		return len(path) == 0
	}
	if want[0] == "**" {
		for i := range len(path) + 1 {
			if matchParts(want[1:], path[i:]) {
				return true
			}
		}
		return false
	}
	if len(path) == 0 {
		return false
	}
	ok, err := filepath.Match(want[0], path[0])
	return err == nil && ok && matchParts(want[1:], path[1:])
}

// Texts reads files as documents, one a file, in order. A file that cannot be read or is not UTF-8 text ends
// the sequence with an error that names it.
func Texts(files []string) iter.Seq2[Doc, error] {
	return func(yield func(Doc, error) bool) {
		for _, name := range files {
			text, err := ReadText(name)
			if err == nil && !utf8.Valid(text) {
				err = fmt.Errorf("%s: byte %d is not UTF-8 text", name, invalidAt(text))
			}
			if !yield(Doc{name, string(text)}, err) || err != nil {
				return
			}
		}
	}
}

// invalidAt is the offset of the first byte that is not UTF-8.
func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}
