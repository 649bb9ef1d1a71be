package generate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDistribution draws many tokens and compares their frequencies with probabilities worked out by hand.
func TestDistribution(t *testing.T) {
	logits := []float32{float32(math.Log(0.4)), float32(math.Log(0.3)), float32(math.Log(0.2)), float32(math.Log(0.1))}
	for _, tt := range []struct {
		name    string
		o       Options
		history []int32
		want    []float64
	}{
		{"all", Options{Temperature: 1}, nil, []float64{0.4, 0.3, 0.2, 0.1}},
		{"greedy", Options{}, nil, []float64{1, 0, 0, 0}},
		{"cold", Options{Temperature: 0.5}, nil, []float64{16. / 30, 9. / 30, 4. / 30, 1. / 30}},
		{"top-k", Options{Temperature: 1, TopK: 2}, nil, []float64{4. / 7, 3. / 7, 0, 0}},
		{"top-p", Options{Temperature: 1, TopP: 0.69}, nil, []float64{4. / 7, 3. / 7, 0, 0}},
		{"top-p keeps one", Options{Temperature: 1, TopP: 0.01}, nil, []float64{1, 0, 0, 0}},
		{"top-p after top-k", Options{Temperature: 1, TopK: 2, TopP: 0.5}, nil, []float64{1, 0, 0, 0}},
		{"min-p", Options{Temperature: 1, MinP: 0.6}, nil, []float64{4. / 7, 3. / 7, 0, 0}},
		// log 0.4 times 2 is log 0.16.
		{"repetition", Options{Temperature: 1, Repetition: 2}, []int32{0, 0}, []float64{0.16 / 0.76, 0.3 / 0.76, 0.2 / 0.76, 0.1 / 0.76}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const n = 20000
			got := make([]float64, 4)
			s := &sampler{o: tt.o}
			for i := range n {
				id, err := s.choose(append([]float32(nil), logits...), tt.history, 0, i)
				if err != nil {
					t.Fatal(err)
				}
				got[id] += 1. / n
			}
			for i := range got {
				if d := math.Abs(got[i] - tt.want[i]); d > 0.015 || tt.want[i] == 0 && got[i] != 0 {
					t.Errorf("frequencies %.3f, want %.3f", got, tt.want)
					break
				}
			}
		})
	}
}

// TestTopPShare: leaving unlikely tokens out before sorting changes nothing.
func TestTopPShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-8, 8), 1, 40).Draw(t, "logits")
		p := rapid.Float64Range(0.01, 0.99).Draw(t, "p")
		list := func(vocab int) []candidate {
			s := &sampler{o: Options{Temperature: 1, TopP: p}}
			best, err := argmax(logits)
			if err != nil {
				t.Fatal(err)
			}
			s.fill(logits, float64(logits[best]))
			s.keepTopP(vocab)
			return s.list
		}
		if diff := cmp.Diff(list(1<<40), list(len(logits)), cmp.AllowUnexported(candidate{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSeed(t *testing.T) {
	seen := map[float64]bool{}
	for seed := range uint64(4) {
		for row := range 4 {
			for step := range 4 {
				seen[uniform(seed, row, step)] = true
			}
		}
	}
	if len(seen) != 64 || uniform(1, 2, 3) != uniform(1, 2, 3) {
		t.Errorf("%d different numbers, want 64", len(seen))
	}
}

func TestNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, tt := range []struct {
		logits []float32
		want   string
	}{{[]float32{1, nan}, "the logit of token 1 is not a number"}, {[]float32{inf, inf}, "no logit is finite"}} {
		_, err := (&sampler{}).choose(tt.logits, nil, 0, 0)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.logits, err, tt.want)
		}
	}
}

func TestStream(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pushes []string
		stop   []string
		shown  []string // after each push, then at the end
		done   bool
	}{
		{"no stop", []string{"a", "b"}, nil, []string{"a", "b", ""}, false},
		{"across tokens", []string{"ab", "E", "ND", "x"}, []string{"END"}, []string{"ab", "", ""}, true},
		{"not after all", []string{"aE", "Nx"}, []string{"END"}, []string{"a", "ENx", ""}, false},
		{"waits at the end", []string{"aEN"}, []string{"END"}, []string{"a", "EN"}, false},
		{"the first of two", []string{"1 b a"}, []string{"a", "b"}, []string{"1 "}, true},
		{"begins again", []string{"EE", "ND"}, []string{"END"}, []string{"E", ""}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := 0
			s := &stream{push: func(id int32) string { return tt.pushes[id] }, flush: func() string { return "" }, stop: tt.stop}
			var shown []string
			done := false
			for ; i < len(tt.pushes) && !done; i++ {
				var text string
				text, done = s.add(int32(i))
				shown = append(shown, text)
			}
			if !done {
				shown = append(shown, s.end())
			}
			if diff := cmp.Diff(tt.shown, shown); diff != "" || done != tt.done {
				t.Errorf("done %v (-want +got)\n%s", done, diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	o := Options{MaxTokens: -1, Temperature: -1, TopK: -1, TopP: 2, MinP: -1, Repetition: -1, Stop: []string{""}}
	want := `max-tokens is -1, want 0 or more
temperature is -1, want 0 (greedy) or more
top-k is -1, want 0 (all) or more
top-p is 2, want between 0 and 1
min-p is -1, want between 0 and 1
repetition-penalty is -1, want above 0 (1 = none)
stop is "", want a text that is not empty`
	if err := o.Check(); err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}
