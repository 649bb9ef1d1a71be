package train

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// writeSynced writes a new file and waits until it is on the disk.
func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncFolder waits until the names in a folder are on the disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CheckOutput wants a folder that a result can be written to: absent, or empty. It is made when absent.
//
// Errors: a file of that name; a folder that holds something; one that cannot be made or written.
func CheckOutput(dir string) error {
	st, err := os.Stat(dir)
	switch {
	case err == nil && !st.IsDir():
		return fmt.Errorf("%s: the output folder is a file: choose another name", dir)
	case err == nil:
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s: the output folder is not empty (%s ...): choose another, or empty it", dir,
				entries[0].Name())
		}
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("the output folder cannot be made: %w", err)
	}
	f, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return fmt.Errorf("%s: the output folder cannot be written: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// readWide reads a floating-point tensor as float32.
func readWide(dev *gpu.Device, x gpu.Tensor) ([]float32, error) {
	raw := make([]byte, x.Bytes())
	if err := dev.Read(x, raw); err != nil {
		return nil, err
	}
	out := make([]float32, x.Len())
	if x.Type == gpu.F32 {
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return out, nil
	}
	return out, safetensors.Widen(diskType(x.Type), raw, out)
}
