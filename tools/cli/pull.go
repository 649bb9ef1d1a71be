package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/hub"
)

func pullCommand(*app) *cobra.Command {
	var req hub.Request
	var dataset bool
	c := &cobra.Command{
		Use:   "pull [flags] OWNER/REPO[@REVISION]",
		Short: "Fetch a model, tokenizer or dataset from the Hugging Face Hub",
		Long: `Fetch a repository of the Hugging Face Hub into the cache that huggingface_hub uses too, and print the folder.

HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN, the token file and HF_HUB_OFFLINE are honoured. Interrupted downloads go on
where they stopped; a file becomes visible only when its hash is right. Pickles are left out unless a pattern names them.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name, revision, _ := strings.Cut(args[0], "@")
			req.Revision = revision
			if dataset {
				req.Type = hub.Dataset
			}
			client, err := hubClient()
			if err != nil {
				return err
			}
			req.Progress = hubProgress(c.ErrOrStderr())
			dir, err := client.Snapshot(c.Context(), name, req)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), dir)
			return nil
		},
	}
	c.Flags().StringSliceVar(&req.Include, "include", nil, "only files that match these patterns")
	c.Flags().StringSliceVar(&req.Exclude, "exclude", nil, "leave out files that match these patterns")
	c.Flags().BoolVar(&dataset, "dataset", false, "the repository is a dataset")
	return c
}

func hubClient() (*hub.Client, error) {
	o, err := hub.OptionsFromEnv()
	if err != nil {
		return nil, err
	}
	return hub.New(o)
}

// hubProgress prints a line at most twice a second.
func hubProgress(w io.Writer) func(hub.Progress) {
	var last time.Time
	return func(p hub.Progress) {
		if time.Since(last) < 500*time.Millisecond && p.Done < p.Total {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%s  %.1f of %.1f MiB in all\n", p.File, float64(p.Done)/(1<<20), float64(p.Total)/(1<<20))
	}
}

// modelFolder turns what a user calls a model into a folder: a folder itself, or a repository of the Hub, which is fetched.
func modelFolder(ctx context.Context, messages io.Writer, ref string) (string, error) {
	st, err := os.Stat(ref)
	if err == nil && !st.IsDir() && !strings.EqualFold(filepath.Ext(ref), ".json") {
		return "", fmt.Errorf("%s is a file: want a folder with config.json and SafeTensors, or OWNER/REPO of the Hub "+
			"(GGUF files are read by the library but not yet by the commands)", ref)
	}
	if err == nil || !errors.Is(err, os.ErrNotExist) || strings.Count(ref, "/") != 1 || strings.HasPrefix(ref, ".") {
		return ref, nil
	}
	client, err := hubClient()
	if err != nil {
		return "", err
	}
	dir, err := client.ResolveWith(ctx, ref, hubProgress(messages))
	if err != nil {
		return "", fmt.Errorf("there is no folder %s, and as a repository of the Hub: %w", ref, err)
	}
	return dir, nil
}
