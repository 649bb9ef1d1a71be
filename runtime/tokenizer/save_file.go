package tokenizer

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Save writes the tokenizer as a tokenizer.json file that the Hugging Face libraries read; one that was
// read from a sentencepiece model is written as that .model file. The file is written under another
// name, flushed and renamed, so that there is never a half-written one.
func (t *Tokenizer) Save(path string) error {
	write := t.write
	if t.source != nil {
		if filepath.Ext(path) != ".model" {
			return fmt.Errorf("tokenizer: save %s: the tokenizer is a sentencepiece model, which tokenizer.json "+
				"cannot hold exactly; give the file the ending .model", path)
		}
		write = func(w io.Writer) error {
			_, err := w.Write(t.source)
			return err
		}
	}
	if err := saveAtomic(path, write); err != nil {
		return fmt.Errorf("tokenizer: save %s: %w", path, err)
	}
	return nil
}

// saveAtomic puts what write writes into the file, or leaves the file as it was.
func saveAtomic(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tokenizer-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	if err = write(w); err != nil {
		return err
	}
	if err = w.Flush(); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// WriteTo writes the file that Save writes.
func (t *Tokenizer) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	b := bufio.NewWriterSize(c, 1<<16)
	var err error
	if t.source != nil {
		_, err = b.Write(t.source)
	} else {
		err = t.write(b)
	}
	if err == nil {
		err = b.Flush()
	}
	return c.n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
