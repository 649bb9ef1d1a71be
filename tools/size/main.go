// Command size prints how many lines each package has, and fails where a file or a function is over its budget.
//
// The budgets keep every part small enough to be read in one sitting:
//
//	Go file            500 lines, generated ones excepted
//	Go function         70 lines, tests excepted, whose tables are long
//	spec               150 lines, unless a comment at its head says "Long because" and why
//	kernel template    300 lines
//	README             250 lines, without the table that tools/proven writes
//
// Long lines (over 110 columns, a tab counting 4) are counted, not refused.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

func main() {
	root := flag.String("root", ".", "folder to measure")
	quiet := flag.Bool("quiet", false, "print only what is over budget")
	flag.Parse()
	over, err := run(os.Stdout, *root, *quiet)
	if err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
	if over > 0 {
		os.Exit(1)
	}
}

// run writes the table and the complaints, and returns the number of complaints.
func run(w io.Writer, root string, quiet bool) (int, error) {
	files, err := measureTree(root)
	if err != nil {
		return 0, err
	}
	if !quiet {
		if err := writeTable(w, files); err != nil {
			return 0, err
		}
	}
	complaints := judge(files)
	for _, c := range complaints {
		fmt.Fprintln(w, c)
	}
	fmt.Fprintf(w, "%d files, %d over budget\n", len(files), len(complaints))
	return len(complaints), nil
}

// writeTable writes one line a folder, sorted, and the sums.
func writeTable(w io.Writer, files []file) error {
	sums := map[string]*sum{}
	total := sum{}
	for _, f := range files {
		if sums[f.Dir()] == nil {
			sums[f.Dir()] = &sum{}
		}
		sums[f.Dir()].add(f)
		total.add(f)
	}
	var dirs []string
	for dir := range sums {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "code\ttests\tgenerated\tother\tlong lines\t folder")
	for _, dir := range dirs {
		fmt.Fprintln(t, sums[dir].row(dir))
	}
	fmt.Fprintln(t, total.row("all"))
	return t.Flush()
}

// A sum counts lines by kind.
type sum struct {
	code, tests, generated, other, long int
}

func (s *sum) add(f file) {
	s.long += f.long
	switch {
	case f.generated:
		s.generated += f.lines
	case f.kind == goTest:
		s.tests += f.lines
	case f.kind == goCode:
		s.code += f.lines
	default:
		s.other += f.lines
	}
}

func (s *sum) row(name string) string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t %s", s.code, s.tests, s.generated, s.other, s.long, name)
}
