package tokenizer

import "math/rand/v2"

// candidate is a possible merge of the symbol at pos with its right neighbour.
type candidate struct {
	rank, id, pos int32
}

func (c candidate) before(o candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.pos < o.pos
}

// mergeLong joins pairs in order of rank, then place, with a priority queue.
// Time: n log n in the number of symbols. With dropout, merges are left out at random.
// Source: Provilkov et al. 2020, https://aclanthology.org/2020.acl-main.170/
func (m *bpe) mergeLong(w *work) {
	s := w.syms
	h := w.heap[:0]
	for i := 0; i+1 < len(s); i++ {
		if r := m.merges.get(s[i].id, s[i+1].id); r.rank != noMerge {
			h = append(h, candidate{r.rank, r.id, int32(i)})
			m.note(w, r, s[i].id, s[i+1].id)
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
	var skipped []candidate
	for len(h) > 0 {
		c := h[0]
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		siftDown(h, 0)
		if m.dropout > 0 {
			if rand.Float64() < m.dropout {
				skipped = append(skipped, c) // until the next merge
				continue
			}
			for _, s := range skipped {
				h = pushCandidate(h, mergeRule{s.rank, s.id}, s.pos)
			}
			skipped = skipped[:0]
		}
		a := c.pos
		b := s[a].next
		// A pair that has changed since it was queued is out of date, unless it still makes the same.
		if s[a].end < 0 || b < 0 || m.merges.get(s[a].id, s[b].id).idOr(-1) != c.id {
			continue
		}
		s[a].id, s[a].end, s[a].next = c.id, s[b].end, s[b].next
		if s[b].next >= 0 {
			s[s[b].next].prev = a
		}
		s[b].end = -1
		if p := s[a].prev; p >= 0 {
			r := m.merges.get(s[p].id, s[a].id)
			h = pushCandidate(h, r, p)
			m.note(w, r, s[p].id, s[a].id)
		}
		if n := s[a].next; n >= 0 {
			r := m.merges.get(s[a].id, s[n].id)
			h = pushCandidate(h, r, a)
			m.note(w, r, s[a].id, s[n].id)
		}
	}
	w.heap = h
}

// note remembers what a token was made of that is to be split again.
func (m *bpe) note(w *work, r mergeRule, left, right int32) {
	if m.unused != nil && r.rank != noMerge && m.unused[r.id] {
		w.rev[r.id] = [2]int32{left, right}
	}
}

func (r mergeRule) idOr(none int32) int32 {
	if r.rank == noMerge {
		return none
	}
	return r.id
}

func pushCandidate(h []candidate, r mergeRule, pos int32) []candidate {
	if r.rank == noMerge {
		return h
	}
	h = append(h, candidate{r.rank, r.id, pos})
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

func siftDown(h []candidate, i int) {
	for {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < len(h) && h[k].before(h[least]) {
				least = k
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
