package train

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Setting is a key of a run's configuration file: the name of a flag, and its value as flags are written;
// lists have several values.
type Setting struct {
	Key    string
	Values []string
	List   bool
}

// ReadSettings reads a configuration in TOML: keys and values, no tables.
//
// Errors: those of the syntax with their line; a table, date or list of lists.
func ReadSettings(path string) ([]Setting, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	meta, err := toml.Decode(string(text), &all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list []Setting
	for _, key := range meta.Keys() {
		if len(key) > 1 {
			continue // below a table, which is an error of its own
		}
		s := Setting{Key: key[0]}
		values := []any{all[s.Key]}
		if many, ok := all[s.Key].([]any); ok {
			values, s.List = many, true
		}
		for _, v := range values {
			text, ok := settingText(v)
			if !ok {
				return nil, fmt.Errorf("%s: %q is %T, want a text, number, truth value or a list of them", path, s.Key, v)
			}
			s.Values = append(s.Values, text)
		}
		list = append(list, s)
	}
	return list, nil
}

func settingText(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case bool:
		return strconv.FormatBool(x), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	}
	return "", false
}

// WriteSettings writes a configuration that ReadSettings reads. Numbers and truth values stand bare, the rest
// in quotes.
func WriteSettings(w io.Writer, list []Setting) error {
	for _, s := range list {
		values := make([]string, len(s.Values))
		for i, v := range s.Values {
			values[i] = tomlValue(v)
		}
		text := strings.Join(values, ", ")
		if s.List {
			text = "[" + text + "]"
		}
		if _, err := fmt.Fprintf(w, "%s = %s\n", s.Key, text); err != nil {
			return err
		}
	}
	return nil
}

func tomlValue(v string) string {
	if v == "true" || v == "false" {
		return v
	}
	if _, err := strconv.ParseInt(v, 10, 64); err == nil && (v == "0" || !strings.HasPrefix(strings.TrimLeft(v, "+-"), "0")) {
		return v
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil && finite(f) && strings.ContainsAny(v, ".eE") && !strings.ContainsAny(v, "xXpP_") {
		return strconv.FormatFloat(f, 'g', -1, 64) + point(f)
	}
	return quoteTOML(v)
}

// point makes a whole number a float for TOML.
func point(f float64) string {
	if strings.ContainsAny(strconv.FormatFloat(f, 'g', -1, 64), ".e") {
		return ""
	}
	return ".0"
}

// quoteTOML writes a basic string.
func quoteTOML(v string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range v {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
