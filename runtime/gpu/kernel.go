package gpu

import (
	"fmt"
	"sync"
)

// Kernel is a compute shader: a name for messages and profiles, and its SPIR-V module with entry point
// "main". What the runtime needs to know of it (bindings, what is read and written, specialization ids) is
// parsed from the module once. Kernels are compared by address and code; declare them once and pass
// pointers.
type Kernel struct {
	Name string
	Code string // SPIR-V bytes

	// FullSubgroups asks for workgroups made of full subgroups only; SubgroupSize, when not 0, for exactly
	// that size. A device that cannot promise either gives an error when the kernel is dispatched.
	FullSubgroups bool
	SubgroupSize  uint32

	// Addresses: the kernel takes no bindings but buffer addresses. The 64-bit addresses of Dispatch's bufs
	// stand first in its push constants, before the push argument; 0 stands for the zero Tensor. The module
	// does not say what is written then: bit b of Writes set = buffer b is written (and may be read), else
	// it is only read. Views need no alignment and no range limit holds. Needs Info.HasBDA.
	Addresses bool
	Writes    uint16
}

// program is a kernel known to a device: its parsed metadata and, once compiled, its module and pipelines.
type program struct {
	kernel *Kernel // a copy
	key    programKey
	meta   *spirvInfo

	mu        sync.Mutex
	module    uint64
	pipelines map[string]*pipeline
}

// programKey is what makes two kernels the same program.
type programKey struct {
	code      string
	full      bool
	subgroup  uint32
	addresses bool
	writes    uint16
}

// pipeline is one specialization of a program; handle is 0 until Finish compiles it.
type pipeline struct {
	prog   *program
	ids    []uint32
	values []uint32
	binds  int // number of bindings of the layout
	once   sync.Once
	handle uint64
	err    error
}

// program returns what the device knows of k, parsing it on first use.
func (d *Device) program(k *Kernel) (*program, error) {
	d.progMu.Lock()
	defer d.progMu.Unlock()
	key := programKey{k.Code, k.FullSubgroups, k.SubgroupSize, k.Addresses, k.Writes}
	if p := d.programs[k]; p != nil && p.key == key {
		return p, nil
	}
	if p := d.byCode[key]; p != nil {
		d.programs[k] = p
		return p, nil
	}
	meta, err := parseSPIRV(k.Code)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	if err := d.supports(k, meta); err != nil {
		return nil, err
	}
	own := *k
	p := &program{kernel: &own, key: key, meta: meta, pipelines: map[string]*pipeline{}}
	d.programs[k], d.byCode[key] = p, p
	return p, nil
}

// supports checks a kernel's demands against the device.
func (d *Device) supports(k *Kernel, m *spirvInfo) error {
	for _, c := range m.capabilities {
		if need, known := capabilityNeeds[c]; known && !need.has(&d.Info) {
			return fmt.Errorf("kernel %s needs %s, which the device %s does not have", k.Name, need.what, d.Info.Name)
		}
	}
	if m.pushBytes > maxPush {
		return fmt.Errorf("kernel %s takes %d bytes of push constants; at most %d are allowed", k.Name,
			m.pushBytes, maxPush)
	}
	if k.Addresses && (!d.Info.HasBDA || len(m.bindings) > 0) {
		return fmt.Errorf("kernel %s wants buffer addresses: the module has %d bindings (0 wanted), the device %s "+
			"has buffer addresses: %v", k.Name, len(m.bindings), d.Info.Name, d.Info.HasBDA)
	}
	if k.FullSubgroups && !d.Info.FullSubgroups {
		return fmt.Errorf("kernel %s needs full subgroups, which the device %s cannot promise", k.Name, d.Info.Name)
	}
	if s := k.SubgroupSize; s != 0 && (!d.Info.SubgroupControl || s < d.Info.MinSubgroup ||
		s > d.Info.MaxSubgroup) {
		return fmt.Errorf("kernel %s needs subgroups of %d; the device %s has %d to %d and control=%v", k.Name, s,
			d.Info.Name, d.Info.MinSubgroup, d.Info.MaxSubgroup, d.Info.SubgroupControl)
	}
	return nil
}

const (
	maxPush     = 128 // bytes of push constants that every Vulkan device has
	maxBindings = 16
	typeSpec    = 100 // specialization id 100+b = DType of binding b
)

// capabilityNeeds maps SPIR-V capability numbers to what a device must have. Capabilities that are not
// listed are part of every Vulkan 1.2 device, or the driver judges them.
var capabilityNeeds = map[uint32]struct {
	what string
	has  func(*Info) bool
}{
	9:    {"16-bit floats", func(i *Info) bool { return i.Float16 }},
	10:   {"64-bit floats", func(i *Info) bool { return i.Float64 }},
	11:   {"64-bit integers", func(i *Info) bool { return i.Int64 }},
	22:   {"16-bit integers", func(i *Info) bool { return i.Int16 }},
	39:   {"8-bit integers", func(i *Info) bool { return i.Int8 }},
	63:   {"subgroup arithmetic", func(i *Info) bool { return i.SubgroupOps&4 != 0 }},
	64:   {"subgroup ballots", func(i *Info) bool { return i.SubgroupOps&8 != 0 }},
	65:   {"subgroup shuffles", func(i *Info) bool { return i.SubgroupOps&16 != 0 }},
	66:   {"relative subgroup shuffles", func(i *Info) bool { return i.SubgroupOps&32 != 0 }},
	67:   {"clustered subgroup operations", func(i *Info) bool { return i.SubgroupOps&64 != 0 }},
	68:   {"quad operations", func(i *Info) bool { return i.SubgroupOps&128 != 0 }},
	4433: {"16-bit storage", func(i *Info) bool { return i.HasF16Storage }},
	4434: {"16-bit uniform storage", func(i *Info) bool { return i.HasF16Storage }},
	4448: {"8-bit storage", func(i *Info) bool { return i.Storage8 }},
	5116: {"bfloat16", func(i *Info) bool { return i.BF16 }},
	5117: {"bfloat16 dot products", func(i *Info) bool { return i.BF16 }},
	5118: {"bfloat16 cooperative matrices", func(i *Info) bool { return i.BF16Coop }},
	5345: {"the Vulkan memory model", func(i *Info) bool { return i.MemoryModel }},
	5346: {"the Vulkan memory model at device scope", func(i *Info) bool { return i.MemoryModel }},
	5347: {"buffer addresses", func(i *Info) bool { return i.HasBDA }},
	6016: {"integer dot products", func(i *Info) bool { return i.IntDot }},
	6017: {"integer dot products", func(i *Info) bool { return i.IntDot }},
	6018: {"integer dot products", func(i *Info) bool { return i.IntDot }},
	6019: {"integer dot products", func(i *Info) bool { return i.IntDot }},
	6022: {"cooperative matrices", func(i *Info) bool { return len(i.CoopMat) > 0 }},
	5430: {"cooperative matrix reductions", func(i *Info) bool { return i.CoopMat2 }},
	5431: {"cooperative matrix conversions", func(i *Info) bool { return i.CoopMat2 }},
	5432: {"cooperative matrix per-element operations", func(i *Info) bool { return i.CoopMat2 }},
	5433: {"cooperative matrix tensor addressing", func(i *Info) bool { return i.CoopMat2 }},
	5434: {"cooperative matrix block loads", func(i *Info) bool { return i.CoopMat2 }},
	5439: {"tensor addressing", func(i *Info) bool { return i.CoopMat2 }},
}
