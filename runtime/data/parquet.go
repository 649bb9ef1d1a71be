package data

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"

	"github.com/vulcast/vulcast/runtime/chat"
)

// readParquet reads the rows of a Parquet file, nested lists and structures included.
func readParquet(name string, f *os.File, yield func(Record, error) bool) (err error) {
	n := 0
	defer func() { // the library panics at some corrupt pages
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: row %d: the file is corrupt: %v", name, n+1, p)
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, st.Size())
	if err != nil {
		return fmt.Errorf("%s: not a Parquet file: %w", name, err)
	}
	rows := parquet.NewReader(file)
	defer func() { err = errors.Join(err, rows.Close()) }()
	for ; ; n++ {
		row := map[string]any{}
		if err := rows.Read(&row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: row %d: %w", name, n+1, err)
		}
		rec := Record{File: name, Line: n + 1}
		v, err := chat.FromGo(plain(row))
		var bad error
		if d, ok := v.(*chat.Dict); err == nil && ok {
			rec.Values = d
		} else {
			bad = &BadRecord{rec.Place(), fmt.Errorf("the row has no plain value: %w", err)}
		}
		if !yield(rec, bad) {
			return nil
		}
	}
}

// plain turns the bytes of texts into strings, and unwraps the standard form of lists: {"list": [{"element":
// x}]}.
func plain(v any) any {
	switch x := v.(type) {
	case []byte:
		return string(x)
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	case map[string]any:
		if l, ok := x["list"].([]any); ok && len(x) == 1 {
			out := make([]any, len(l))
			for i, e := range l {
				if m, ok := e.(map[string]any); ok && len(m) == 1 {
					for _, inner := range m {
						e = inner
					}
				}
				out[i] = plain(e)
			}
			return out
		}
		out := map[string]any{}
		for k, e := range x {
			out[k] = plain(e)
		}
		return out
	}
	return v
}
