package data

import (
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Masked is a set for masked language models: some tokens of every row are to be predicted. Of those, 80 % become the mask
// token, 10 % a random one, and 10 % stay as they are. The choice depends on seed, epoch and row, so that each epoch has
// its own and a resumed run repeats it.
//
// Source: Devlin et al. 2019, BERT, section 3.1.
type Masked struct {
	Set
	Mask    int32               // the mask token
	Vocab   int                 // random tokens are below it
	Part    float64             // of the tokens to predict: 0.15
	Seed    uint64              // of the choice
	Special func(id int32) bool // tokens that are never chosen; nil = none
}

// Fill implements Set.
func (m *Masked) Fill(p Place, row Row) error {
	if err := m.Set.Fill(p, row); err != nil {
		return err
	}
	for i, id := range row.Tokens {
		row.Labels[i] = nn.Ignored
		if row.Seg[i] == 0 || m.Special != nil && m.Special(id) {
			continue
		}
		w := model.Philox(key(m.Seed), [4]uint32{uint32(i), uint32(p.Index), uint32(p.Epoch), purposeMask})
		if float64(w[0])*0x1p-32 >= m.Part {
			continue
		}
		row.Labels[i] = id
		switch u := float64(w[1]) * 0x1p-32; {
		case u < 0.8:
			row.Tokens[i] = m.Mask
		case u < 0.9:
			row.Tokens[i] = int32(uint64(w[2]) * uint64(m.Vocab) >> 32)
		}
	}
	return nil
}
