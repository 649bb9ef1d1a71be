package gpu

import "fmt"

// Arena is memory for the temporary tensors of recordings that never run at the same time: each of them may
// use all of it, and it is as large as the largest needs. Finishing or running one recording of an arena
// destroys the temporary tensors of the others.
type Arena struct {
	dev    *Device
	blocks []*block
	gen    int // rises when a block is replaced; recordings then bind again
	users  int
}

// NewArena makes an empty arena for Recorder.UseArena.
func (d *Device) NewArena() *Arena {
	a := &Arena{dev: d, gen: 1}
	d.queueMu.Lock()
	defer d.queueMu.Unlock()
	d.arenas[a] = true
	return a
}

// Bytes returns the size of the arena.
func (a *Arena) Bytes() (n int64) {
	for _, b := range a.blocks {
		if b != nil {
			n += b.size
		}
	}
	return n
}

// Close frees the memory. The recordings must be closed before.
func (a *Arena) Close() error {
	if a.users > 0 {
		return fmt.Errorf("Arena.Close: %d recordings still use it; close them first", a.users)
	}
	a.release()
	return nil
}

func (a *Arena) release() {
	if a.dev.vk == nil {
		return
	}
	a.dev.settle()
	a.dev.queueMu.Lock()
	delete(a.dev.arenas, a)
	a.dev.queueMu.Unlock()
	a.dev.memMu.Lock()
	defer a.dev.memMu.Unlock()
	for _, b := range a.blocks {
		if b != nil {
			a.dev.freeBlock(b)
		}
	}
	a.blocks = nil
	a.gen++
}

// grow makes block i at least sizes[i] bytes large. Old blocks are freed before new ones are made, so that
// growing does not need both.
func (a *Arena) grow(sizes []int64) error {
	need := false
	for i, size := range sizes {
		need = need || i >= len(a.blocks) || a.blocks[i] == nil || a.blocks[i].size < size
	}
	if !need {
		return nil
	}
	if err := a.dev.settle(); err != nil {
		return err
	}
	a.dev.memMu.Lock()
	defer a.dev.memMu.Unlock()
	a.gen++
	for len(a.blocks) < len(sizes) {
		a.blocks = append(a.blocks, nil)
	}
	old, want := make([]int64, len(a.blocks)), make([]int64, len(a.blocks))
	for i, b := range a.blocks {
		if b != nil {
			old[i], want[i] = b.size, b.size
		}
		if i < len(sizes) && sizes[i] > want[i] {
			want[i] = sizes[i]
			a.drop(i)
		}
	}
	err := a.fill(want)
	if err != nil { // go back, so that the other recordings of the arena still run
		for i := range want {
			if want[i] != old[i] {
				a.drop(i)
			}
		}
		if a.fill(old) == nil {
			a.trim()
		}
	}
	return err
}

func (a *Arena) drop(i int) {
	if a.blocks[i] != nil {
		a.dev.freeBlock(a.blocks[i])
		a.blocks[i] = nil
	}
}

// fill allocates the missing blocks.
func (a *Arena) fill(sizes []int64) error {
	for i, size := range sizes {
		if a.blocks[i] == nil && size > 0 {
			b, err := a.dev.newBlock(size, false)
			if err != nil {
				return err
			}
			a.blocks[i] = b
		}
	}
	return nil
}

// trim forgets blocks at the end that never came to be.
func (a *Arena) trim() {
	for n := len(a.blocks); n > 0 && a.blocks[n-1] == nil; n-- {
		a.blocks = a.blocks[:n-1]
	}
}

// current returns the blocks, or an error when a failed growth has left holes.
func (a *Arena) current() ([]*block, error) {
	for _, b := range a.blocks {
		if b == nil {
			return nil, fmt.Errorf("the arena has lost its memory: it could not grow for another recording")
		}
	}
	return a.blocks, nil
}
