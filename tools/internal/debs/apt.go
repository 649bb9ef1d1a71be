package debs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mirror returns the address of the Debian mirror that the machine's own apt sources name.
func Mirror() (string, error) {
	cmd := exec.Command("apt-get", "indextargets",
		"--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)", "Created-By: Packages")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets: %w", err)
	}
	if mirror := chooseMirror(string(out)); mirror != "" {
		return mirror, nil
	}
	return "", errors.New("the apt sources of this machine name no Debian mirror with component main " +
		"(see `apt-get indextargets`); add one, or put the wanted program on PATH")
}

// chooseMirror picks the mirror out of lines of origin, component and address: the first with Debian's main
// component that is not the security archive, which holds no newest suite. Before the first `apt-get update`
// apt knows no origin and leaves the word "$(ORIGIN)"; then the address has to end in /debian/.
func chooseMirror(targets string) string {
	for line := range strings.Lines(targets) {
		words := strings.Fields(line)
		if len(words) != 3 || words[1] != "main" || strings.Contains(words[2], "security") {
			continue
		}
		unknown := words[0] == "$(ORIGIN)" && strings.HasSuffix(strings.TrimRight(words[2], "/"), "/debian")
		if words[0] == "Debian" || unknown {
			return words[2]
		}
	}
	return ""
}

// aptState is a private apt state: no package counts as installed, and only one suite is known.
type aptState struct {
	dir string
}

// newState makes an apt state for Debian's newest suite on mirror, in a temporary folder below dir that the
// caller removes.
func newState(dir, mirror string) (aptState, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return aptState{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return aptState{}, err
	}
	if dir, err = os.MkdirTemp(dir, "apt"); err != nil {
		return aptState{}, err
	}
	s := aptState{dir: dir}
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return s, err
		}
	}
	sources := "Types: deb\nURIs: " + mirror + "\nSuites: " + Newest + "\nComponents: main\n"
	if _, err := os.Stat(keyring); err == nil {
		sources += "Signed-By: " + keyring + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "newest.sources"), []byte(sources), 0o644); err != nil {
		return s, err
	}
	return s, os.WriteFile(filepath.Join(dir, "status"), nil, 0o644)
}

// args puts the options that select the state before an apt-get command line.
func (s aptState) args(command ...string) []string {
	options := []string{
		"Dir::Etc::sourcelist=" + filepath.Join(s.dir, "newest.sources"),
		"Dir::Etc::sourceparts=-",
		"Dir::Etc::preferences=/dev/null",
		"Dir::Etc::preferencesparts=/dev/null",
		"Dir::State=" + s.dir,
		"Dir::State::Lists=" + filepath.Join(s.dir, "lists"),
		"Dir::State::status=" + filepath.Join(s.dir, "status"),
		"Dir::Cache=" + filepath.Join(s.dir, "cache"),
		"Dir::Cache::archives=" + filepath.Join(s.dir, "cache", "archives"),
		"Acquire::Languages=none",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"Acquire::Retries=3",
		"APT::Sandbox::User=",   // the state may lie where apt's own user cannot go
		"Debug::NoLocking=true", // nobody else uses this state
	}
	var args []string
	for _, o := range options {
		args = append(args, "-o", o)
	}
	return append(args, command...)
}
