package gpu

/*
#include "vkshim.h"
*/
import "C"

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"
)

// cacheMagic begins a pipeline cache file; the checksum of the rest and the driver's data follow. Drivers
// trust the data, so a damaged file must not reach them.
const cacheMagic = "vulcast pipeline cache 1\n"

// maxCacheFile bounds what is read and written.
const maxCacheFile = 256 << 20

// cachePath names the file of this device and driver.
func (d *Device) cachePath() (string, error) {
	dir := d.opt.CacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "vulcast", "pipelines")
	}
	return filepath.Join(dir, fmt.Sprintf("%04x-%04x-%x-%x.bin", d.Info.VendorID, d.Info.DeviceID,
		d.Info.DeviceUUID[:], d.Info.DriverUUID[:])), nil
}

// loadCache makes the pipeline cache, filled from the file when there is a sound one. Problems are
// warnings: everything works without the file, only slower.
func (d *Device) loadCache() {
	var data []byte
	if !d.opt.NoCache {
		path, err := d.cachePath()
		if err == nil {
			data, err = readCache(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.warn("pipeline cache not read: %v", err)
		}
	}
	var p unsafe.Pointer
	if len(data) > 0 {
		p = unsafe.Pointer(&data[0])
	}
	if r := C.vkd_cache(d.vk, p, C.size_t(len(data)), &d.cache); r != 0 {
		d.cache = 0
		d.warn("%v", vkError("vkCreatePipelineCache", r))
	}
}

func readCache(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxCacheFile {
		return nil, fmt.Errorf("%s: %d bytes, at most %d wanted; delete it", path, info.Size(), maxCacheFile)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head := len(cacheMagic) + sha256.Size
	if len(file) < head || string(file[:len(cacheMagic)]) != cacheMagic {
		return nil, fmt.Errorf("%s: no pipeline cache of this program; delete it", path)
	}
	if sum := sha256.Sum256(file[head:]); !bytes.Equal(sum[:], file[len(cacheMagic):head]) {
		return nil, fmt.Errorf("%s: wrong checksum; delete it", path)
	}
	return file[head:], nil
}

// saveCache writes the cache file when something was compiled.
func (d *Device) saveCache() {
	d.progMu.Lock()
	fresh := d.cacheNew
	d.cacheNew = false
	d.progMu.Unlock()
	if !fresh || d.opt.NoCache || d.cache == 0 || d.lost.Load() {
		return
	}
	if err := d.writeCache(); err != nil {
		d.warn("pipeline cache not written: %v", err)
	}
}

func (d *Device) writeCache() error {
	var n C.size_t
	if r := C.vkd_cache_data(d.vk, d.cache, &n, nil); r != 0 {
		return vkError("vkGetPipelineCacheData", r)
	}
	if n == 0 || n > maxCacheFile {
		return nil
	}
	data := make([]byte, n)
	if r := C.vkd_cache_data(d.vk, d.cache, &n, unsafe.Pointer(&data[0])); r != 0 {
		return vkError("vkGetPipelineCacheData", r)
	}
	path, err := d.cachePath()
	if err != nil {
		return err
	}
	data = data[:n]
	sum := sha256.Sum256(data)
	return writeAtomic(path, []byte(cacheMagic), sum[:], data)
}

// writeAtomic writes parts to a temporary file in the same folder and renames it.
func writeAtomic(path string, parts ...[]byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Join(parts, nil))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
