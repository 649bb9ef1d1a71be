package data

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/vulcast/vulcast/runtime/chat"
	"github.com/vulcast/vulcast/runtime/nn"
	"github.com/vulcast/vulcast/runtime/tokenizer"
)

// show writes records and errors as text.
func show(files ...string) []string {
	var list []string
	for r, err := range Records(files) {
		var bad *BadRecord
		switch {
		case errors.As(err, &bad):
			list = append(list, fmt.Sprintf("bad %d: %v", r.Line, bad.Err))
		case err != nil:
			list = append(list, "error "+strings.ReplaceAll(err.Error(), filepath.Dir(r.File)+"/", ""))
		default:
			line := fmt.Sprintf("%d", r.Line)
			for i := range r.Values.Len() {
				k, v := r.Values.At(i)
				line += fmt.Sprintf(" %v=%v", k, v)
			}
			list = append(list, line)
		}
	}
	return list
}

func TestRecords(t *testing.T) {
	gz, zs := &bytes.Buffer{}, &bytes.Buffer{}
	w := gzip.NewWriter(gz)
	z, err := zstd.NewWriter(zs)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{write(w, "{\"a\":1}\n"), w.Close(), write(z, "a,b\n1,2\n"), z.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a.jsonl", "{\"a\": 1, \"b\": \"x\"}\n\n{\"a\": 2}", []string{"1 a=1 b=x", "3 a=2"}},
		{"bad.jsonl", "{\"a\": 1}\n{\"a\": \n[1]\n{\"a\": 2}\n", []string{"1 a=1",
			"bad 2: not JSON: chat: JSON at byte 5: unexpected EOF", "bad 3: want a JSON object with the fields of a record", "4 a=2"}},
		{"a.json", `[{"a": 1}, 2, {"a": 3}]`, []string{"1 a=1", "bad 2: entry 2 is no object", "3 a=3"}},
		{"in.json", `{"version": 1, "data": [{"a": 1}]}`, []string{"1 a=1"}},
		{"no.json", `{"version": 1}`, []string{"error no.json: want a list of objects, or an object with one"}},
		{"a.csv", "\ufeffa,b\n1,\"x\ny\"\n2\n3,z\n", []string{"2 a=1 b=x\ny", "bad 4: 1 fields, want the 2 columns of the first line",
			"5 a=3 b=z"}},
		{"a.tsv", "a\tb\n1\t\"x\n", []string{"2 a=1 b=x\n"}},
		{"empty.csv", "", nil},
		{"a.jsonl.gz", gz.String(), []string{"1 a=1"}},
		{"a.csv.zst", zs.String(), []string{"2 a=1 b=2"}},
		{"bad.jsonl.gz", "no", []string{"error bad.jsonl.gz: unexpected EOF"}},
		{"short.jsonl.gz", gz.String()[:20], []string{"1 a=1", "error short.jsonl.gz:2: unexpected EOF"}},
		{"a.txt", "x", []string{"error a.txt: no format of records has this name (.jsonl, .json, .csv, .tsv, .parquet, also with " +
			".gz or .zst)"}},
		{"bad.parquet", "PAR1", []string{"error bad.parquet: not a Parquet file: reading magic footer of " +
			"parquet file: readat bad.parquet: negative offset (read: 0)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.name)
			if err := os.WriteFile(path, []byte(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, show(path)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func write(w interface{ Write([]byte) (int, error) }, text string) error {
	_, err := w.Write([]byte(text))
	return err
}

func TestParquet(t *testing.T) {
	type message struct {
		Role    string `parquet:"role"`
		Content string `parquet:"content"`
	}
	type row struct {
		Text     string    `parquet:"text"`
		N        int64     `parquet:"n"`
		IDs      []int32   `parquet:"ids,list"`
		Messages []message `parquet:"messages,list"`
		None     *string   `parquet:"none,optional"`
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	rows := []row{{"ä", 7, []int32{1, 2}, []message{{"user", "hi"}, {"assistant", "ho"}}, nil}, {"b", 8, nil, nil, nil}}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range Records([]string{path}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if n > 1 {
			continue
		}
		text, _ := r.Values.Get("text")
		ids, _ := r.Values.Get("ids")
		none, _ := r.Values.Get("none")
		messages, _ := r.Values.Get("messages")
		if text != "ä" || none != nil || !slices.Equal(ids.(*chat.List).Items, []chat.Value{int64(1), int64(2)}) {
			t.Errorf("%v %v %v", text, ids, none)
		}
		if role, _ := messages.(*chat.List).Items[1].(*chat.Dict).Get("role"); role != "assistant" {
			t.Errorf("messages %v", messages)
		}
	}
	if n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // a corrupt page or footer is an error that names the file, or goes unnoticed where nothing reads it
		broken := slices.Clone(whole)
		broken[4+i*(len(whole)-8)/40] ^= 0x55
		if err := os.WriteFile(path, broken, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, err := range Records([]string{path}) {
			if err != nil && !strings.HasPrefix(err.Error(), path) {
				t.Errorf("byte %d: error %v does not name the file", i, err)
			}
		}
	}
}

// byteTokenizer gives a token a byte, behind an end token with id 0.
func byteTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.TrainBPE(slices.Values([]string{"a"}), tokenizer.TrainOptions{VocabSize: 257,
		SpecialTokens: []string{"<e>"}})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// learnt shows an example: what is learnt stands in brackets.
func learnt(tok *tokenizer.Tokenizer, e *Example) string {
	var b strings.Builder
	open := false
	for i, id := range e.Tokens {
		if l := e.Learn == nil || e.Learn[i]; l != open {
			b.WriteByte("]["[map[bool]int{false: 0, true: 1}[l]])
			open = l
		}
		b.WriteString(tok.Decode([]int32{id}, false))
	}
	if open {
		b.WriteByte(']')
	}
	return b.String()
}

func TestMake(t *testing.T) {
	tok := byteTokenizer(t)
	templates := func(text string) *chat.Set {
		parsed, err := chat.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return &chat.Set{Templates: map[string]*chat.Template{"default": parsed}}
	}
	plain := templates(`{% for m in messages %}<{{ m.role }}>{{ m.content }}<e>{% endfor %}` +
		`{% if add_generation_prompt %}<assistant>{% endif %}`)
	marked := templates(`{% for m in messages %}{% if m.role == "assistant" %}A:{% generation %}{{ m.content }}<e>` +
		`{% endgeneration %}{% else %}U:{{ m.content }}{% endif %}{% endfor %}`)
	forgetful := templates(`{% for m in messages %}{% if loop.last %}{{ m.content }}{% endif %}{% endfor %}`)
	talk := `{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}, ` +
		`{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}`
	for _, tt := range []struct {
		name, in string
		m        Maker
		want     string
	}{
		{"text", `{"text": "abc"}`, Maker{}, "[abc<e>]"},
		{"prompt", `{"prompt": "ab", "completion": "cd"}`, Maker{}, "ab[cd<e>]"},
		{"learn all", `{"prompt": "ab", "completion": "cd"}`, Maker{All: true}, "[abcd<e>]"},
		{"instruction", `{"instruction": "i", "input": "n", "output": "o"}`, Maker{}, "i\n\nn\n\n[o<e>]"},
		{"instruction as chat", `{"instruction": "i", "input": "", "output": "o"}`, Maker{Templates: plain},
			"<user>i<e><assistant>[o<e>]"},
		{"question", `{"question": "q", "answer": "a"}`, Maker{}, "q\n\n[a<e>]"},
		{"chat", talk, Maker{Templates: plain}, "<user>hi<e><assistant>[ho<e>]<user>x<e><assistant>[y<e>]"},
		{"generation blocks", talk, Maker{Templates: marked}, "U:hiA:[ho<e>]U:xA:[y<e>]"},
		{"chat, all", talk, Maker{Templates: marked, All: true}, "[U:hiA:ho<e>U:xA:y<e>]"},
		{"conversations", `{"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}`,
			Maker{Templates: plain}, "<user>q<e><assistant>[a<e>]"},
		{"ids", `{"input_ids": [65, 66, 67], "labels": [-100, -100, 67]}`, Maker{}, "ab[c]"},
		{"cut the end", `{"text": "abcdef"}`, Maker{Max: 4, Truncate: CutEnd}, "[abcd]"},
		{"cut the start", `{"text": "abcdef"}`, Maker{Max: 4, Truncate: CutStart}, "[def<e>]"},
		{"refuse", `{"text": "abcdef"}`, Maker{Max: 4, Truncate: Refuse}, "f:3: 7 tokens; the limit is 4"},
		{"no fields", `{"a": 1, "b": 2}`, Maker{}, "f:3: no known fields among a, b: want text; prompt and completion; " +
			"instruction and output; question and answer; messages or conversations; or input_ids"},
		{"type", `{"text": 3}`, Maker{}, "f:3: text is int64, want a text"},
		{"role", `{"messages": [{"role": "robot", "content": "x"}]}`, Maker{Templates: plain},
			`f:3: messages: message 1: role is "robot", want system, user, assistant, tool or developer`},
		{"no template", talk, Maker{}, "f:3: a conversation, but the package has no chat template"},
		{"no answer", `{"messages": [{"role": "user", "content": "x"}]}`, Maker{Templates: plain},
			"f:3: nothing to learn: no token of a completion or assistant is left"},
		{"forgetful", talk, Maker{Templates: forgetful}, "f:3: message 2: the chat template writes earlier turns differently once " +
			"more follow, so that what the assistant says cannot be told apart: use a template with generation blocks, or learn " +
			"everything"},
		{"empty", `{"text": ""}`, Maker{}, "f:3: the record is empty: it has fewer than two tokens"},
		{"labels", `{"input_ids": [1, 2], "labels": [1]}`, Maker{}, "f:3: 1 labels for 2 input_ids"},
		{"vocabulary", `{"input_ids": [1, 300]}`, Maker{Vocab: 257}, "f:3: token 1 has id 300, but the model's vocabulary has " +
			"257 tokens (0 to 256): the tokenizer and the model do not belong together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := object([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			tt.m.Tokenizer, tt.m.End = tok, 0
			var got string
			if e, err := tt.m.Make(&Record{File: "f", Line: 3, Values: d}); err != nil {
				got = err.Error()
			} else {
				got = learnt(tok, e)
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestPack: every example stands in exactly one row with its labels, and packing is not worse than the bound
// of best fit.
func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(4, 20).Draw(t, "length")
		lengths := rapid.SliceOfN(rapid.IntRange(2, length), 1, 30).Draw(t, "lengths")
		var list []*Example
		sum, next := 0, int32(1)
		for _, n := range lengths {
			e := &Example{}
			for range n {
				e.Tokens = append(e.Tokens, next)
				next++
			}
			list = append(list, e)
			sum += n
		}
		s, err := NewExamples(list, length, true)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int32]bool{}
		for i := range s.Len() {
			rows := emptyRows(1, length)
			row := rowOf(&rows, 0)
			if err := s.Fill(Place{0, i}, row); err != nil {
				t.Fatal(err)
			}
			for at, id := range row.Tokens {
				if row.Seg[at] == 0 {
					continue
				}
				if seen[id] {
					t.Fatalf("token %d stands twice", id)
				}
				seen[id] = true
				same := at+1 < length && row.Seg[at+1] == row.Seg[at]
				if same && (row.Labels[at] != id+1 || row.Pos[at+1] != row.Pos[at]+1) || !same && row.Labels[at] != nn.Ignored {
					t.Fatalf("row %v", row)
				}
			}
		}
		if len(seen) != sum {
			t.Fatalf("%d of %d tokens", len(seen), sum)
		}
		if best := (sum + length - 1) / length; s.Len() > 2*best {
			t.Fatalf("%d rows, %d would do at best", s.Len(), best)
		}
	})
}

func FuzzRecords(f *testing.F) {
	f.Add("a.jsonl", []byte("{\"a\":1}\n{"))
	f.Add("a.json", []byte(`[{"a":1}]`))
	f.Add("a.csv", []byte("a,b\n1,\"2\n"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		ext, compression := extension(name)
		if formats[ext] == nil || compression != "" {
			return
		}
		err := formats[ext]("f", bytes.NewReader(text), func(r Record, err error) bool {
			if (err == nil) != (r.Values != nil) {
				t.Errorf("record %v with error %v", r, err)
			}
			return true
		})
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("error %v does not name the file", err)
		}
	})
}
