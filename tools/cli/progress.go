package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/vulcast/vulcast/runtime/train"
)

// meter prints the progress of training: one line that changes on a terminal, else a line now and then.
type meter struct {
	w        io.Writer
	terminal bool
	last     time.Time
}

// quietFor is the time between lines where no terminal shows them.
const quietFor = 10 * time.Second

func newMeter(w io.Writer) *meter {
	f, ok := w.(*os.File)
	return &meter{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// show is train.Options.Progress.
func (m *meter) show(p train.Progress) {
	if p.Eval != nil {
		m.clear()
		fmt.Fprintf(m.w, "step %d: held-out loss %.4f, perplexity %.2f over %d tokens\n", p.Step, p.Eval.Loss,
			p.Eval.Perplexity, p.Eval.Tokens)
		return
	}
	due := quietFor
	if m.terminal {
		due = 100 * time.Millisecond
	}
	if last := p.Steps > 0 && p.Step == p.Steps; !last && p.Step > 1 && time.Since(m.last) < due {
		return
	}
	m.last = time.Now()
	line := progressLine(p)
	if m.terminal {
		fmt.Fprintf(m.w, "\r%s\x1b[K", line)
		return
	}
	fmt.Fprintln(m.w, line)
}

// progressLine is step, loss, learning rate, gradient norm, speed and the time left.
func progressLine(p train.Progress) string {
	of := ""
	if p.Steps > 0 {
		of = fmt.Sprintf("/%d", p.Steps)
	}
	line := fmt.Sprintf("step %d%s  loss %.4f  lr %.2e  norm %.2f", p.Step, of, p.Loss, p.Rate, p.Norm)
	if p.Skipped {
		line = fmt.Sprintf("step %d%s  skipped: f16 overflowed, the loss scale is halved", p.Step, of)
	}
	if p.Speed > 0 {
		line += fmt.Sprintf("  %.0f tokens/s", p.Speed)
	}
	if p.Left > 0 {
		line += "  " + p.Left.Round(time.Second).String() + " left"
	}
	return line
}

// clear ends a line that changes.
func (m *meter) clear() {
	if m.terminal {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}
