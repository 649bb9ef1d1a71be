package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// use lays parts over what the parents declare: files that extend nothing and only bring configuration, values, checks and
// functions, such as a kind of layer that decoders of several families have. child is the file that names them.
func (a *Arch) use(specs fs.FS, show, child string, parts []string) error {
	var errs []error
	for _, name := range parts {
		text, err := fs.ReadFile(specs, name+".toml")
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: uses %q: %w", child, name, err))
			continue
		}
		shown := path.Join(show, name+".toml")
		f, err := decode(string(text), shown)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if f.Extends != "" || f.Kind != "" || len(f.Uses)+len(f.ModelTypes)+len(f.Packages)+len(f.Rename) > 0 {
			errs = append(errs, fmt.Errorf("%s: uses %q, which is more than a part: a part has name, config, let, check and fn",
				child, name))
			continue
		}
		m := merger{arch: a, f: f, lines: indexLines(string(text)), file: shown}
		m.tables()
		a.Parents = append(a.Parents, name)
		errs = append(errs, m.errs...)
	}
	return errors.Join(errs...)
}
