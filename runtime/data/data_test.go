package data

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vulcast/vulcast/runtime/nn"
)

// bytesEncoder gives a token a byte.
type bytesEncoder struct{}

func (bytesEncoder) EncodeChecked(text string, _ bool) ([]int32, error) {
	if strings.Contains(text, "!") {
		return nil, errors.New("cannot encode !")
	}
	ids := make([]int32, len(text))
	for i := range ids {
		ids[i] = int32(text[i])
	}
	return ids, nil
}

func docs(texts ...string) iter.Seq2[Doc, error] {
	return func(yield func(Doc, error) bool) {
		for i, text := range texts {
			if !yield(Doc{fmt.Sprintf("doc%d", i), text}, nil) {
				return
			}
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.go", "sub/c.go", "sub/deep/d.go", "sub/.hidden/e.go", ".f.go"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(name), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		in   []string
		want []string
		err  string
	}{
		{"folder", []string{"."}, []string{"a.txt", "b.go", "sub/c.go", "sub/deep/d.go"}, ""},
		{"file twice", []string{"b.go", "*.go"}, []string{".f.go", "b.go"}, ""},
		{"deep", []string{"**/*.go"}, []string{"b.go", "sub/c.go", "sub/deep/d.go"}, ""},
		{"below", []string{"sub/**/d.*"}, []string{"sub/deep/d.go"}, ""},
		{"one level", []string{"*/*.go"}, []string{"sub/c.go"}, ""},
		{"none", []string{"*.md"}, nil, "*.md: no file matches"},
		{"missing", []string{"x.md"}, nil, "stat x.md: no such file or directory"},
		{"bad pattern", []string{"[*"}, nil, "[*: syntax error in pattern"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(dir)
			got, err := Files(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if text := fmt.Sprint(err); err != nil && text != tt.err || err == nil && tt.err != "" {
				t.Errorf("error %q, want %q", text, tt.err)
			}
		})
	}
}

func TestTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("ab\xff"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, err := range Texts([]string{path}) {
		if want := path + ": byte 2 is not UTF-8 text"; err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestTokenize(t *testing.T) {
	for _, tt := range []struct {
		name  string
		texts []string
		o     TokenizeOptions
		want  *Tokens
		err   string
	}{
		{"ends", []string{"ab", "", "c"}, TokenizeOptions{End: 0}, &Tokens{[]int32{97, 98, 0, 99, 0}, []int{0, 3}}, ""},
		{"no ends", []string{"ab", "c"}, TokenizeOptions{End: -1}, &Tokens{[]int32{97, 98, 99}, []int{0, 2}}, ""},
		{"range", []string{"ab", "abc"}, TokenizeOptions{End: -1, Vocab: 99}, nil, "doc1: token 2 has id 99, but the model's " +
			"vocabulary has 99 tokens (0 to 98): the tokenizer and the model do not belong together"},
		{"encoder", []string{"ab", "!"}, TokenizeOptions{}, nil, "doc1: cannot encode !"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Tokenize(docs(tt.texts...), bytesEncoder{}, tt.o)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if text := fmt.Sprint(err); err != nil && text != tt.err || err == nil && tt.err != "" {
				t.Errorf("error %q, want %q", text, tt.err)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	tokens := &Tokens{}
	for _, d := range [][]int32{{1, 2, 3}, {4}, {5, 6, 7, 8, 9}} {
		tokens.Append(d)
	}
	no := int32(nn.Ignored)
	for _, tt := range []struct {
		name     string
		separate bool
		index    int
		want     Row
	}{
		{"joined", false, 1, Row{Tokens: []int32{5, 6, 7, 8}, Pos: []int32{0, 1, 2, 3}, Seg: []int32{1, 1, 1, 1},
			Labels: []int32{6, 7, 8, 9}}},
		{"separate", true, 0, Row{Tokens: []int32{1, 2, 3, 4}, Pos: []int32{0, 1, 2, 0}, Seg: []int32{1, 1, 1, 2},
			Labels: []int32{2, 3, no, no}}},
		{"separate at a boundary", true, 1, Row{Tokens: []int32{5, 6, 7, 8}, Pos: []int32{0, 1, 2, 3},
			Seg: []int32{1, 1, 1, 1}, Labels: []int32{6, 7, 8, 9}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := NewBlocks(tokens, 4, tt.separate)
			if err != nil || b.Len() != 2 {
				t.Fatal(b.Len(), err)
			}
			rows := emptyRows(1, 4)
			got := rowOf(&rows, 0)
			if err := b.Fill(Place{0, tt.index}, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, tt := range []struct {
		tokens *Tokens
		want   string
	}{
		{&Tokens{}, "the data set is empty: no document has any text"},
		{&Tokens{IDs: []int32{1, 2}, Starts: []int{0}}, "the data set has 2 tokens, too few for one row of 4 and the token " +
			"behind it: shorten the rows or add text"},
	} {
		if _, err := NewBlocks(tt.tokens, 4, true); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// TestLoaderPosition: stopping anywhere and seeking there gives the batches of a loader that did not stop,
// and each epoch visits every row once.
func TestLoaderPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 40).Draw(t, "tokens")
		tokens := &Tokens{Starts: []int{0}}
		for i := range n {
			tokens.IDs = append(tokens.IDs, int32(i))
		}
		set, err := NewBlocks(tokens, rapid.IntRange(1, 2).Draw(t, "length"), rapid.Bool().Draw(t, "separate"))
		if err != nil {
			t.Fatal(err)
		}
		rows := rapid.IntRange(1, 5).Draw(t, "rows")
		seed := rapid.Uint64().Draw(t, "seed")
		shuffle := rapid.Bool().Draw(t, "shuffle")
		make := func() *Loader {
			l, err := NewLoader(set, rows, seed, shuffle)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		next := func(l *Loader) *Batch {
			b, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		whole := make()
		var first []int32
		steps := 2*set.Len()/rows + 2
		stop := rapid.IntRange(0, steps-1).Draw(t, "stop")
		for i := range steps {
			if i == stop {
				other := make()
				if err := other.SetPosition(whole.Position()); err != nil {
					t.Fatal(err)
				}
				at := whole.Position()
				if diff := cmp.Diff(next(whole), next(other)); diff != "" {
					t.Fatalf("after seeking (-want +got)\n%s", diff)
				}
				if err := whole.SetPosition(at); err != nil {
					t.Fatal(err)
				}
			}
			b := next(whole)
			for j := range rows {
				first = append(first, b.Dec.Tokens[j*b.Dec.T])
			}
		}
		for e := range 2 {
			seen := slices.Clone(first[e*set.Len() : (e+1)*set.Len()])
			slices.Sort(seen)
			if got := len(slices.Compact(seen)); got != set.Len() {
				t.Fatalf("epoch %d visits %d of %d rows", e, got, set.Len())
			}
		}
	})
}

func TestSplit(t *testing.T) {
	items := make([]int, 10000)
	for i := range items {
		items[i] = i
	}
	train, held := Split(items, 0.1, 7)
	if n := len(held); n < 900 || n > 1100 || len(train)+n != len(items) {
		t.Errorf("%d of %d held out", n, len(items))
	}
	again, _ := Split(items, 0.1, 7)
	if !slices.Equal(train, again) {
		t.Error("the same seed gave another split")
	}
	if tr, h := Split(items[:2], 1e-9, 7); len(tr) != 1 || len(h) != 1 {
		t.Errorf("two items were dealt %v, %v", tr, h)
	}
	if _, h := Split(items, 0, 7); h != nil {
		t.Errorf("fraction 0 held out %d", len(h))
	}
}

func TestInOrder(t *testing.T) {
	set, err := NewBlocks(&Tokens{IDs: []int32{0, 1, 2, 3, 4, 5, 6}, Starts: []int{0}}, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	var first []int32
	if err := InOrder(set, 1, 2, func(b *Batch) error { first = append(first, b.Dec.Tokens[0]); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{0, 2}, first); diff != "" {
		t.Errorf("two of three rows (-want +got)\n%s", diff)
	}
	var counts []int
	if err := InOrder(set, 2, 0, func(b *Batch) error { counts = append(counts, b.Counts, b.Tokens); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{4, 4, 2, 2}, counts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
