// Package debs brings programs of Debian's newest suite onto an older Debian without touching it.
//
// A stable release keeps the shader compiler and the CPU drivers it was released with for years. This package
// lets apt itself resolve and download the newer packages, against a private apt state, and unpacks them into
// a folder of their own:
//
//	DIR/root   the unpacked packages, with their own C library
//	DIR/bin    wrapper scripts, written by Wrap, that start a program of root through root's own loader
//
// The system's packages, lists and settings are read only. The mirror is the one in the machine's own apt sources.
package debs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Newest is the name of Debian's newest suite, as apt sources spell it.
const Newest = "sid"

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// Fetcher downloads and unpacks packages; Log receives apt's and dpkg's output.
type Fetcher struct {
	Log io.Writer
}

// Newer unpacks the named packages of Debian's newest suite and all that they depend on, the C library
// included, into dir/root, replacing what is there. On an error dir/root is as it was.
func (f Fetcher) Newer(dir string, packages ...string) error {
	if err := haveApt(); err != nil {
		return err
	}
	mirror, err := Mirror()
	if err != nil {
		return err
	}
	state, err := newState(dir, mirror)
	if err != nil {
		return err
	}
	defer os.RemoveAll(state.dir)
	if err := f.run("", "apt-get", state.args("update")...); err != nil {
		return fmt.Errorf("read the package list of suite %s: %w", Newest, err)
	}
	install := state.args("--yes", "--no-install-recommends", "--download-only", "install")
	if err := f.run("", "apt-get", append(install, packages...)...); err != nil {
		return fmt.Errorf("download %s from suite %s: %w", strings.Join(packages, " "), Newest, err)
	}
	return f.unpack(filepath.Join(state.dir, "cache", "archives"), dir)
}

// Own unpacks the named packages of the machine's own release, without their dependencies, into dir/root,
// replacing what is there. On an error dir/root is as it was.
func (f Fetcher) Own(dir string, packages ...string) error {
	if err := haveApt(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if tmp, err = os.MkdirTemp(tmp, "download"); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := f.download(tmp, packages); err != nil {
		return fmt.Errorf("download %s: %w", strings.Join(packages, " "), err)
	}
	return f.unpack(tmp, dir)
}

// download puts package files of the machine's own release into dir. A machine whose package lists are missing
// or out of date gets them renewed first, which root alone may do.
func (f Fetcher) download(dir string, packages []string) error {
	args := []string{"-o", "APT::Sandbox::User=", "download"} // apt's own user may not enter this folder
	args = append(args, packages...)
	err := f.run(dir, "apt-get", args...)
	if err == nil {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w (if the package lists are old or missing, `sudo apt-get update` renews them)", err)
	}
	if err := f.run("", "apt-get", "-o", "DPkg::Lock::Timeout=300", "update"); err != nil {
		return err
	}
	return f.run(dir, "apt-get", args...)
}

// unpack unpacks every package file in from into dir/root, through a temporary folder beside it.
func (f Fetcher) unpack(from, dir string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.deb"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: apt reported success but left no package file there", from)
	}
	tmp, err := os.MkdirTemp(dir, "unpack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, file := range files {
		if err := f.run("", "dpkg", "-x", file, tmp); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
	}
	// MkdirTemp makes a private folder; programs of other users (a test's, apt's) may read the result.
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	root := filepath.Join(dir, "root")
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	return os.Rename(tmp, root)
}

// run runs a program in dir with its output on f.Log.
func (f Fetcher) run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = f.Log, f.Log
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	return cmd.Run()
}

// haveApt returns an error that says what to do where apt is missing.
func haveApt() error {
	for _, name := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(name); err != nil {
			return errors.New(name + " not found: fetching packages works on Debian and its relatives only; " +
				"elsewhere install the program yourself and put it on PATH")
		}
	}
	return nil
}
