package gguf

import (
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapFile maps a whole file for reading and returns its bytes and how to let go of them.
func mapFile(path string) ([]byte, func() error, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file (%s)", path, st.Mode().Type())
	}
	if st.Size() > math.MaxInt {
		return nil, nil, fmt.Errorf("%s has %d bytes, more than this machine can address", path, st.Size())
	}
	if st.Size() == 0 {
		return nil, func() error { return nil }, nil
	}
	h, err := windows.CreateFileMapping(windows.Handle(file.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: CreateFileMapping: %w", path, err)
	}
	defer windows.CloseHandle(h) // the view keeps the mapping alive
	addr, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, 0, 0, uintptr(st.Size()))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: MapViewOfFile: %w", path, err)
	}
	view := *(*unsafe.Pointer)(unsafe.Pointer(&addr)) // an address outside Go's heap
	return unsafe.Slice((*byte)(view), st.Size()), func() error { return windows.UnmapViewOfFile(addr) }, nil
}
