package hub

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// RepoType is the kind of a repository.
type RepoType string

// The kinds of repositories that can be downloaded.
const (
	Model   RepoType = "model" // the default
	Dataset RepoType = "dataset"
)

// repo is a checked repository name with its kind.
type repo struct {
	name string // OWNER/REPO, or REPO for the oldest ones
	kind RepoType
}

// newRepo checks a repository name by the Hub's rules.
//
// Source: huggingface_hub, utils/_validators.py.
func newRepo(name string, kind RepoType) (repo, error) {
	if kind == "" {
		kind = Model
	}
	if kind != Model && kind != Dataset {
		return repo{}, fmt.Errorf("repository type %q, want %q or %q", kind, Model, Dataset)
	}
	part := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}$`)
	parts := strings.Split(name, "/")
	ok := len(parts) <= 2 && !strings.Contains(name, "--") && !strings.Contains(name, "..") &&
		!strings.HasSuffix(name, ".git")
	for _, p := range parts {
		ok = ok && part.MatchString(p) && !strings.HasSuffix(p, "-") && !strings.HasSuffix(p, ".")
	}
	if !ok {
		return repo{}, fmt.Errorf("%q is no repository name, want OWNER/REPO of letters, digits, . _ -", name)
	}
	return repo{name, kind}, nil
}

// folder is the repository's folder name in the cache.
func (r repo) folder() string {
	return string(r.kind) + "s--" + strings.ReplaceAll(r.name, "/", "--")
}

// apiPath and filePath are the repository's addresses below the endpoint.
func (r repo) apiPath() string { return "/api/" + string(r.kind) + "s/" + r.name }

func (r repo) filePath() string {
	if r.kind == Dataset {
		return "/datasets/" + r.name
	}
	return "/" + r.name
}

// isCommit reports whether s is a whole commit hash.
func isCommit(s string) bool { return isHex(s, 40) }

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// checkRevision refuses what git does not allow in names, because a revision becomes a path below refs/.
func checkRevision(rev string) error {
	if reason := badName(rev); reason != "" || len(rev) > 255 {
		return fmt.Errorf("%q is no revision, want a branch, a tag, a commit or refs/pr/NUMBER", rev)
	}
	return nil
}

// checkFile refuses names that could leave a folder or that some system cannot store.
func checkFile(name string) error {
	if reason := badName(name); reason != "" {
		return fmt.Errorf("the server lists a file %q: the name %s, so it is not written", name, reason)
	}
	return nil
}

func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > 4096:
		return "is longer than 4096 bytes"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return "has a control character or a backslash"
	case path.IsAbs(name), path.Clean(name) != name, !filepath.IsLocal(filepath.FromSlash(name)), name == ".":
		return "is no plain relative path"
	}
	return ""
}
