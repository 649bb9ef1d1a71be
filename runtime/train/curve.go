package train

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Reference is a horizontal line in a loss curve: a baseline.
type Reference struct {
	Name string
	Loss float64
}

// Curve draws the losses of metrics as a PNG file: every step, their running mean, evaluations, and
// references.
func Curve(path, title string, list []Metric, refs ...Reference) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "step", "loss (nats a token)"
	p.Add(plotter.NewGrid())
	p.Legend.Top = true
	var steps, mean, evals plotter.XYs
	run := 0.0
	for _, m := range list {
		x := float64(m.Step)
		if m.Eval != nil {
			evals = append(evals, plotter.XY{X: x, Y: m.Eval.Loss})
		}
		if m.Loss == nil {
			continue
		}
		weight := max(0.1, 1/float64(len(steps)+1))
		run += (*m.Loss - run) * weight
		steps = append(steps, plotter.XY{X: x, Y: *m.Loss})
		mean = append(mean, plotter.XY{X: x, Y: run})
	}
	if len(steps) == 0 {
		return nil
	}
	blue, pale, red := color.RGBA{31, 87, 164, 255}, color.RGBA{170, 195, 232, 255}, color.RGBA{196, 59, 47, 255}
	errs := []error{addLine(p, "", steps, pale, 0.6), addLine(p, "training", mean, blue, 1.5)}
	if len(evals) > 0 {
		dots, err := plotter.NewScatter(evals)
		if err != nil {
			return err
		}
		dots.Color, dots.Radius = red, vg.Points(2.5)
		p.Add(dots)
		p.Legend.Add("held out", dots)
		errs = append(errs, addLine(p, "", evals, red, 0.8))
	}
	for i, r := range refs {
		gray := color.Gray{uint8(60 + 50*(i%3))}
		ends := plotter.XYs{{X: steps[0].X, Y: r.Loss}, {X: steps[len(steps)-1].X, Y: r.Loss}}
		errs = append(errs, addLine(p, fmt.Sprintf("%s (%.2f)", r.Name, r.Loss), ends, gray, 1))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w, err := p.WriterTo(8*vg.Inch, 5*vg.Inch, "png")
	if err != nil {
		return err
	}
	var png bytes.Buffer
	if _, err := w.WriteTo(&png); err != nil {
		return err
	}
	return replaceFile(path, png.Bytes())
}

func addLine(p *plot.Plot, name string, xy plotter.XYs, c color.Color, width float64) error {
	l, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	l.Color, l.Width = c, vg.Points(width)
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

// replaceFile writes a file under another name and renames it.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// curve draws the run's own.
func (t *Trainer) curve() error {
	list, err := ReadMetrics(t.path("metrics.jsonl"))
	if err != nil {
		return err
	}
	return Curve(t.path("loss.png"), "loss", list)
}
