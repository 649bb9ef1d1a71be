package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/vulcast/vulcast/gen/expr"
)

// file is the TOML shape of one spec.
type file struct {
	Name       string            `toml:"name"`
	Extends    string            `toml:"extends"`
	Uses       []string          `toml:"uses"`
	Kind       string            `toml:"kind"`
	ModelTypes []string          `toml:"model_types"`
	Packages   []Package         `toml:"package"`
	Rename     []string          `toml:"rename"`
	Decode     string            `toml:"decode"`
	Labels     string            `toml:"labels"`
	Config     map[string]string `toml:"config"`
	Let        map[string]string `toml:"let"`
	Check      map[string]string `toml:"check"`
	Fn         map[string]fileFn `toml:"fn"`
}

type fileFn struct {
	Sig    string `toml:"sig"`
	Prefix string `toml:"prefix"`
	Ops    string `toml:"ops"`
}

// List returns the names of the concrete specs in the folder, sorted: every *.toml beside base/ and ops/.
func List(specs fs.FS) ([]string, error) {
	names, err := fs.Glob(specs, "*.toml")
	if err != nil {
		return nil, err
	}
	for i, n := range names {
		names[i] = strings.TrimSuffix(n, ".toml")
	}
	sort.Strings(names)
	return names, nil
}

// Load reads the named spec (such as llama or base/causal_lm) and its parents. show is prepended to file names in
// positions. All errors are joined.
func Load(specs fs.FS, show, name string) (*Arch, error) {
	return load(specs, show, name, nil)
}

func load(specs fs.FS, show, name string, children []string) (*Arch, error) {
	for _, c := range children {
		if c == name {
			return nil, fmt.Errorf("%s: extends itself through %s", path.Join(show, name+".toml"), strings.Join(children, " <- "))
		}
	}
	text, err := fs.ReadFile(specs, name+".toml")
	if err != nil {
		if len(children) > 0 {
			return nil, fmt.Errorf("%s: extends %q: %w", path.Join(show, children[0]+".toml"), name, err)
		}
		return nil, err
	}
	shown := path.Join(show, name+".toml")
	f, err := decode(string(text), shown)
	if err != nil {
		return nil, err
	}
	arch := &Arch{}
	if f.Extends != "" {
		arch, err = load(specs, show, f.Extends, append([]string{name}, children...))
		if err != nil {
			return nil, err
		}
		arch.Parents = append(arch.Parents, f.Extends)
		arch.ModelTypes, arch.Packages = nil, nil // what a parent answers to is its own
		if err := arch.rename(f.Rename); err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
	}
	if err := arch.use(specs, show, shown, f.Uses); err != nil {
		return nil, err
	}
	arch.Name, arch.File = f.Name, shown
	arch.Lines = strings.Count(strings.TrimRight(string(text), "\n"), "\n") + 1
	arch.Abstract = strings.HasPrefix(name, "base/")
	arch.Doc = headComment(string(text))
	m := merger{arch: arch, f: f, lines: indexLines(string(text)), file: shown}
	m.merge(path.Base(name))
	arch.Lets = orderLets(arch.Lets)
	return arch, errors.Join(m.errs...)
}

// decode parses the TOML text and rejects keys that the language does not have.
func decode(text, shown string) (*file, error) {
	var f file
	meta, err := toml.Decode(text, &f)
	if err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return nil, Pos{shown, pe.Position.Line}.Errorf("%s", pe.Message)
		}
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	var errs []error
	lines := indexLines(text)
	for _, k := range meta.Undecoded() {
		errs = append(errs, Pos{shown, lines[k.String()]}.Errorf("unknown key %s", k))
	}
	return &f, errors.Join(errs...)
}

// headComment returns the comment lines before the first declaration.
func headComment(text string) string {
	var doc []string
	for _, l := range strings.Split(text, "\n") {
		if !strings.HasPrefix(l, "#") {
			break
		}
		doc = append(doc, strings.TrimSpace(strings.TrimPrefix(l, "#")))
	}
	return strings.Join(doc, "\n")
}

// indexLines maps "table.key" and "table" to the line that declares it; for an ops text, to the line of its first op.
func indexLines(text string) map[string]int {
	at := map[string]int{}
	table, quoted := "", false
	for i, l := range strings.Split(text, "\n") {
		t := strings.TrimSpace(l)
		if quoted {
			quoted = !strings.Contains(t, "'''")
			continue
		}
		switch {
		case strings.HasPrefix(t, "["):
			table = strings.Trim(strings.SplitN(t, "#", 2)[0], "[] ")
			at[table] = i + 1
		case strings.HasPrefix(t, "#"):
		default:
			key, value, ok := cutKey(t)
			if !ok {
				continue
			}
			if table != "" {
				key = table + "." + key
			}
			at[key] = i + 1
			if strings.HasPrefix(value, "'''") && !strings.Contains(value[3:], "'''") {
				quoted = true
				if value == "'''" {
					at[key] = i + 2 // a newline right after the quotes is dropped
				}
			}
		}
	}
	return at
}

// cutKey splits `key = value`, where the key may be quoted.
func cutKey(t string) (key, value string, ok bool) {
	if strings.HasPrefix(t, `"`) {
		end := strings.Index(t[1:], `"`)
		if end < 0 {
			return "", "", false
		}
		return t[1 : end+1], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(t[end+2:]), "=")), true
	}
	key, value, ok = strings.Cut(t, "=")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}

// merger lays one file over what its parents declared.
type merger struct {
	arch  *Arch
	f     *file
	lines map[string]int
	file  string
	errs  []error
}

func (m *merger) pos(key string) Pos { return Pos{m.file, m.lines[key]} }

func (m *merger) fail(p Pos, format string, args ...any) {
	m.errs = append(m.errs, p.Errorf(format, args...))
}

func (m *merger) merge(base string) {
	if m.arch.Name != base {
		m.fail(m.pos("name"), "name = %q, want %q as the file is named", m.arch.Name, base)
	}
	if m.f.Kind != "" {
		m.arch.Kind = Kind(m.f.Kind)
		if k := m.arch.Kind; k != Causal && k != Masked && k != Seq2Seq {
			m.fail(m.pos("kind"), "kind = %q, want causal, masked or seq2seq", k)
		}
	}
	if m.f.Decode != "" {
		e, err := expr.Parse(m.f.Decode)
		if err != nil {
			m.fail(m.pos("decode"), "decode: %v", err)
		}
		m.arch.Decode = &Check{e, "", m.pos("decode")}
	}
	if m.f.Labels != "" {
		if m.arch.LabelsInPlace = m.f.Labels == "in place"; !m.arch.LabelsInPlace {
			m.fail(m.pos("labels"), "labels = %q, want \"in place\"", m.f.Labels)
		}
	}
	m.packages()
	m.tables()
}

// packages reads what the spec answers to: its model types, by default its name unless a package has that, and its
// packages.
func (m *merger) packages() {
	packaged := false
	for _, p := range m.f.Packages {
		p.Pos = m.pos("package")
		types := p.ModelTypes
		if p.ModelType != "" {
			types = append(types, p.ModelType)
		}
		if len(types) == 0 {
			m.fail(p.Pos, "package without model_type")
		}
		for _, t := range types {
			m.arch.Packages = append(m.arch.Packages, Package{ModelType: t, Config: p.Config, Rename: p.Rename,
				Text: p.Text, Set: p.Set, Pos: p.Pos})
			packaged = packaged || t == m.arch.Name
		}
	}
	m.arch.ModelTypes = m.f.ModelTypes
	if len(m.f.ModelTypes) == 0 && !m.arch.Abstract && !packaged {
		m.arch.ModelTypes = []string{m.arch.Name}
	}
}

// tables lays the file's configuration, values, checks and functions over the arch's.
func (m *merger) tables() {
	for _, name := range m.inOrder("config", keys(m.f.Config)) {
		m.config(name, m.f.Config[name])
	}
	for _, name := range m.inOrder("let", keys(m.f.Let)) {
		m.let(name, m.f.Let[name])
	}
	for _, cond := range m.inOrder("check", keys(m.f.Check)) {
		p := m.pos("check." + cond)
		e, err := expr.Parse(cond)
		if err != nil {
			m.fail(p, "%v", err)
			continue
		}
		m.arch.Checks = append(m.arch.Checks, Check{e, m.f.Check[cond], p})
	}
	for _, name := range m.inOrder("fn", keys(m.f.Fn)) {
		m.fn(name, m.f.Fn[name])
	}
}

// inOrder sorts the keys of a table by their line.
func (m *merger) inOrder(table string, names []string) []string {
	sort.Slice(names, func(i, j int) bool {
		a, b := m.lines[table+"."+names[i]], m.lines[table+"."+names[j]]
		if a != b {
			return a < b
		}
		return names[i] < names[j]
	})
	return names
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// config parses `type [keys...] [= default]`.
func (m *merger) config(name, decl string) {
	p := m.pos("config." + name)
	left, def, hasDefault := strings.Cut(decl, "=")
	words := strings.Fields(left)
	if !isName(name) || len(words) == 0 {
		m.fail(p, "config %s = %q, want `type [keys...] [= default]`", name, decl)
		return
	}
	word, wordy := strings.CutSuffix(words[0], "~")
	word, null := strings.CutSuffix(word, "?")
	t, ok := expr.ParseType(word)
	if null && !hasDefault {
		m.fail(p, "config %s: %s without a default: a null counts as absent anyway", name, words[0])
	}
	if wordy && (!hasDefault || t != expr.Int && t != expr.Float) {
		m.fail(p, "config %s: %s, want an int or a float with a default before ~", name, words[0])
	}
	if !ok {
		m.fail(p, "config %s: unknown type %q, want int, float, bool, string, a list such as []int, or rope", name, words[0])
		return
	}
	v := ConfigVar{Name: name, Type: t, Keys: words[1:], Null: null, Wordy: wordy, Pos: p}
	if len(v.Keys) == 0 {
		v.Keys = []string{name}
	}
	if hasDefault {
		e, err := expr.Parse(strings.TrimSpace(def))
		if err != nil {
			m.fail(p, "config %s: default: %v", name, err)
			return
		}
		v.Default = e
	}
	for i := range m.arch.Config {
		if m.arch.Config[i].Name == name {
			m.arch.Config[i] = v
			return
		}
	}
	m.dropLet(name)
	m.arch.Config = append(m.arch.Config, v)
}

func (m *merger) let(name, src string) {
	p := m.pos("let." + name)
	e, err := expr.Parse(src)
	if err != nil || !isName(name) {
		m.fail(p, "let %s: %v", name, err)
		return
	}
	l := Let{Name: name, Expr: e, Pos: p}
	for i := range m.arch.Config { // a child may compute what its parent read
		if m.arch.Config[i].Name == name {
			m.arch.Config = append(m.arch.Config[:i], m.arch.Config[i+1:]...)
			l.Over = true
			break
		}
	}
	for i := range m.arch.Lets {
		if m.arch.Lets[i].Name == name {
			m.arch.Lets[i] = l
			return
		}
	}
	m.arch.Lets = append(m.arch.Lets, l)
}

func (m *merger) dropLet(name string) {
	for i := range m.arch.Lets {
		if m.arch.Lets[i].Name == name {
			m.arch.Lets = append(m.arch.Lets[:i], m.arch.Lets[i+1:]...)
			return
		}
	}
}

func (m *merger) fn(name string, f fileFn) {
	p := m.pos("fn." + name)
	fn := &Fn{Name: name, Prefix: f.Prefix, Pos: p}
	in, out, ok := strings.Cut(f.Sig, "->")
	fn.In, fn.Out = strings.Fields(in), strings.Fields(out)
	if !ok || len(fn.Out) == 0 || !isName(name) {
		m.fail(p, "fn.%s: sig = %q, want \"inputs -> outputs\"", name, f.Sig)
	}
	var errs []error
	fn.Lines, errs = parseLines(f.Ops, m.file, m.lines["fn."+name+".ops"])
	m.errs = append(m.errs, errs...)
	for i := range m.arch.Fns {
		if m.arch.Fns[i].Name == name {
			m.arch.Fns[i] = fn
			return
		}
	}
	m.arch.Fns = append(m.arch.Fns, fn)
}
