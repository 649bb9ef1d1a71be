package hub

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// chooser picks the files of a listing that are wanted.
type chooser func(files []string) ([]string, error)

// isPickle reports whether a name has an extension of formats that Python's pickle reads, or PyTorch
// through it.
func isPickle(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt":
		return true
	}
	return false
}

// byPatterns chooses the files that match include (all, if it is empty) and not exclude. Pickles are left out
// unless a pattern of include spells out their extension; a model that has no other weights is then refused.
func byPatterns(kind RepoType, include, exclude []string) (chooser, error) {
	in, err := newGlobs(include)
	if err != nil {
		return nil, fmt.Errorf("include: %w", err)
	}
	out, err := newGlobs(exclude)
	if err != nil {
		return nil, fmt.Errorf("exclude: %w", err)
	}
	return func(files []string) ([]string, error) {
		var chosen, pickles []string
		for _, f := range files {
			switch {
			case len(include) > 0 && !in.match(f), out.match(f):
			case isPickle(f) && !in.names(f):
				pickles = append(pickles, f)
			default:
				chosen = append(chosen, f)
			}
		}
		if len(chosen) == 0 && len(pickles) == 0 {
			return nil, fmt.Errorf("%w: none of its %d files matches (include %q, exclude %q)",
				ErrNotFound, len(files), include, exclude)
		}
		if len(pickles) > 0 && (len(chosen) == 0 || kind != Dataset && !hasWeights(chosen)) {
			return nil, pickleError(pickles)
		}
		return chosen, nil
	}, nil
}

func hasWeights(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		ext := strings.ToLower(path.Ext(name))
		return ext == ".safetensors" || ext == ".gguf" || isPickle(name)
	})
}

func pickleError(files []string) error {
	return fmt.Errorf("%w: %s can run code when loaded, so it is not downloaded; take a revision or a "+
		"repository with SafeTensors, or convert it (the Hub offers that as a pull request: "+
		"refs/pr/NUMBER), or include it by name", ErrPickle, some(files))
}

// some names the first of many files.
func some(files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	return fmt.Sprintf("%s (and %d more)", files[0], len(files)-1)
}

// model chooses what loading a model takes: its SafeTensors and the small files of configuration and
// tokenizer beside them in the repository's first level.
func model(files []string) ([]string, error) {
	var weights, small, gguf, pickles []string
	for _, f := range files {
		ext := strings.ToLower(path.Ext(f))
		switch {
		case strings.Contains(f, "/"):
		case ext == ".safetensors":
			weights = append(weights, f)
		case ext == ".json", ext == ".model", ext == ".txt", ext == ".jinja", ext == ".tiktoken":
			small = append(small, f)
		case isPickle(f):
			pickles = append(pickles, f)
		}
		if ext == ".gguf" {
			gguf = append(gguf, f)
		}
	}
	switch {
	case len(weights) > 0:
	case len(gguf) > 0:
		return nil, fmt.Errorf("%w: the repository has no SafeTensors in its first level but GGUF files; "+
			"name one of them, as OWNER/REPO/FILE.gguf: %s", ErrNotFound, strings.Join(gguf, ", "))
	case len(pickles) > 0:
		return nil, pickleError(pickles)
	default:
		return nil, fmt.Errorf("%w: none of its %d files is a SafeTensors file of the first level",
			ErrNotFound, len(files))
	}
	// Some repositories hold a second copy of all weights under the training code's names.
	std := func(f string) bool { return strings.HasPrefix(f, "model") }
	if slices.ContainsFunc(weights, std) {
		weights = slices.DeleteFunc(weights, func(f string) bool {
			return strings.HasPrefix(f,
				"consolidated")
		})
	}
	return append(small, weights...), nil
}

// exactly chooses one file and, of a split GGUF model, its other parts.
func exactly(name string) chooser {
	return func(files []string) ([]string, error) {
		if !slices.Contains(files, name) {
			return nil, fmt.Errorf("%w: no file %q among its %d files", ErrNotFound, name, len(files))
		}
		stem, count, ok := splitName(name)
		if !ok {
			return []string{name}, nil
		}
		parts := slices.DeleteFunc(slices.Clone(files), func(f string) bool {
			s, n, ok := splitName(f)
			return !ok || s != stem || n != count
		})
		if n, _ := strconv.Atoi(count); n != len(parts) {
			return nil, fmt.Errorf("%w: %q is one of %d parts, and %d of them are there",
				ErrNotFound, name, n, len(parts))
		}
		return parts, nil
	}
}

// splitName takes STEM-00001-of-00003.gguf apart.
func splitName(name string) (stem, count string, ok bool) {
	s, ok := strings.CutSuffix(name, ".gguf")
	const tail = len("-00001-of-00003")
	if !ok || len(s) <= tail {
		return "", "", false
	}
	stem, s = s[:len(s)-tail], s[len(s)-tail:]
	digits := func(d string) bool { return strings.Trim(d, "0123456789") == "" }
	if s[0] != '-' || !digits(s[1:6]) || s[6:10] != "-of-" || !digits(s[10:]) {
		return "", "", false
	}
	return stem, s[10:], true
}
