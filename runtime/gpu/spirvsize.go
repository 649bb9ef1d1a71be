package gpu

// sizer computes constants and sizes under a specialization. steps bounds the work, because a broken module
// may refer to itself.
type sizer struct {
	*module
	spec  map[uint32]uint32
	steps int
}

func (m *module) under(spec map[uint32]uint32) *sizer { return &sizer{m, spec, 10_000} }

// value returns a 32-bit constant, or false when it cannot be computed here.
func (m *sizer) value(id uint32) (uint32, bool) {
	c, ok := m.constants[id]
	if m.steps--; !ok || m.steps < 0 {
		return 0, false
	}
	if s, special := m.specID[id]; special {
		if v, given := m.spec[s]; given {
			return v, true
		}
	}
	switch c.op {
	case opConstant, opSpec:
		return c.args[0], len(c.args) == 1
	case opConstantTrue, opSpecTrue:
		return 1, true
	case opConstantFalse, opSpecFalse:
		return 0, true
	case opSpecOp:
		return m.specOp(c.args)
	}
	return 0, false
}

// specOp evaluates the integer operations that array lengths are made of.
func (m *sizer) specOp(args []uint32) (uint32, bool) {
	var x [3]uint32
	if len(args) < 2 || len(args) > 4 {
		return 0, false
	}
	for i, id := range args[1:] {
		v, ok := m.value(id)
		if !ok {
			return 0, false
		}
		x[i] = v
	}
	flag := func(b bool) (uint32, bool) {
		if b {
			return 1, true
		}
		return 0, true
	}
	switch args[0] {
	case 128:
		return x[0] + x[1], true
	case 130:
		return x[0] - x[1], true
	case 132:
		return x[0] * x[1], true
	case 134, 135: // unsigned and signed division; lengths are positive
		return x[0] / max(1, x[1]), x[1] != 0
	case 137, 138, 139:
		return x[0] % max(1, x[1]), x[1] != 0
	case 169:
		if x[0] != 0 {
			return x[1], true
		}
		return x[2], true
	case 194, 195:
		return x[0] >> (x[1] & 31), true
	case 196:
		return x[0] << (x[1] & 31), true
	case 197:
		return x[0] | x[1], true
	case 199:
		return x[0] & x[1], true
	case 170:
		return flag(x[0] == x[1])
	case 171:
		return flag(x[0] != x[1])
	case 172, 173:
		return flag(x[0] > x[1])
	case 174, 175:
		return flag(x[0] >= x[1])
	case 176, 177:
		return flag(x[0] < x[1])
	case 178, 179:
		return flag(x[0] <= x[1])
	}
	return 0, false
}

// size returns the bytes of a type, with offsets and strides where the module gives them, else tightly
// packed.
func (m *sizer) size(id uint32) (int, bool) {
	t := m.types[id]
	if m.steps--; len(t) == 0 || m.steps < 0 {
		return 0, false
	}
	switch t[0] {
	case opTypeBool:
		return 4, true
	case opTypeInt, opTypeFloat:
		return int(t[1]) / 8, true
	case opTypePointer:
		return 8, true
	case opTypeVector, opTypeMatrix:
		n, ok := m.size(t[1])
		return n * int(t[2]), ok
	case opTypeArray:
		n, ok := m.size(t[1])
		if stride := m.strides[id]; stride != 0 {
			n = int(stride)
		}
		count, known := m.value(t[2])
		return n * int(count), ok && known
	case opTypeStruct:
		end := 0
		for i, member := range t[1:] {
			n, ok := m.size(member)
			if !ok {
				return 0, false
			}
			if off, given := m.offsets[id][uint32(i)]; given {
				end = max(end, int(off)+n)
			} else {
				end += n
			}
		}
		return end, true
	}
	return 0, false
}

// sharedBytes returns the workgroup memory of a specialization, as far as it can be computed.
func (s *spirvInfo) sharedBytes(spec map[uint32]uint32) (sum int) {
	m := s.m.under(spec)
	for _, v := range s.m.variables {
		if pointer := s.m.types[v[0]]; v[2] == classWorkgroup && len(pointer) == 3 {
			if n, ok := m.size(pointer[2]); ok {
				sum += n
			}
		}
	}
	return sum
}

// groupSize returns the invocations of a workgroup under a specialization, or false when unknown.
func (s *spirvInfo) groupSize(spec map[uint32]uint32) (size [3]uint32, ok bool) {
	m := s.m.under(spec)
	ids := s.m.localIDs
	if c, composite := s.m.constants[s.m.groupSize]; composite && len(c.args) == 3 {
		ids = c.args
	}
	if len(ids) == 3 {
		for i, id := range ids {
			if size[i], ok = m.value(id); !ok {
				return size, false
			}
		}
		return size, true
	}
	if len(s.m.local) == 3 {
		copy(size[:], s.m.local)
		return size, true
	}
	return size, false
}
