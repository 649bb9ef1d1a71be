package gpu

import "sort"

// maxBlock is the largest block that holds more than one tensor. Some drivers fail well below their
// advertised allocation limits, so larger tensors get a block of their own.
const maxBlock = int64(1) << 30

// gap is a free byte range of a planned block.
type gap struct{ from, to int64 }

// space hands out byte ranges of one block: best fit over the gaps that need no growth, else the smallest
// growth.
type space struct {
	limit int64 // capacity
	high  int64 // end of the highest range ever handed out
	used  int64
	gaps  []gap // sorted, never adjacent; the last one may reach limit
}

func newSpace(limit int64) *space { return &space{limit: limit, gaps: []gap{{0, limit}}} }

// find returns the best gap for size bytes, and by how much the block grows when it is used; gap -1 when
// none fits.
func (s *space) find(size int64) (best int, waste, growth int64) {
	best = -1
	for i, g := range s.gaps {
		if g.to-g.from < size {
			continue
		}
		grow, rest := max(0, g.from+size-s.high), g.to-g.from-size
		if best < 0 || grow < growth || grow == growth && rest < waste {
			best, waste, growth = i, rest, grow
		}
	}
	return best, waste, growth
}

// take removes size bytes from gap i and returns their offset.
func (s *space) take(i int, size int64) int64 {
	at := s.gaps[i].from
	s.gaps[i].from += size
	if s.gaps[i].from == s.gaps[i].to {
		s.gaps = append(s.gaps[:i], s.gaps[i+1:]...)
	}
	s.high = max(s.high, at+size)
	s.used += size
	return at
}

// give returns a range to the gaps and joins it with its neighbours.
func (s *space) give(at, size int64) {
	s.used -= size
	i := sort.Search(len(s.gaps), func(i int) bool { return s.gaps[i].from >= at })
	g := gap{at, at + size}
	if i < len(s.gaps) && s.gaps[i].from == g.to {
		g.to = s.gaps[i].to
		s.gaps = append(s.gaps[:i], s.gaps[i+1:]...)
	}
	if i > 0 && s.gaps[i-1].to == g.from {
		s.gaps[i-1].to = g.to
		return
	}
	s.gaps = append(s.gaps, gap{})
	copy(s.gaps[i+1:], s.gaps[i:])
	s.gaps[i] = g
}

// plan is a set of blocks that exist only as numbers until a recording is finished. limit is the size of
// blocks that hold more than one tensor; 0 = maxBlock.
type plan struct {
	blocks []*space
	limit  int64
}

// take finds room for size bytes (a multiple of allocAlign).
func (p *plan) take(size int64) (block int, at int64) {
	block, gapAt := -1, 0
	var waste, growth int64
	for b, s := range p.blocks {
		i, w, g := s.find(size)
		if i >= 0 && (block < 0 || g < growth || g == growth && w < waste) {
			block, gapAt, waste, growth = b, i, w, g
		}
	}
	if block < 0 {
		limit := p.limit
		if limit == 0 {
			limit = maxBlock
		}
		p.blocks = append(p.blocks, newSpace(max(limit, size)))
		block, gapAt = len(p.blocks)-1, 0
	}
	return block, p.blocks[block].take(gapAt, size)
}

func (p *plan) give(block int, at, size int64) { p.blocks[block].give(at, size) }

// sizes returns the bytes that each block needs.
func (p *plan) sizes() []int64 {
	sizes := make([]int64, len(p.blocks))
	for i, s := range p.blocks {
		sizes[i] = s.high
	}
	return sizes
}

func (p *plan) bytes() (n int64) {
	for _, s := range p.blocks {
		n += s.high
	}
	return n
}
