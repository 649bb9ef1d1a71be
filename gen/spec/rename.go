package spec

import (
	"fmt"
	"strings"
)

// rename respells tensor names that the parents declare: each entry "from -> to" replaces the beginning of a name or of a
// prefix wherever it stands whole in a line. An entry that matches nothing is an error.
func (a *Arch) rename(entries []string) error {
	for _, entry := range entries {
		from, to, ok := strings.Cut(entry, "->")
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		if !ok || from == "" {
			return fmt.Errorf("rename %q, want \"from -> to\"", entry)
		}
		found := false
		replace := func(s string) string {
			parts := strings.Split(s, "|")
			for i, p := range parts {
				if rest, ok := strings.CutPrefix(p, from); ok {
					parts[i], found = to+rest, true
				}
			}
			return strings.Join(parts, "|")
		}
		for _, f := range a.Fns {
			f.Prefix = replace(f.Prefix)
			for i := range f.Lines {
				for k := range f.Lines[i].Attrs {
					at := &f.Lines[i].Attrs[k]
					at.Value = replace(at.Value)
				}
			}
		}
		if !found {
			return fmt.Errorf("rename %q: no tensor of the parents begins with %q", entry, from)
		}
	}
	return nil
}
