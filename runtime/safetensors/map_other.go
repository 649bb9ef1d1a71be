//go:build !unix

package safetensors

import "os"

// mapFile reads the whole file: systems without mmap pay with memory.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	data, err = os.ReadFile(path)
	return data, func() error { return nil }, err
}
