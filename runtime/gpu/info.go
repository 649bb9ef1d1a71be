package gpu

import "fmt"

// Info describes a device: what it is and what kernels may count on. Features that are true are switched
// on.
type Info struct {
	Index      int    // position in List; Options.Device accepts it
	Name       string // as the driver gives it
	Type       string // "discrete", "integrated", "virtual", "cpu" or "other"
	Driver     string // driver name and version text
	API        string // Vulkan version of the device
	VendorID   uint32
	DeviceID   uint32
	DriverUUID [16]byte
	DeviceUUID [16]byte
	IsCPU      bool

	MemoryBytes           int64 // size of the heap that tensors live in
	MaxAllocation         int64 // largest buffer, and so the largest tensor
	MaxStorageBufferRange int64 // largest range that one binding reaches
	MinOffsetAlign        int64 // bytes that the start of a bound view must be a multiple of
	MaxGroups             [3]int
	MaxInvocations        int // invocations of a workgroup
	MaxGroupSize          [3]int
	SharedBytes           int // workgroup memory
	Units                 int // processors that run workgroups (multiprocessors); 0 = the driver does not say
	MaxBindings           int // storage buffers of one kernel
	TimestampNanos        float64
	HasTimestamps         bool

	SubgroupSize             uint32
	MinSubgroup, MaxSubgroup uint32
	SubgroupControl          bool   // Kernel.SubgroupSize works
	FullSubgroups            bool   // Kernel.FullSubgroups works
	SubgroupOps              uint32 // VkSubgroupFeatureFlags

	Float16, Float64, Int8, Int16, Int64 bool // arithmetic
	HasF16Storage, Storage8              bool // 16-bit and 8-bit buffer loads and stores
	HasBDA                               bool // buffer addresses
	hasBudget                            bool
	MemoryModel                          bool
	IntDot                               bool
	BF16, BF16Coop                       bool // bfloat16 types, and in cooperative matrices

	CoopMat         []Shape // subgroup-scope matrix shapes; empty without VK_KHR_cooperative_matrix
	CoopMat2        bool    // all of VK_NV_cooperative_matrix2
	CoopMat2Shapes  []Shape // workgroup-scope granularities; Invocations is set
	CoopMat2MaxDim  int
	CoopMat2Reserve int // workgroup memory that the driver keeps for itself
}

// String gives one line: name, type, driver, memory and what matters for the choice of kernels.
func (i Info) String() string {
	text := fmt.Sprintf("%s (%s, %s, Vulkan %s, %s, subgroup %d, %d KiB shared", i.Name, i.Type, i.Driver, i.API,
		sizeText(i.MemoryBytes), i.SubgroupSize, i.SharedBytes>>10)
	for _, f := range []struct {
		on   bool
		text string
	}{{len(i.CoopMat) > 0, "cooperative matrices"}, {i.CoopMat2, "cooperative matrices 2"},
		{i.BF16Coop, "bf16 matrices"}, {i.HasBDA, "buffer addresses"}} {
		if f.on {
			text += ", " + f.text
		}
	}
	return text + ")"
}

// Shape is one supported cooperative matrix product C[M,N] = A[M,K] B[K,N] + C. Component types are "f16",
// "bf16", "f32", "s8", "u8", "s32" and so on.
type Shape struct {
	M, N, K        int
	A, B, C, R     string // component types of the operands, the addend and the result
	Saturating     bool
	WorkgroupScope bool
	Invocations    int // workgroup scope: size of the workgroup; else 0
}

// String gives "16x16x16 bf16 bf16 f32 f32".
func (s Shape) String() string {
	text := fmt.Sprintf("%dx%dx%d %s %s %s %s", s.M, s.N, s.K, s.A, s.B, s.C, s.R)
	if s.Invocations > 0 {
		text += fmt.Sprintf(" workgroup %d", s.Invocations)
	}
	return text
}

// HasShape reports whether the device multiplies fragments of this shape and these types at subgroup scope.
func (i *Info) HasShape(m, n, k int, a, c string) bool {
	for _, s := range i.CoopMat {
		if s.M == m && s.N == n && s.K == k && s.A == a && s.B == a && s.C == c && s.R == c && !s.WorkgroupScope {
			return true
		}
	}
	return false
}

var componentNames = map[uint32]string{0: "f16", 1: "f32", 2: "f64", 3: "s8", 4: "s16", 5: "s32", 6: "s64",
	7: "u8", 8: "u16", 9: "u32", 10: "u64", 1000141000: "bf16", 1000491002: "e4m3", 1000491003: "e5m2"}

func componentName(c uint32) string {
	if n, ok := componentNames[c]; ok {
		return n
	}
	return fmt.Sprintf("type%d", c)
}
