package model

import (
	"testing"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// BenchmarkToStorage measures what loading does to a matrix, in bytes of the checkpoint.
func BenchmarkToStorage(b *testing.B) {
	raw := make([]byte, 8<<20)
	for _, bb := range []struct {
		name string
		from safetensors.DType
		to   gpu.DType
	}{{"bf16-f32", safetensors.BF16, gpu.F32}, {"f16-f32", safetensors.F16, gpu.F32}, {"f32-bf16",
		safetensors.F32, gpu.BF16}} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := toStorage(raw, bb.from, bb.to); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTranspose measures a matrix stored as [in, out].
func BenchmarkTranspose(b *testing.B) {
	const n = 2048
	disk := make([]byte, n*n*2)
	ps, err := pieces(&nn.Param{Name: "p", Shape: []int{n, n}, Disk: nn.Disk{Transposed: true}}, same)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(disk)))
	for b.Loop() {
		ps[0].take(disk, 0, 2)
	}
}

// BenchmarkNormals measures random initialization, in bytes of float32.
func BenchmarkNormals(b *testing.B) {
	dst := make([]float32, 1<<20)
	b.SetBytes(int64(4 * len(dst)))
	for b.Loop() {
		newStream(1, "p").normals(0, dst)
	}
}
