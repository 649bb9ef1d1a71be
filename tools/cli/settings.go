package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vulcast/vulcast/runtime/train"
)

// settingsFlags are `--config` and `--print-config`: every other flag of a command can stand in a TOML file.
type settingsFlags struct {
	config string
	print  bool
}

// notSettings are flags that say how to call the command, not what to do.
var notSettings = []string{"config", "print-config", "help", "resume", "dry-run", "json"}

func (s *settingsFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&s.config, "config", "", "read flags from this TOML file; those of the command line win")
	c.Flags().BoolVar(&s.print, "print-config", false, "print all flags as TOML and do nothing else")
}

// apply sets the flags that a file gives and the command line does not.
//
// Errors: keys that are no flags, with the nearest one; values that a flag does not take; all with the file's
// name.
func apply(c *cobra.Command, path string) error {
	list, err := train.ReadSettings(path)
	if err != nil {
		return err
	}
	given := map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for _, s := range list {
		f := c.Flags().Lookup(s.Key)
		if f == nil || !isSetting(f) {
			return fmt.Errorf("%s: %q is no setting of %s (did you mean %q?)", path, s.Key, c.CommandPath(),
				nearest(s.Key, settingNames(c)))
		}
		if given[s.Key] {
			continue
		}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			f.Changed = true
			if err := many.Replace(s.Values); err != nil {
				return fmt.Errorf("%s: %s: %w", path, s.Key, err)
			}
			continue
		}
		if s.List {
			return fmt.Errorf("%s: %s is a list, want one value", path, s.Key)
		}
		if err := c.Flags().Set(s.Key, s.Values[0]); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func isSetting(f *pflag.Flag) bool {
	for _, n := range notSettings {
		if f.Name == n {
			return false
		}
	}
	return true
}

func settingNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			names = append(names, f.Name)
		}
	})
	return names
}

// writeSettings prints every setting of a command, those that were left alone included.
func writeSettings(w io.Writer, c *cobra.Command) error {
	var list []train.Setting
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) {
			return
		}
		s := train.Setting{Key: f.Name}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			s.Values, s.List = many.GetSlice(), true
		} else {
			s.Values = []string{f.Value.String()}
		}
		list = append(list, s)
	})
	return train.WriteSettings(w, list)
}

// settingsText is what writeSettings prints.
func settingsText(c *cobra.Command) ([]byte, error) {
	var b bytes.Buffer
	err := writeSettings(&b, c)
	return b.Bytes(), err
}

// nearest is the name with the fewest single-letter changes.
func nearest(name string, names []string) string {
	best, least := "", 0
	for _, n := range names {
		if d := distance(name, n); best == "" || d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is the edit distance of Levenshtein.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
