package traintest

import (
	"math"
	"testing"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

// TestPacked: examples packed into rows have the loss of examples in rows of their own.
func TestPacked(t *testing.T) {
	l := tiny(t, device(t), model.Options{})
	var list []*data.Example
	x := tokens(17, 12)
	for i := range x.Docs() {
		e := &data.Example{Tokens: x.Doc(i)[:3+i%9]}
		e.Learn = make([]bool, len(e.Tokens))
		for j := range e.Learn {
			e.Learn[j] = j > i%3
		}
		list = append(list, e)
	}
	var losses []float64
	for _, pack := range []bool{false, true} {
		set, err := data.NewExamples(list, 24, pack)
		if err != nil {
			t.Fatal(err)
		}
		e := train.NewEvaluator(l, set, 3)
		res, err := e.Run(0)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, res.Loss*float64(res.Tokens))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if d := math.Abs(losses[0] - losses[1]); d > 1e-4*losses[0]/10 {
		t.Errorf("losses differ: %v by %g", losses, d)
	}
}
