package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// store is one repository's part of the cache.
type store struct {
	cache string // the cache folder
	dir   string // the repository's folder in it
	name  string // its base name
}

func (c *Client) store(r repo) store {
	return store{c.opt.CacheDir, filepath.Join(c.opt.CacheDir, r.folder()), r.folder()}
}

func (s store) blob(etag string) string  { return filepath.Join(s.dir, "blobs", etag) }
func (s store) snapshot(c string) string { return filepath.Join(s.dir, "snapshots", c) }
func (s store) ref(rev string) string    { return filepath.Join(s.dir, "refs", filepath.FromSlash(rev)) }
func (s store) file(commit, n string) string {
	return filepath.Join(s.snapshot(commit), filepath.FromSlash(n))
}

// lock takes the lock between processes on a blob, waiting for its holder, and returns how to free it.
func (s store) lock(ctx context.Context, etag string) (func(), error) {
	dir := filepath.Join(s.cache, ".locks", s.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, etag+".lock"))
	if _, err := l.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("lock %s, which another process holds: %w", l.Path(), err)
	}
	return func() { _ = l.Close() }, nil
}

// writeRef notes that revision is commit, for use without network.
func (s store) writeRef(revision, commit string) error {
	if revision == commit {
		return nil
	}
	path := s.ref(revision)
	if b, err := os.ReadFile(path); err == nil && string(b) == commit {
		return nil
	}
	return atomically(path, func(f *os.File) error {
		_, err := f.WriteString(commit)
		return err
	})
}

// atomically writes a file under a temporary name and renames it.
func atomically(path string, write func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already after success
	if err := errors.Join(write(f), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// link makes a file of the snapshot point to its blob: by a relative symbolic link, or where the system has
// none, by a hard link or a copy.
func (s store) link(commit, name, etag string) error {
	path, blob := s.file(commit, name), s.blob(etag)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return err
	}
	if got, err := os.Readlink(path); err == nil && got == target {
		return nil
	}
	temp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".new-%x", rand.Uint64()))
	defer os.Remove(temp)
	if os.Symlink(target, temp) == nil || os.Link(blob, temp) == nil {
		return os.Rename(temp, path)
	}
	return atomically(path, func(f *os.File) error {
		b, err := os.Open(blob)
		if err != nil {
			return err
		}
		defer b.Close()
		_, err = io.Copy(f, b)
		return err
	})
}
