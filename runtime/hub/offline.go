package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cached returns the snapshot of a revision without network. Where an earlier listing of the commit is known,
// all chosen files must be there; else what is there is chosen from, and no link may lead nowhere.
func (s store) cached(r repo, revision string, choose chooser) (dir string, files []string, err error) {
	const online = "run once with network (without HF_HUB_OFFLINE)"
	commit := revision
	if !isCommit(revision) {
		b, err := os.ReadFile(s.ref(revision))
		if err != nil {
			return "", nil, fmt.Errorf("%w: revision %s of %s under %s; %s", ErrOffline, revision, r.name,
				s.cache,
				online)
		}
		if commit = strings.TrimSpace(string(b)); !isCommit(commit) {
			return "", nil, fmt.Errorf("%s holds %q, want a commit; remove the file and %s", s.ref(revision),
				clip(commit), online)
		}
	}
	dir = s.snapshot(commit)
	known, err := s.listed(commit)
	if err != nil {
		return "", nil, err
	}
	if known == nil {
		known, err = walk(dir)
	}
	if err == nil {
		files, err = choose(known)
	}
	if err == nil {
		err = s.complete(commit, files)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w: revision %s of %s (commit %s) under %s: %w; %s", ErrOffline, revision,
			r.name,
			commit, s.cache, err, online)
	}
	return dir, files, nil
}

// complete checks that all files are in the snapshot.
func (s store) complete(commit string, files []string) error {
	var missing []string
	for _, f := range files {
		if _, err := os.Stat(s.file(commit, f)); err != nil {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d files are missing: %s", len(missing), len(files), some(missing))
	}
	return nil
}

// walk lists a snapshot's files by their names in the repository.
func walk(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	return files, err
}

// names is where the names of a commit's files are kept, beside the listings that huggingface_hub keeps.
func (s store) names(commit string) string {
	return filepath.Join(s.dir, "trees", commit+".names.json")
}

// writeNames keeps a listing, which makes an unfinished snapshot known as such without network.
func (s store) writeNames(l listing) error {
	if size(s.names(l.commit)) >= 0 {
		return nil
	}
	b, err := json.Marshal(l.files)
	if err != nil {
		return err
	}
	return atomically(s.names(l.commit), func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// listed returns the names of a commit's files from the own listing or huggingface_hub's, nil if neither
// is there.
//
// Source: huggingface_hub, _tree_cache.py (format 1).
func (s store) listed(commit string) (files []string, err error) {
	b, err := os.ReadFile(s.names(commit))
	if err == nil {
		if err = json.Unmarshal(b, &files); err != nil {
			return nil, fmt.Errorf("%s: %w; remove the file", s.names(commit), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	} else if b, err = os.ReadFile(filepath.Join(s.dir, "trees", commit+".json")); err == nil {
		var tree struct {
			Version int                 `json:"format_version"`
			Files   map[string]struct{} `json:"files"`
		}
		if json.Unmarshal(b, &tree) != nil || tree.Version != 1 {
			return nil, nil // another program's file, of a format of its future
		}
		files = slices.Sorted(maps.Keys(tree.Files))
	}
	for _, f := range files {
		if err := checkFile(f); err != nil {
			return nil, err
		}
	}
	return files, nil
}
