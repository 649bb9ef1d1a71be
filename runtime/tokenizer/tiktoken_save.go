package tokenizer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
)

// sortPairs orders the rules by rank; of one result, the cut that ranks first goes first. Written as
// merges they give the same tokens, since a word that is a token is one (ignore_merges).
func (m *bpe) sortPairs() {
	rank := func(p [2]int32) int32 { return m.merges.get(p[0], p[1]).rank }
	slices.SortFunc(m.pairs, func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
}

func tiktokenPipeline(model *bpe, o TiktokenOptions) (*Tokenizer, error) {
	type m = map[string]any
	if o.Pattern == "" {
		o.Pattern = cl100kPattern
	}
	level := m{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	var added []AddedToken
	for _, s := range slices.Sorted(maps.Keys(o.SpecialTokens)) {
		added = append(added, AddedToken{ID: o.SpecialTokens[s], Content: s, Special: true})
	}
	slices.SortStableFunc(added, func(a, b AddedToken) int { return cmp.Compare(a.ID, b.ID) })
	t, err := assemble(model, nil, m{
		"pre_tokenizer": m{"type": "Sequence", "pretokenizers": []any{
			m{"type": "Split", "pattern": m{"Regex": o.Pattern}, "behavior": "Isolated", "invert": false}, level}},
		"decoder": level})
	if err != nil {
		return nil, err
	}
	t.added, err = fixedAdded(added, model.vocab)
	return t, err
}

// tiktokenConfig takes the special tokens from the tokenizer_config.json beside a rank file, if there is
// one: its "added_tokens_decoder" maps ids to tokens.
func tiktokenConfig(dir string) (TiktokenOptions, error) {
	path := filepath.Join(dir, "tokenizer_config.json")
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return TiktokenOptions{}, nil
	}
	var c struct {
		Tokens map[string]struct{ Content string } `json:"added_tokens_decoder"`
	}
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	o := TiktokenOptions{SpecialTokens: map[string]int32{}}
	for key, t := range c.Tokens {
		id, bad := strconv.ParseUint(key, 10, 31)
		if err == nil && (bad != nil || t.Content == "") {
			err = fmt.Errorf("added_tokens_decoder: %q with the token %q is wrong", key, t.Content)
		}
		o.SpecialTokens[t.Content] = int32(id)
	}
	return o, inField(path, err)
}
