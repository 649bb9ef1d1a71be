package debs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Install installs packages of the machine's own release: as root, or through sudo where it asks for no
// password. Otherwise it fails with the command that an administrator has to run.
func (f Fetcher) Install(packages ...string) error {
	list := strings.Join(packages, " ")
	if err := haveApt(); err != nil {
		return fmt.Errorf("cannot install %s: %w", list, err)
	}
	var prefix []string
	if os.Geteuid() != 0 {
		if exec.Command("sudo", "-n", "true").Run() != nil {
			return fmt.Errorf("missing packages; run:\n\tsudo apt-get update && sudo apt-get install -y %s", list)
		}
		prefix = []string{"sudo", "-n"}
	}
	// Another apt run may be under way on a fresh machine: wait for its lock.
	apt := append(prefix, "apt-get", "-o", "DPkg::Lock::Timeout=300")
	update := append(append([]string(nil), apt...), "update")
	install := append(append([]string(nil), apt...), "install", "--yes", "--no-install-recommends")
	for _, command := range [][]string{update, append(install, packages...)} {
		if err := f.run("", command[0], command[1:]...); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
	}
	return nil
}
