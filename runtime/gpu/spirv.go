package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// spirvInfo is what the runtime reads from a compute module.
type spirvInfo struct {
	entry        string
	capabilities []uint32
	bindings     []binding // sorted by number
	specIDs      []uint32  // sorted
	pushBytes    int

	m *module // kept for sizes that depend on specialization constants
}

// binding is a storage buffer of set 0.
type binding struct {
	number        int
	name          string // "" when the module was stripped
	reads, writes bool
}

// module is the part of a SPIR-V module that sizes are computed from.
type module struct {
	types     map[uint32][]uint32 // result id -> opcode, operands
	constants map[uint32]constant
	specID    map[uint32]uint32 // result id -> SpecId
	names     map[uint32]string
	nonRead   map[uint32]bool
	nonWrite  map[uint32]bool
	memRead   map[uint32]map[uint32]bool // struct -> NonReadable members
	memWrite  map[uint32]map[uint32]bool
	offsets   map[uint32]map[uint32]uint32
	strides   map[uint32]uint32
	binding   map[uint32]uint32
	set       map[uint32]uint32
	variables [][3]uint32 // pointer type, id, storage class
	groupSize uint32      // composite decorated WorkgroupSize
	localIDs  []uint32    // LocalSizeId
	local     []uint32    // LocalSize
}

// constant is a constant or specialization constant: op 43 and 50 carry a value, 51 and 52 operands.
type constant struct {
	op   uint32
	args []uint32
}

// SPIR-V numbers. Source: Khronos SPIR-V specification, section 3.
const (
	opName, opEntryPoint, opExecutionMode, opCapability = 5, 15, 16, 17
	opTypeBool, opTypeInt, opTypeFloat, opTypeVector    = 20, 21, 22, 23
	opTypeMatrix, opTypeArray, opTypeRuntimeArray       = 24, 28, 29
	opTypeStruct, opTypePointer                         = 30, 32
	opConstant, opConstantComposite                     = 43, 44
	opConstantTrue, opConstantFalse                     = 41, 42
	opSpecTrue, opSpecFalse, opSpec, opSpecComposite    = 48, 49, 50, 51
	opSpecOp, opVariable, opDecorate, opMemberDecorate  = 52, 59, 71, 72
	opFunction, opExecutionModeID                       = 54, 331
	decSpecID, decArrayStride, decBuiltIn               = 1, 6, 11
	decNonWritable, decNonReadable                      = 24, 25
	decBinding, decSet, decOffset                       = 33, 34, 35
	classUniform, classWorkgroup, classPush, classStore = 2, 4, 9, 12
	spirvMagic                                          = 0x07230203
)

// parseSPIRV reads the metadata of a compute module.
func parseSPIRV(code string) (*spirvInfo, error) {
	if len(code) < 20 || len(code)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no SPIR-V module", len(code))
	}
	words := make([]uint32, len(code)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32([]byte(code[4*i : 4*i+4]))
	}
	if words[0] != spirvMagic {
		return nil, fmt.Errorf("no SPIR-V module: first word %#x, wanted %#x", words[0], spirvMagic)
	}
	info := &spirvInfo{m: newModule()}
	for at := 5; at < len(words); {
		n, op := int(words[at]>>16), words[at]&0xffff
		if n == 0 || at+n > len(words) {
			return nil, fmt.Errorf("broken SPIR-V at word %d: instruction of %d words, %d are left", at, n,
				len(words)-at)
		}
		if op == opFunction {
			break // everything that is wanted stands before the first function
		}
		if err := info.instruction(op, words[at+1:at+n]); err != nil {
			return nil, fmt.Errorf("SPIR-V at word %d: %w", at, err)
		}
		at += n
	}
	if info.entry == "" {
		return nil, errors.New("the SPIR-V module has no compute entry point")
	}
	return info, info.resolve()
}

func newModule() *module {
	return &module{types: map[uint32][]uint32{}, constants: map[uint32]constant{}, specID: map[uint32]uint32{},
		names: map[uint32]string{}, nonRead: map[uint32]bool{}, nonWrite: map[uint32]bool{},
		memRead: map[uint32]map[uint32]bool{}, memWrite: map[uint32]map[uint32]bool{},
		offsets: map[uint32]map[uint32]uint32{}, strides: map[uint32]uint32{}, binding: map[uint32]uint32{},
		set: map[uint32]uint32{}}
}

// minOperands guards the fixed operands that instruction reads.
var minOperands = map[uint32]int{
	opName: 2, opEntryPoint: 3, opExecutionMode: 2, opExecutionModeID: 2, opCapability: 1,
	opTypeBool: 1, opTypeInt: 3, opTypeFloat: 2, opTypeVector: 3, opTypeMatrix: 3, opTypeArray: 3,
	opTypeRuntimeArray: 2, opTypeStruct: 1, opTypePointer: 3,
	opConstant: 3, opConstantComposite: 2, opConstantTrue: 2, opConstantFalse: 2,
	opSpecTrue: 2, opSpecFalse: 2, opSpec: 3, opSpecComposite: 2, opSpecOp: 3,
	opVariable: 3, opDecorate: 2, opMemberDecorate: 3,
}

func (s *spirvInfo) instruction(op uint32, w []uint32) error {
	if len(w) < minOperands[op] {
		return fmt.Errorf("opcode %d with %d operands, at least %d wanted", op, len(w), minOperands[op])
	}
	m := s.m
	switch op {
	case opCapability:
		s.capabilities = append(s.capabilities, w[0])
	case opEntryPoint:
		if w[0] == 5 && s.entry == "" { // GLCompute
			s.entry = literal(w[2:])
		}
	case opName:
		m.names[w[0]] = literal(w[1:])
	case opExecutionMode, opExecutionModeID:
		switch {
		case w[1] == 17 && len(w) == 5:
			m.local = w[2:5]
		case w[1] == 38 && len(w) == 5:
			m.localIDs = w[2:5]
		}
	case opDecorate:
		m.decorate(w[0], w[1], w[2:])
	case opMemberDecorate:
		m.decorateMember(w[0], w[1], w[2], w[3:])
	case opTypeBool, opTypeInt, opTypeFloat, opTypeVector, opTypeMatrix, opTypeArray, opTypeRuntimeArray,
		opTypeStruct, opTypePointer:
		m.types[w[0]] = append([]uint32{op}, w[1:]...)
	case opConstant, opConstantComposite, opConstantTrue, opConstantFalse, opSpecTrue, opSpecFalse, opSpec,
		opSpecComposite, opSpecOp:
		m.constants[w[1]] = constant{op, w[2:]}
	case opVariable:
		m.variables = append(m.variables, [3]uint32{w[0], w[1], w[2]})
	}
	return nil
}

func (m *module) decorate(id, dec uint32, args []uint32) {
	switch dec {
	case decNonWritable:
		m.nonWrite[id] = true
	case decNonReadable:
		m.nonRead[id] = true
	}
	if len(args) == 0 {
		return
	}
	switch dec {
	case decSpecID:
		m.specID[id] = args[0]
	case decBuiltIn:
		if args[0] == 25 {
			m.groupSize = id
		}
	case decBinding:
		m.binding[id] = args[0]
	case decSet:
		m.set[id] = args[0]
	case decArrayStride:
		m.strides[id] = args[0]
	}
}

func (m *module) decorateMember(id, member, dec uint32, args []uint32) {
	switch {
	case dec == decNonWritable:
		put(m.memWrite, id, member, true)
	case dec == decNonReadable:
		put(m.memRead, id, member, true)
	case dec == decOffset && len(args) > 0:
		put(m.offsets, id, member, args[0])
	}
}

func put[T any](m map[uint32]map[uint32]T, id, member uint32, v T) {
	if m[id] == nil {
		m[id] = map[uint32]T{}
	}
	m[id][member] = v
}

// literal decodes a NUL-terminated string operand.
func literal(w []uint32) string {
	var b []byte
	for _, x := range w {
		for range 4 {
			if byte(x) == 0 {
				return string(b)
			}
			b = append(b, byte(x))
			x >>= 8
		}
	}
	return string(b)
}

// resolve turns the decorated variables into bindings, push-constant size and specialization ids.
func (s *spirvInfo) resolve() error {
	m := s.m
	for _, id := range m.specID {
		s.specIDs = append(s.specIDs, id)
	}
	slices.Sort(s.specIDs)
	s.specIDs = slices.Compact(s.specIDs) // one id may decorate a constant and the workgroup size
	byNumber, sizes := map[int]*binding{}, m.under(nil)
	for _, v := range m.variables {
		pointer := m.types[v[0]]
		if len(pointer) != 3 || pointer[0] != opTypePointer {
			continue
		}
		target := pointer[2]
		switch v[2] {
		case classPush:
			size, _ := sizes.size(target)
			s.pushBytes = max(s.pushBytes, size)
		case classUniform:
			return fmt.Errorf("binding %d is a uniform or old-style buffer; use buffer blocks and compile for "+
				"Vulkan 1.2",
				m.binding[v[1]])
		case classStore:
			if err := m.buffer(v[1], target, byNumber); err != nil {
				return err
			}
		}
	}
	for _, b := range byNumber {
		s.bindings = append(s.bindings, *b)
	}
	sort.Slice(s.bindings, func(i, j int) bool { return s.bindings[i].number < s.bindings[j].number })
	return nil
}

// buffer adds the storage buffer variable id to the bindings; two blocks at one binding are joined.
func (m *module) buffer(id, target uint32, out map[int]*binding) error {
	number, ok := m.binding[id]
	if !ok || m.set[id] != 0 || number >= maxBindings {
		return fmt.Errorf("buffer %q at set %d, binding %d: only set 0, bindings 0 to %d are supported",
			m.names[id], m.set[id], number, maxBindings-1)
	}
	t := m.types[target]
	if len(t) == 0 || t[0] != opTypeStruct {
		return fmt.Errorf("binding %d is no buffer block; images, samplers and buffer arrays are not supported",
			number)
	}
	members := len(t) - 1
	b := out[int(number)]
	if b == nil {
		b = &binding{number: int(number)}
		out[int(number)] = b
	}
	if b.name == "" {
		b.name = m.names[target]
	}
	b.reads = b.reads || !m.nonRead[id] && len(m.memRead[target]) < members
	b.writes = b.writes || !m.nonWrite[id] && len(m.memWrite[target]) < members
	return nil
}
