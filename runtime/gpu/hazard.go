package gpu

// hazards finds where barriers are needed: an operation whose byte ranges conflict with ranges used since
// the last barrier. Memory spaces are told apart by key: a persistent block or the number of a planned
// block.
type hazards struct {
	spaces map[any]*ranges
	dirty  []*ranges // spaces used since the last barrier
	count  int       // ranges remembered since then
}

// maxRanges bounds the comparisons of an operation: a barrier after so many ranges costs nothing in
// proportion.
const maxRanges = 2048

type ranges struct{ reads, writes []gap }

func newHazards() *hazards { return &hazards{spaces: map[any]*ranges{}} }

// spaceOf returns the memory space of a storage and the storage's offset in it.
func spaceOf(st *storage) (any, int64) {
	if st.kind == planned {
		return st.slot, st.at
	}
	return st.block, st.at
}

// step takes the uses of the next operation and reports whether a barrier must stand before it.
func (h *hazards) step(uses []use) bool {
	conflict := h.count > maxRanges
	for _, u := range uses {
		if !u.reads && !u.writes {
			continue
		}
		key, base := spaceOf(u.st)
		r := h.spaces[key]
		if r == nil {
			continue
		}
		g := gap{base + u.from, base + u.to}
		if hits(r.writes, g) || u.writes && hits(r.reads, g) {
			conflict = true
			break
		}
	}
	if conflict {
		h.clear()
	}
	for _, u := range uses {
		h.add(u)
	}
	return conflict
}

func (h *hazards) add(u use) {
	if !u.reads && !u.writes {
		return
	}
	key, base := spaceOf(u.st)
	r := h.spaces[key]
	if r == nil {
		r = &ranges{}
		h.spaces[key] = r
	}
	if len(r.reads)+len(r.writes) == 0 {
		h.dirty = append(h.dirty, r)
	}
	h.count++
	g := gap{base + u.from, base + u.to}
	if u.writes {
		r.writes = append(r.writes, g)
	} else if n := len(r.reads); n == 0 || r.reads[n-1] != g {
		r.reads = append(r.reads, g)
	}
}

// clear forgets everything: a barrier was placed.
func (h *hazards) clear() {
	for _, r := range h.dirty {
		r.reads, r.writes = r.reads[:0], r.writes[:0]
	}
	h.dirty, h.count = h.dirty[:0], 0
}

func hits(list []gap, g gap) bool {
	for _, x := range list {
		if x.from < g.to && g.from < x.to {
			return true
		}
	}
	return false
}
