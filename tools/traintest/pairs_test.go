package traintest

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/runtime/data"
	"github.com/vulcast/vulcast/runtime/model"
	"github.com/vulcast/vulcast/runtime/train"
)

// pairs are sources of several lengths, and targets that say them backwards.
func pairs(n int) []*data.Example {
	var list []*data.Example
	for i := range n {
		e := &data.Example{Tokens: []int32{0}}
		for j := range 1 + i%5 {
			e.Source = append(e.Source, int32(2+(i*7+j*3)%50))
		}
		for j := range e.Source {
			e.Tokens = append(e.Tokens, e.Source[len(e.Source)-1-j])
		}
		e.Source, e.Tokens = append(e.Source, 1), append(e.Tokens, 1)
		list = append(list, e)
	}
	return list
}

func pairSet(t *testing.T, list []*data.Example, length int) data.Set {
	t.Helper()
	set, err := data.NewPairs(list, length)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestPairsPadding: the loss of pairs is that of each alone without any padding.
func TestPairsPadding(t *testing.T) {
	l := tinyOf(t, device(t), model.Options{}, tinyTranslator)
	loss := func(set data.Set, rows int) (sum float64) {
		t.Helper()
		e := train.NewEvaluator(l, set, rows)
		res, err := e.Run(0)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return res.Loss * float64(res.Tokens)
	}
	list := pairs(7)
	want := 0.0
	for _, e := range list {
		want += loss(pairSet(t, []*data.Example{e}, len(e.Tokens)), 1)
	}
	if got := loss(pairSet(t, list, 11), 4); math.Abs(got-want) > 1e-5*want { // the last batch has a row of padding alone
		t.Errorf("loss %g with padding, %g without", got, want)
	}
}

// TestPairsLearn trains encoder and decoder together.
func TestPairsLearn(t *testing.T) {
	l := tinyOf(t, device(t), model.Options{Train: true}, strings.Replace(tinyTranslator, "0.5", "0.05", 1))
	before := values(t, l)
	set := pairSet(t, pairs(20), 8)
	c := tinyRun(150)
	tr, err := train.New(l, set, set, c, train.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	first, err := tr.Next()
	if err != nil {
		t.Fatal(err)
	}
	res, err := tr.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if res.Eval.Loss > first/2 {
		t.Errorf("loss went from %.3f to %.3f", first, res.Eval.Loss)
	}
	for name, v := range values(t, l) {
		same := true
		for i := range v {
			same = same && v[i] == before[name][i]
		}
		if same {
			t.Errorf("%s did not change", name)
		}
	}
}
