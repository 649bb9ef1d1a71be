package hub

import "sync"

// Progress is the state of a download.
type Progress struct {
	File      string // name in the repository
	FileDone  int64  // bytes on disk
	FileTotal int64
	Done      int64 // of all files together, cached ones included
	Total     int64
}

// meter adds up the progress of all files and calls back, one call at a time.
type meter struct {
	mu    sync.Mutex
	call  func(Progress) // may be nil
	done  map[string]int64
	sum   int64
	total int64
}

// set says that done bytes of a file are on disk; less than before where a download starts over.
func (m *meter) set(file string, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum += done - m.done[file]
	m.done[file] = done
	if m.call != nil {
		m.call(Progress{File: file, FileDone: done, FileTotal: total, Done: m.sum, Total: m.total})
	}
}
