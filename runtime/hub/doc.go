// Package hub downloads model and dataset repositories of the Hugging Face Hub, or of a server that
// speaks its protocol, into the cache that huggingface_hub uses too, so that both share every file:
//
//	CACHE/models--OWNER--REPO/blobs/ETAG               the contents, named by their hash
//	                          snapshots/COMMIT/NAME    links to them, under the repository's file names
//	                          refs/REVISION            the commit that a branch or tag named last
//	CACHE/.locks/models--OWNER--REPO/ETAG.lock         held while a blob is written
//
// Use it like this:
//
//	options, err := hub.OptionsFromEnv()
//	client, err := hub.New(options)
//	dir, err := client.Snapshot(ctx, "OWNER/REPO", hub.Request{Include: []string{"*.json", "*.safetensors"}})
//
// Resolve does the same for a command line's argument, which may also be a folder or a .gguf file.
//
// What it promises:
//   - A file is visible under its name only after its length and hash (SHA-256 for large files, git's SHA-1
//     for the others) were checked. An interrupted download goes on where it stopped.
//   - All files of a snapshot are of one commit, even when the branch moves meanwhile.
//   - The token goes to the endpoint's host and nowhere else; redirects are followed by own code.
//   - File names of a server cannot leave the cache. Nothing that is downloaded is ever run, and pickled
//     weights, which can run code when they are loaded, are left alone unless they are named.
//
// Source: huggingface_hub, "Understand caching" and file_download.py (layout, headers); Hub API
// documentation.
package hub
