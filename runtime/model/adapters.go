package model

import "github.com/vulcast/vulcast/runtime/nn"

// AllParams are the parameters of m and of the adapters of its linear layers. Adapters are no part of the checkpoint: Save
// leaves them out.
func AllParams(m Model) []*nn.Param {
	params := m.Params()
	return append(params[:len(params):len(params)], adapterParams(m)...)
}

func adapterParams(m Model) []*nn.Param {
	var list []*nn.Param
	for _, l := range m.Linears() {
		for _, a := range l.Adapters {
			list = append(list, a.A, a.B)
		}
	}
	return list
}

// Renamed reports whether the model is the text part of a package that spells the names of its tensors otherwise.
func (l *Loaded) Renamed() bool { return l.named }
