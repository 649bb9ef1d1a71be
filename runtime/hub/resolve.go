package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Resolve turns a command line's name of a model into a local path:
//
//	FOLDER or FILE.gguf              itself, if it exists: a local path wins
//	OWNER/REPO[@REVISION]            the folder of a snapshot with SafeTensors, configuration and tokenizer
//	OWNER/REPO/FILE.gguf[@REVISION]  that file of the snapshot (all parts, if it is the first of several)
//
// Files are downloaded as by Snapshot; call may be nil.
func (c *Client) Resolve(ctx context.Context, ref string) (string, error) {
	return c.ResolveWith(ctx, ref, nil)
}

// ResolveWith is Resolve with a progress callback.
func (c *Client) ResolveWith(ctx context.Context, ref string, call func(Progress)) (string, error) {
	st, err := os.Stat(ref)
	switch {
	case err == nil && (st.IsDir() || st.Mode().IsRegular() && strings.EqualFold(filepath.Ext(ref), ".gguf")):
		return ref, nil
	case err == nil:
		return "", fmt.Errorf("%s is neither a folder nor a .gguf file", ref)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	name, file, revision, err := parseRef(ref)
	if err != nil {
		return "", err
	}
	choose := chooser(model)
	if file != "" {
		choose = exactly(file)
	}
	dir, _, err := c.snapshot(ctx, name, Request{Revision: revision, Progress: call}, choose)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.FromSlash(file)), nil
}

// parseRef takes OWNER/REPO[/FILE.gguf][@REVISION] apart.
func parseRef(ref string) (name, file, revision string, err error) {
	name, revision, at := strings.Cut(ref, "@")
	parts := strings.SplitN(name, "/", 3)
	if len(parts) == 3 {
		name, file = parts[0]+"/"+parts[1], parts[2]
	}
	_, bad := newRepo(name, Model)
	switch {
	case bad != nil, len(parts) < 2, file != "" && !strings.HasSuffix(file, ".gguf"),
		len(parts) == 2 && strings.HasSuffix(name, ".gguf"), at && revision == "",
		badName(name+"/"+file+"x") != "":
		return "", "", "", fmt.Errorf("%q is no folder and no .gguf file here, and no repository on the Hub "+
			"by its form, which is OWNER/REPO[@REVISION] or OWNER/REPO/FILE.gguf[@REVISION]", ref)
	}
	return name, file, revision, nil
}
