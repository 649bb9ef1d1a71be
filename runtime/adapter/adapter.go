package adapter

import (
	"fmt"
	"math"

	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/nn"
)

// Set is an adapter on a model.
type Set struct {
	Config  *Config
	targets []target
}

// target is a layer with its adapter.
type target struct {
	linear *nn.Linear
	own    *nn.Adapter
}

// firstSite is beyond the sites of a model's own dropouts.
const firstSite = 1 << 24

// Attach freezes m and gives the layers that c chooses adapters, before there is memory for them (model.Options.Adjust). vocab
// is the number of rows of the output embedding. With strict every name of c's list must match.
func Attach(m model.Model, c *Config, vocab int, strict bool) (*Set, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	list, err := c.targets(m.Linears(), vocab, strict)
	if err != nil {
		return nil, err
	}
	for _, p := range m.Params() {
		p.Frozen = true
	}
	s := &Set{Config: c}
	for i, l := range list {
		rank, err := value(c.RankOf, l.Module, float64(c.Rank))
		if err != nil {
			return nil, fmt.Errorf("rank_pattern: %w", err)
		}
		alpha, err := value(c.AlphaOf, l.Module, c.Alpha)
		if err != nil {
			return nil, fmt.Errorf("alpha_pattern: %w", err)
		}
		a := c.layer(l, int(rank), alpha)
		a.Site = firstSite + uint32(i)
		l.Adapters = append(l.Adapters, a)
		s.targets = append(s.targets, target{l, a})
		c.FanInOut = c.FanInOut || l.Weight.Disk.Transposed
	}
	return s, nil
}

// layer makes the adapter of a layer: A starts by Kaiming's uniform distribution or a normal one, B at zero.
func (c *Config) layer(l *nn.Linear, rank int, alpha float64) *nn.Adapter {
	out, in := l.Weight.Shape[0], l.Weight.Shape[1]
	init := nn.Init{Kind: nn.InitUniform, Std: 1 / math.Sqrt(float64(in))} // sqrt(6 / ((1+5) in))
	if c.Init == "gaussian" {
		init = nn.Init{Kind: nn.InitNormal, Std: 1 / float64(rank)}
	}
	scale := alpha / float64(rank)
	if c.RSLoRA {
		scale = alpha / math.Sqrt(float64(rank))
	}
	return &nn.Adapter{
		A:       &nn.Param{Name: l.Module + ".lora_A.weight", Shape: []int{rank, in}, Wide: true, Init: init},
		B:       &nn.Param{Name: l.Module + ".lora_B.weight", Shape: []int{out, rank}, Wide: true, Init: nn.Init{Kind: nn.InitZeros}},
		Scale:   float32(scale),
		Dropout: float32(c.Dropout),
	}
}

// Modules are the names of the layers with adapters.
func (s *Set) Modules() []string {
	list := make([]string, len(s.targets))
	for i, t := range s.targets {
		list[i] = t.linear.Module
	}
	return list
}
