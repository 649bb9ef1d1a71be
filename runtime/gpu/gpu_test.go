package gpu

import (
	_ "embed"
	"os"
	"strings"
	"testing"
)

//go:embed testdata/axpy.spv
var axpyCode string

//go:embed testdata/inc.spv
var incCode string

//go:embed testdata/types.spv
var typesCode string

//go:embed testdata/subgroup.spv
var subgroupCode string

//go:embed testdata/address.spv
var addressCode string

var (
	axpy     = Kernel{Name: "axpy", Code: axpyCode}
	inc      = Kernel{Name: "inc", Code: incCode}
	types    = Kernel{Name: "types", Code: typesCode}
	subgroup = Kernel{Name: "subgroup", Code: subgroupCode}
)

// open opens the device for a test, or skips where there is no Vulkan at all.
func open(t testing.TB, o Options) *Device {
	t.Helper()
	if o.CacheDir == "" {
		o.NoCache = true
	}
	d, err := Open(o)
	if err != nil {
		if strings.Contains(err.Error(), "install the Debian package") && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError fails unless err contains all parts.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, wanted %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

func TestRun(t *testing.T) {
	d := open(t, Options{})
	const n = 1000
	a, b := must[Tensor](t)(d.Alloc(F32, n)), must[Tensor](t)(d.AllocHost(F32, n))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	ok(t, d.Write(a, x))
	ok(t, d.Write(b, x))
	r := d.NewRecorder()
	y := r.Alloc(F32, n)
	r.DispatchLinear(&axpy, (n+63)/64, []uint32{64}, []uint32{n, 0x40000000}, a, b, y)
	z := r.Alloc(F32, n)
	r.DispatchLinear(&axpy, (n+63)/64, []uint32{64}, []uint32{n, 0x3f800000}, y, y, z)
	rec := must[*Recording](t)(r.Finish())
	for range 3 {
		ok(t, rec.Run())
	}
	ok(t, d.Read(z, x))
	for i := range x {
		if x[i] != float32(6*i) {
			t.Fatalf("z[%d] = %v, wanted %v", i, x[i], 6*i)
		}
	}
	ok(t, rec.Close())
}
