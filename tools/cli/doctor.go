package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// finding is one line of the doctor: a thing looked at and how it is.
type finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func doctorCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine can run models, and say what to do when it cannot",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list := a.examine()
			if asJSON {
				if err := writeJSON(c.OutOrStdout(), list); err != nil {
					return err
				}
			} else {
				printFindings(c.OutOrStdout(), list)
			}
			for _, f := range list {
				if !f.OK {
					return errors.New("something is wrong, see above")
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON array")
	return c
}

func printFindings(w io.Writer, list []finding) {
	for _, f := range list {
		word := "ok  "
		if !f.OK {
			word = "FAIL"
		}
		fmt.Fprintf(w, "%s  %s: %s\n", word, f.What, f.Detail)
	}
}

// examine looks at everything; later findings need earlier ones.
func (a *app) examine() []finding {
	list := []finding{{"architectures", len(a.archs) > 0, fmt.Sprintf("%d built in", len(a.archs))},
		cacheFolder()}
	devices, err := gpu.List()
	if err != nil {
		return append(list, finding{"Vulkan", false, err.Error()})
	}
	list = append(list, finding{"Vulkan", len(devices) > 0, fmt.Sprintf("%d devices", len(devices))})
	dev, err := a.open()
	if err != nil {
		return append(list, finding{"device", false, err.Error()})
	}
	defer dev.Close()
	i := dev.Info
	list = append(list,
		finding{"device", true, fmt.Sprintf("%s (%s, Vulkan %s, %s)", i.Name, i.Type, i.API, i.Driver)},
		finding{"memory", i.MemoryBytes >= 1<<28, fmt.Sprintf("%.1f GiB; one binding reaches %.2f GiB",
			float64(i.MemoryBytes)/(1<<30), float64(i.MaxStorageBufferRange)/(1<<30))})
	if i.IsCPU && len(devices) > 1 {
		list = append(list, finding{"speed", true,
			"this is a CPU driver; another device may be faster (vulcast devices)"})
	}
	return append(list, a.testKernel(dev))
}

// testKernel computes a small matrix product on the device and compares it.
func (a *app) testKernel(dev *gpu.Device) finding {
	const n = 32
	x := make([]float32, n*n)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	got, err := matmul(dev, a.kernels, x, n)
	if err != nil {
		return finding{"computation", false, err.Error()}
	}
	for i := range got {
		want := float32(0)
		for k := range n {
			want += x[i/n*n+k] * x[k*n+i%n]
		}
		if got[i] != want { // small whole numbers: every order of summation is exact
			return finding{"computation", false,
				fmt.Sprintf("element %d of a test product is %g, want %g: the driver "+
					"computes wrongly; try another version of it or --device", i, got[i], want)}
		}
	}
	return finding{"computation", true, "a test product is exact"}
}

func matmul(dev *gpu.Device, k *nn.Kernels, x []float32, n int) ([]float32, error) {
	t, err := dev.Alloc(gpu.F32, n, n)
	if err != nil {
		return nil, err
	}
	if err := dev.Write(t, x); err != nil {
		return nil, err
	}
	r := nn.NewRecorder(dev, k, gpu.F32)
	y := r.Matmul(t, t, nn.MatmulOpts{Alpha: 1})
	rec, err := r.Finish()
	if err != nil {
		return nil, err
	}
	if err := rec.Run(); err != nil {
		return nil, err
	}
	got := make([]float32, n*n)
	return got, errors.Join(dev.Read(y, got), rec.Close())
}

// cacheFolder tests the folder that pipelines and tuning results are kept in.
func cacheFolder() finding {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "vulcast")
		err = os.MkdirAll(dir, 0o777)
	}
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, "doctor-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return finding{"cache folder", false,
			err.Error() + " (kernels are then compiled anew at every start)"}
	}
	return finding{"cache folder", true, dir}
}
