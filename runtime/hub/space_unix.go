//go:build linux || darwin

package hub

import "golang.org/x/sys/unix"

// freeSpace returns how many bytes an unprivileged user may still write to the disk of an existing folder.
func freeSpace(dir string) (free uint64, known bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false, err
	}
	return st.Bavail * uint64(st.Bsize), true, nil
}
