package debs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChooseMirror(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"first Debian main", "Debian main http://m.test/debian/\nDebian main http://n.test/debian/\n", "http://m.test/debian/"},
		{"not the security archive", "Debian main http://m.test/debian-security/\nDebian main http://m.test/debian/\n",
			"http://m.test/debian/"},
		{"not another vendor", "Vendor main http://v.test/apt/\nDebian main http://m.test/debian/\n", "http://m.test/debian/"},
		{"not contrib", "Debian contrib http://m.test/debian/\n", ""},
		{"before the first update", "$(ORIGIN) main http://v.test/apt/\n$(ORIGIN) main http://m.test/debian\n",
			"http://m.test/debian"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := chooseMirror(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// fakeRoot lays out a root whose loader is a script that prints its arguments and a variable.
func fakeRoot(t *testing.T) Root {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my root")
	for _, sub := range []string{"usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/bin"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	loader := "#!/bin/sh\necho \"$DRIVER\"\nfor a; do echo \"$a\"; done\n"
	for name, text := range map[string]string{"usr/lib64/ld-linux-x86-64.so.2": loader, "usr/bin/tool": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestWrap(t *testing.T) {
	root := fakeRoot(t)
	script := filepath.Join(filepath.Dir(root.Dir), "bin", "tool")
	if err := root.Wrap(script, "usr/bin/tool"); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(script, "a b", "c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	want := "\n--library-path\n" + root.Dir + "/usr/lib/x86_64-linux-gnu\n" + root.Dir + "/usr/bin/tool\na b\nc\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWrapAny(t *testing.T) {
	root := fakeRoot(t)
	script := filepath.Join(filepath.Dir(root.Dir), "run")
	if err := root.WrapAny(script, "DRIVER=$root/usr/icd.json"); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(script, "sh", "x y").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	want := root.Dir + "/usr/icd.json\n--library-path\n" + root.Dir + "/usr/lib/x86_64-linux-gnu\n" + sh + "\nx y\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := exec.Command(script, "no-such-program").Run(); err == nil {
		t.Error("a program that is not there started")
	}
}

func TestWrapMissing(t *testing.T) {
	root := fakeRoot(t)
	if err := root.Wrap(filepath.Join(t.TempDir(), "x"), "usr/bin/absent"); err == nil {
		t.Error("wrapped a program that is not there")
	}
	if _, err := OpenRoot(t.TempDir()); err == nil {
		t.Error("opened a root without a loader")
	}
}
