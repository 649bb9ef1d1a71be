package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
)

// verify checks length and hash of a downloaded file. An etag of 64 digits is the SHA-256 of the
// contents, one of 40 digits git's blob hash: the SHA-1 of "blob SIZE\x00" and the contents.
func verify(path, etag string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var h hash.Hash
	if len(etag) == 64 {
		h = sha256.New()
	} else {
		h = sha1.New()
		fmt.Fprintf(h, "blob %d\x00", size)
	}
	n, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%w: %d bytes, want %d", ErrDamaged, n, size)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != etag {
		return fmt.Errorf("%w: its hash is %s, want %s; a proxy or the server changes what it sends",
			ErrDamaged, got, etag)
	}
	return nil
}
