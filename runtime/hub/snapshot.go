package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Request says what of a repository is wanted.
type Request struct {
	Revision string   // branch, tag, commit or refs/pr/NUMBER; default main
	Type     RepoType // default Model
	Include  []string // patterns as of Python's fnmatch ("*.json", "data/"); default all
	Exclude  []string

	// Progress is called as bytes arrive, by one goroutine at a time; it should return quickly. May be nil.
	Progress func(Progress)
}

// Snapshot brings the wanted files of a repository into the cache and returns the snapshot's folder,
// which may hold further files from earlier calls. A file that is there already is not asked for again.
// Pickled weights (.bin, .pt, .pth, .pkl, .pickle, .ckpt) are skipped unless a pattern of Include ends in
// their extension, and a model without other weights is refused with ErrPickle.
//
// Errors wrap ErrUnauthorized, ErrGated, ErrNotFound, ErrOffline, ErrPickle, ErrDamaged or ErrNoSpace
// where one fits. After an error, what was downloaded is kept and the next call goes on from there.
func (c *Client) Snapshot(ctx context.Context, name string, req Request) (dir string, err error) {
	choose, err := byPatterns(req.Type, req.Include, req.Exclude)
	if err != nil {
		return "", err
	}
	dir, _, err = c.snapshot(ctx, name, req, choose)
	return dir, err
}

// snapshot is Snapshot for any choice of files, which it also returns.
func (c *Client) snapshot(ctx context.Context, name string, req Request, choose chooser) (
	dir string, files []string, err error) {
	r, err := newRepo(name, req.Type)
	if err != nil {
		return "", nil, err
	}
	if req.Revision == "" {
		req.Revision = "main"
	}
	if err := checkRevision(req.Revision); err != nil {
		return "", nil, err
	}
	s := c.store(r)
	if c.opt.Offline {
		return s.cached(r, req.Revision, choose)
	}
	l, err := c.list(ctx, r, req.Revision)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", r.name, s.hint(req.Revision, err))
	}
	if files, err = choose(l.files); err != nil {
		return "", nil, fmt.Errorf("%s at %s: %w", r.name, req.Revision, err)
	}
	if s.complete(l.commit, files) != nil { // else nothing is written, in case the cache is read-only
		if err := s.writeNames(l); err != nil {
			return "", nil, err
		}
	}
	if err := c.bring(ctx, r, l.commit, files, req.Progress); err != nil {
		return "", nil, fmt.Errorf("%s at %s: %w", r.name, req.Revision, err)
	}
	if err := s.writeRef(req.Revision, l.commit); err != nil {
		return "", nil, err
	}
	return s.snapshot(l.commit), files, nil
}

// hint adds to a network error that the cache could serve instead. The choice is the user's.
func (s store) hint(revision string, err error) error {
	if _, ok := mayRetry(err); !ok {
		return err
	}
	if b, e := os.ReadFile(s.ref(revision)); e == nil {
		return fmt.Errorf("%w; the cache has commit %s of it, used with HF_HUB_OFFLINE=1",
			err, clip(string(b)))
	}
	return err
}

// bring downloads those of the files that the cache lacks and links all into the snapshot of commit.
func (c *Client) bring(ctx context.Context, r repo, commit string, files []string,
	call func(Progress)) error {
	s := c.store(r)
	var missing []string
	m := &meter{call: call, done: map[string]int64{}}
	have := map[string]int64{}
	for _, f := range files {
		if st, err := os.Stat(s.file(commit, f)); err == nil && st.Mode().IsRegular() {
			have[f] = st.Size()
			m.total += st.Size()
		} else {
			missing = append(missing, f)
		}
	}
	remotes, err := c.heads(ctx, r, commit, missing)
	if err != nil {
		return err
	}
	// Files of equal contents share a blob, which is downloaded once.
	shared := map[string][]remote{}
	var order []string
	for _, f := range remotes {
		if len(shared[f.etag]) == 0 {
			order = append(order, f.etag)
		}
		shared[f.etag] = append(shared[f.etag], f)
		m.total += f.size
	}
	if err := c.checkSpace(s, order, shared); err != nil {
		return err
	}
	for _, f := range files { // those that are here count as done
		if n, ok := have[f]; ok {
			m.set(f, n, n)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.opt.Files)
	for _, etag := range order {
		group.Go(func() error { return c.place(ctx, s, commit, shared[etag], m) })
	}
	return group.Wait()
}

// heads asks for the headers of all files, several at a time.
func (c *Client) heads(ctx context.Context, r repo, commit string, names []string) ([]remote, error) {
	out := make([]remote, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * c.opt.Files)
	for i, name := range names {
		group.Go(func() (err error) {
			out[i], err = c.head(ctx, r, commit, name)
			return err
		})
	}
	return out, group.Wait()
}

// checkSpace compares what is still to be written with the free space of the cache's disk.
func (c *Client) checkSpace(s store, order []string, shared map[string][]remote) error {
	var need int64
	for _, etag := range order {
		if size(s.blob(etag)) < 0 {
			need += shared[etag][0].size - max(0, size(s.blob(etag)+incomplete))
		}
	}
	if need <= 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "blobs"), 0o755); err != nil {
		return err
	}
	free, known, err := c.space(s.dir)
	if err != nil {
		return fmt.Errorf("free space of %s: %w", s.dir, err)
	}
	if known && uint64(need) > free {
		return fmt.Errorf("%w: %s has %d bytes free, and the download takes %d; free some, or set "+
			"HF_HOME to another disk", ErrNoSpace, s.dir, free, need)
	}
	return nil
}

// size is the size of a file, or -1 where there is none.
func size(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return st.Size()
}

// place downloads one blob and links all files that have its contents.
func (c *Client) place(ctx context.Context, s store, commit string, files []remote, m *meter) error {
	b := blob{remote: files[0], path: s.blob(files[0].etag), meter: m}
	if err := c.fetch(ctx, s, b); err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	for _, f := range files {
		if err := s.link(commit, f.name, f.etag); err != nil {
			return err
		}
		m.set(f.name, f.size, f.size)
	}
	return nil
}
