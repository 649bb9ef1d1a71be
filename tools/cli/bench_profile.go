package cli

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// kernelLine is one kernel of a profile.
type kernelLine struct {
	Kernel  string  `json:"kernel"`
	Groups  int     `json:"groups"`
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
	GBs     float64 `json:"gb_per_second"`
	TFLOPs  float64 `json:"tflops"`
}

// printProfile prints the kernels of a run, those that take the most time first. Barriers and timestamps round each make
// the sum longer than a run.
func printProfile(w io.Writer, m *measured, asJSON bool) error {
	total := time.Duration(0)
	for _, k := range m.profile {
		total += k.Time
	}
	if len(m.profile) > 0 && !asJSON {
		fmt.Fprintf(w, "  kernels one by one: %.3f ms\n  %6s %9s %6s %8s %8s  kernel (workgroups)\n", total.Seconds()*1e3, "share",
			"ms", "count", "GB/s", "TFLOP/s")
	}
	for i, k := range m.profile {
		s := k.Time.Seconds()
		l := kernelLine{Kernel: k.Name, Groups: k.Groups, Count: k.Count, Seconds: s, Share: s / total.Seconds(),
			GBs: float64(k.Bytes) / s / 1e9, TFLOPs: float64(k.Flops) / s / 1e12}
		var err error
		if asJSON {
			err = writeLine(w, l)
		} else if i < 40 {
			_, err = fmt.Fprintf(w, "  %5.1f%% %9.3f %6d %8.0f %8.1f  %s (%d)\n", 100*l.Share, s*1e3, k.Count, l.GBs, l.TFLOPs,
				k.Name, k.Groups)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// roofs measures copies, matrix products and the wait for a dispatch.
func (a *app) roofs(c *cobra.Command) error {
	dev, err := a.open()
	if err != nil {
		return err
	}
	defer dev.Close()
	side, bytes := 8192, 1<<30
	if dev.Info.IsCPU {
		side, bytes = 512, 64<<20
	}
	out := c.OutOrStdout()
	fmt.Fprintln(out, dev.Info.String())
	best := func(record func(r *nn.Recorder)) (float64, error) {
		r := nn.NewRecorder(dev, a.kernels, gpu.F32)
		record(r)
		rec, err := r.Finish()
		if err != nil {
			return 0, err
		}
		defer rec.Close()
		least := math.Inf(1)
		for range 5 {
			d, err := rec.Time()
			if err != nil {
				return 0, err
			}
			least = min(least, d.Seconds())
		}
		return least, nil
	}
	s, err := best(func(r *nn.Recorder) {
		from, to := r.Alloc(gpu.U8, bytes), r.Alloc(gpu.U8, bytes)
		r.Fill(from, 0x3c5a17e9)
		for range 10 {
			r.Copy(to, from)
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "copy: %.0f GB/s read and written (with one fill among ten copies)\n", 20.5*float64(bytes)/s/1e9)
	if s, err = best(func(r *nn.Recorder) {
		x := r.Alloc(gpu.F32, 64)
		for range 1000 {
			r.Fill(x, 0)
		}
	}); err != nil {
		return err
	}
	fmt.Fprintf(out, "an operation that waits for the one before: %.2f us\n", s*1e3)
	return productRoofs(out, best, side)
}

// productRoofs measures products of square matrices in the three layouts and types.
func productRoofs(out io.Writer, best func(func(*nn.Recorder)) (float64, error), side int) error {
	for _, t := range []gpu.DType{gpu.F32, gpu.BF16, gpu.F16} {
		for _, layout := range []struct {
			name   string
			ta, tb bool
		}{{"NT", false, true}, {"NN", false, false}, {"TN", true, false}} {
			const times = 4
			s, err := best(func(r *nn.Recorder) {
				x, y := roofOperand(r, t, side, 1), roofOperand(r, t, side, 2)
				for range times {
					r.Free(r.Matmul(x, y, nn.MatmulOpts{TransA: layout.ta, TransB: layout.tb, F32: true}))
				}
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "product %d x %d x %d, %v, %s: %.1f TFLOP/s\n", side, side, side, t, layout.name,
				2*times*math.Pow(float64(side), 3)/s/1e12)
		}
	}
	return nil
}

// roofOperand is a persistent matrix of pseudo-random numbers around 1: equal operands draw less power and run faster.
func roofOperand(r *nn.Recorder, t gpu.DType, side int, seed uint32) gpu.Tensor {
	x, err := r.Dev.Alloc(t, side, side)
	if err != nil {
		r.Fail(err)
		return gpu.Tensor{}
	}
	words := make([]uint32, x.Bytes()/4)
	for i := range words {
		seed = seed*1664525 + 1013904223
		switch t {
		case gpu.F32:
			words[i] = 0x3f000000 | seed>>9 | seed&1<<31
		case gpu.BF16:
			words[i] = 0x3f003f00 | seed>>8&0x00ff00ff | seed&0x80008000
		default:
			words[i] = 0x38003800 | seed>>8&0x03ff03ff | seed&0x80008000
		}
	}
	var data any = words
	if t != gpu.F32 {
		half := make([]uint16, 2*len(words))
		for i, w := range words {
			half[2*i], half[2*i+1] = uint16(w), uint16(w>>16)
		}
		data = half
	}
	if err := r.Dev.Write(x, data); err != nil {
		r.Fail(err)
	}
	return x
}
