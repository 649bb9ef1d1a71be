package data

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/vulcast/vulcast/runtime/chat"
)

// Record is one entry of a data file.
type Record struct {
	File   string
	Line   int // of a text file, from 1; the row of a table
	Values *chat.Dict
}

// Place is FILE:LINE.
func (r *Record) Place() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// BadRecord is a record that cannot be used; those behind it can still be read.
type BadRecord struct {
	Place string
	Err   error
}

// Error gives FILE:LINE: reason.
func (b *BadRecord) Error() string { return b.Place + ": " + b.Err.Error() }

// Unwrap returns the reason.
func (b *BadRecord) Unwrap() error { return b.Err }

// MaxRecord bounds a record of a text file, in bytes.
const MaxRecord = 64 << 20

// format reads records from an open file.
type format func(name string, r io.Reader, yield func(Record, error) bool) error

// formats by the ends of names, compression left out. Parquet needs random access and stands apart.
var formats = map[string]format{".jsonl": readLines, ".ndjson": readLines, ".json": readJSON, ".csv": readTable(','),
	".tsv": readTable('\t')}

// extension returns the end of a name that says its format, and that of a compression.
func extension(name string) (format, compression string) {
	ext := strings.ToLower(filepath.Ext(name))
	if ext == ".gz" || ext == ".zst" {
		return strings.ToLower(filepath.Ext(strings.TrimSuffix(name, filepath.Ext(name)))), ext
	}
	return ext, ""
}

// IsRecords reports whether a file holds records, by its name: JSONL, JSON, CSV, TSV or Parquet. Others are
// plain texts.
func IsRecords(name string) bool {
	ext, _ := extension(name)
	return formats[ext] != nil || ext == ".parquet"
}

// Records reads the records of files, in order. A *BadRecord error concerns one record, after which reading
// goes on; any other error ends the sequence.
func Records(files []string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stopped := false
		for _, name := range files {
			err := readFile(name, func(r Record, err error) bool {
				stopped = !yield(r, err)
				return !stopped
			})
			if stopped {
				return
			}
			if err != nil {
				yield(Record{File: name}, err)
				return
			}
		}
	}
}

// readFile reads one file of any format.
func readFile(name string, yield func(Record, error) bool) error {
	ext, compression := extension(name)
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if ext == ".parquet" {
		if compression != "" {
			return fmt.Errorf("%s: Parquet files compress their own pages: decompress the file first", name)
		}
		return readParquet(name, f, yield)
	}
	read := formats[ext]
	if read == nil {
		return fmt.Errorf("%s: no format of records has this name (.jsonl, .json, .csv, .tsv, .parquet, also with .gz or .zst)",
			name)
	}
	r, done, err := decompress(f, compression)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	return read(name, r, yield)
}

// decompress opens a compressed stream; done releases it.
func decompress(f io.Reader, compression string) (r io.Reader, done func(), err error) {
	switch compression {
	case ".gz":
		z, err := gzip.NewReader(f)
		return z, func() {}, err
	case ".zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return f, func() {}, nil
}

// ReadText reads a whole text file, decompressed by its name.
func ReadText(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, compression := extension(name)
	r, done, err := decompress(f, compression)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer done()
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// readLines reads a JSON object a line. Empty lines are left out.
func readLines(name string, r io.Reader, yield func(Record, error) bool) error {
	b := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, long, err := readLine(b)
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		rec := Record{File: name, Line: n}
		switch {
		case long > 0:
			if !yield(rec, &BadRecord{rec.Place(), fmt.Errorf("a record of %d bytes; the limit is %d", long, MaxRecord)}) {
				return nil
			}
		case len(strings.TrimSpace(string(line))) > 0:
			v, bad := object(line)
			rec.Values = v
			if bad != nil {
				bad = &BadRecord{rec.Place(), bad}
			}
			if !yield(rec, bad) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// readLine reads a line; of one that is too long it returns the length alone.
func readLine(b *bufio.Reader) (line []byte, long int, err error) {
	for {
		part, err := b.ReadSlice('\n')
		if long > 0 || len(line)+len(part) > MaxRecord {
			long, line = long+len(line)+len(part), nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// object reads a JSON object.
func object(text []byte) (*chat.Dict, error) {
	v, err := chat.DecodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	d, ok := v.(*chat.Dict)
	if !ok {
		return nil, fmt.Errorf("want a JSON object with the fields of a record")
	}
	return d, nil
}

// readJSON reads a file that is a list of objects, or an object of which one field is such a list ("data",
// "train" ...).
func readJSON(name string, r io.Reader, yield func(Record, error) bool) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	v, err := chat.DecodeJSON(text)
	if err != nil {
		return fmt.Errorf("%s: not JSON: %w (one object a line is the format of .jsonl)", name, err)
	}
	if d, ok := v.(*chat.Dict); ok {
		for i := range d.Len() {
			if _, x := d.At(i); isList(x) {
				v = x
			}
		}
	}
	list, ok := v.(*chat.List)
	if !ok {
		return fmt.Errorf("%s: want a list of objects, or an object with one", name)
	}
	for i, x := range list.Items {
		rec := Record{File: name, Line: i + 1}
		var bad error
		if rec.Values, ok = x.(*chat.Dict); !ok {
			bad = &BadRecord{rec.Place(), fmt.Errorf("entry %d is no object", i+1)}
		}
		if !yield(rec, bad) {
			return nil
		}
	}
	return nil
}

func isList(v chat.Value) bool {
	_, ok := v.(*chat.List)
	return ok
}

// readTable reads a table whose first line names its columns.
func readTable(comma rune) format {
	return func(name string, r io.Reader, yield func(Record, error) bool) error {
		c := csv.NewReader(r)
		c.Comma, c.FieldsPerRecord, c.LazyQuotes = comma, -1, comma == '\t'
		head, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		head[0] = strings.TrimPrefix(head[0], "\ufeff")
		if i := slices.Index(head, ""); i >= 0 {
			return fmt.Errorf("%s: column %d has no name in the first line", name, i+1)
		}
		for {
			row, err := c.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			rec := Record{File: name}
			if len(row) > 0 {
				rec.Line, _ = c.FieldPos(0)
			}
			var parse *csv.ParseError
			switch {
			case errors.As(err, &parse):
				rec.Line = parse.StartLine
				err = &BadRecord{rec.Place(), parse.Err}
			case err != nil:
				return fmt.Errorf("%s: %w", name, err)
			case len(row) != len(head):
				err = &BadRecord{rec.Place(), fmt.Errorf("%d fields, want the %d columns of the first line", len(row), len(head))}
			default:
				rec.Values, err = tableRow(head, row)
				if err != nil {
					err = &BadRecord{rec.Place(), err}
				}
			}
			if !yield(rec, err) {
				return nil
			}
		}
	}
}

func tableRow(head, row []string) (*chat.Dict, error) {
	d := chat.NewDict()
	for i, text := range row {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("column %s is not UTF-8 text", head[i])
		}
		d.Set(head[i], text)
	}
	return d, nil
}
