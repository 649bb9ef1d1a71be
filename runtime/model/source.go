package model

import (
	"fmt"

	"github.com/vulcast/vulcast/runtime/safetensors"
)

// TensorInfo describes a tensor of a checkpoint.
type TensorInfo struct {
	Name  string
	Type  string // of elements, as the file's format spells it
	Shape []int
}

// TensorSource is a checkpoint's tensors, in whatever format.
type TensorSource interface {
	Names() []string // in the order of the files
	Info(name string) (TensorInfo, bool)
	Raw(name string) ([]byte, error)          // little-endian elements of Type
	Float32(name string, dst []float32) error // any floating-point or quantized type
	Path() string                             // for messages
	Close() error
}

// setSource is a safetensors.Set as a TensorSource.
type setSource struct{ *safetensors.Set }

// Safetensors makes a source of an open set.
func Safetensors(s *safetensors.Set) TensorSource { return setSource{s} }

// Info returns what the file says of a tensor.
func (s setSource) Info(name string) (TensorInfo, bool) {
	i, ok := s.Set.Info(name)
	return TensorInfo{i.Name, string(i.DType), i.Shape}, ok
}

// elements returns the elements of a tensor as bytes of a plain type: as they are in the file when the type
// is one of safetensors' of whole bytes, else as F32.
func elements(s TensorSource, info TensorInfo) (safetensors.DType, []byte, error) {
	if t := safetensors.DType(info.Type); t.Known() && t.Bits()%8 == 0 {
		raw, err := s.Raw(info.Name)
		return t, raw, err
	}
	values := make([]float32, product(info.Shape))
	if err := s.Float32(info.Name, values); err != nil {
		return "", nil, err
	}
	raw := make([]byte, 4*len(values))
	return safetensors.F32, raw, safetensors.Narrow(safetensors.F32, values, raw)
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func sameShape(a, b []int) bool {
	return fmt.Sprint(a) == fmt.Sprint(b)
}
