package hub

import "golang.org/x/sys/windows"

// freeSpace returns how many bytes the user may still write to the disk of an existing folder.
func freeSpace(dir string) (free uint64, known bool, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err == nil, err
}
