// Command proven turns a verification run into the table of architectures: in README.md, between its two marks, and in
// tools/cli/proven.json, which `vulcast archs` shows.
//
//	bin/vulcast verify --json FIXTURES... | go run ./tools/proven -date 2026-01-31
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/vulcast/vulcast/gen/spec"
	"github.com/vulcast/vulcast/runtime/verify"
)

const begin, end = "<!-- proven: begin -->", "<!-- proven: end -->"

// Proof is what a run says of one architecture.
type Proof struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Aliases  []string `json:"aliases,omitempty"`
	Packages []string `json:"packages,omitempty"`
	Lines    int      `json:"spec_lines"`
	Passed   int      `json:"fixtures_passed"`
	Failed   int      `json:"fixtures_failed,omitempty"`
	Worst    float64  `json:"worst_of_bound"` // largest error as a multiple of its bound
	Date     string   `json:"date"`
}

func main() {
	date := flag.String("date", "", "day of the run, YYYY-MM-DD")
	flag.Parse()
	if err := run(os.Stdin, *date); err != nil {
		fmt.Fprintln(os.Stderr, "proven:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, date string) error {
	if date == "" {
		return errors.New("give -date")
	}
	results, err := read(in)
	if err != nil {
		return err
	}
	proofs, err := prove(results, date)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(proofs, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile("tools/cli/proven.json", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return rewrite("README.md", table(proofs))
}

// read collects the results of a run.
func read(in io.Reader) ([]verify.Result, error) {
	var out []verify.Result
	s := bufio.NewScanner(in)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var r verify.Result
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("result %d: %w", len(out)+1, err)
		}
		out = append(out, r)
	}
	return out, s.Err()
}

// prove groups the results by architecture.
func prove(results []verify.Result, date string) ([]Proof, error) {
	names, err := spec.List(os.DirFS("specs"))
	if err != nil {
		return nil, err
	}
	var proofs []Proof
	owner := map[string]int{} // model type -> proof
	for _, n := range names {
		a, err := spec.Load(os.DirFS("specs"), "specs", n)
		if err != nil {
			return nil, err
		}
		p := Proof{Name: n, Kind: string(a.Kind), Lines: a.Lines, Date: date}
		for _, t := range a.ModelTypes {
			owner[t] = len(proofs)
			if t != n {
				p.Aliases = append(p.Aliases, t)
			}
		}
		for _, k := range a.Packages {
			if _, taken := owner[k.ModelType]; !taken {
				owner[k.ModelType] = len(proofs)
			}
			p.Packages = append(p.Packages, k.ModelType)
		}
		sort.Strings(p.Packages)
		proofs = append(proofs, p)
	}
	for _, r := range results {
		i, ok := owner[r.ModelType]
		if !ok {
			continue
		}
		p := &proofs[i]
		if !r.Pass {
			p.Failed++
			continue
		}
		p.Passed++
		for _, c := range r.Checks {
			if c.Bound > 0 && c.Skipped == "" {
				p.Worst = max(p.Worst, float64(c.Err/c.Bound))
			}
		}
	}
	return proofs, nil
}

func table(proofs []Proof) string {
	var b strings.Builder
	fixtures, proven := 0, 0
	for _, p := range proofs {
		fixtures += p.Passed
		if p.Passed > 0 && p.Failed == 0 {
			proven++
		}
	}
	fmt.Fprintf(&b, "%d of %d architectures are proven, on %d fixtures.\n\n", proven, len(proofs), fixtures)
	b.WriteString("| architecture | kind | also serves | spec lines | fixtures | worst error / bound | date |\n|---|---|---|---|---|---|---|\n")
	for _, p := range proofs {
		also := append(append([]string{}, p.Aliases...), p.Packages...)
		state := fmt.Sprint(p.Passed)
		if p.Failed > 0 {
			state += fmt.Sprintf(", %d fail", p.Failed)
		}
		worst := fmt.Sprintf("%.2f", p.Worst)
		if p.Passed == 0 {
			worst = "not proven"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s | %s |\n", p.Name, p.Kind, strings.Join(also, ", "), p.Lines, state, worst, p.Date)
	}
	return b.String()
}

// rewrite replaces what stands between the marks of a file.
func rewrite(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s: no %s ... %s", path, begin, end)
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+text+end+tail), 0o644)
}
