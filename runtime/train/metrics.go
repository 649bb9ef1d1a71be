package train

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Metric is a line of metrics.jsonl: a step, or an evaluation after one.
type Metric struct {
	Step   int      `json:"step"`
	Epoch  float64  `json:"epoch"`
	Loss   *float64 `json:"loss,omitempty"`
	Rate   float64  `json:"lr,omitempty"`
	Norm   float64  `json:"grad_norm,omitempty"`
	Tokens int64    `json:"tokens"`
	Speed  float64  `json:"tokens_per_second,omitempty"`
	Scale  float64  `json:"loss_scale,omitempty"` // of F16
	Skip   bool     `json:"skipped,omitempty"`    // F16 overflowed: nothing changed

	Eval *Evaluation `json:"eval,omitempty"`
}

// metrics appends lines to a file.
type metrics struct {
	f     *os.File
	bytes int64
}

// openMetrics opens the file and cuts it at size: what was written after the checkpoint is written again.
func openMetrics(path string, size int64) (*metrics, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() < size {
		err = fmt.Errorf("%s has %d bytes, the checkpoint wants %d: the file was changed", path, st.Size(), size)
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &metrics{f, size}, nil
}

func (m *metrics) add(x Metric) error {
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	n, err := m.f.Write(append(line, '\n'))
	m.bytes += int64(n)
	return err
}

func (m *metrics) sync() error  { return m.f.Sync() }
func (m *metrics) close() error { return m.f.Close() }

// ReadMetrics reads a metrics.jsonl file.
func ReadMetrics(path string) ([]Metric, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Metric
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		var m Metric
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		list = append(list, m)
	}
	return list, s.Err()
}
