package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a tokenizer from a file, or from a folder that holds one. In a folder the first of these
// counts: tokenizer.json; a sentencepiece .model; tiktoken ranks (*.tiktoken, or a .model that is text);
// vocab.txt; vocab.json with merges.txt.
func Load(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if info.IsDir() {
		if path, err = findIn(path); err != nil {
			return nil, err
		}
	}
	t, err := loadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// maxFile bounds the size of a file: the largest published tokenizers have about 35 MB.
const maxFile = 1 << 30

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("the file has %d bytes, the limit is %d", info.Size(), maxFile)
	}
	return os.ReadFile(path)
}

var candidates = []string{"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
	"*.model", "*.tiktoken", "vocab.txt", "vocab.json"}

func findIn(dir string) (string, error) {
	for _, c := range candidates {
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), c))
		if err != nil {
			return "", err
		}
		if len(found) > 1 {
			return "", fmt.Errorf("%s: %d files match %s; name the one to use", dir, len(found), c)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%s: no tokenizer here; looked for %s", dir, strings.Join(candidates, ", "))
}

// escapeGlob makes a folder's name match only itself.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// loadFile tells the kind of a file by its name and beginning.
func loadFile(path string) (*Tokenizer, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	switch ext := filepath.Ext(path); {
	case filepath.Base(path) == "vocab.txt":
		return ParseVocabTxt(data)
	case filepath.Base(path) == "vocab.json":
		merges, err := readFile(filepath.Join(filepath.Dir(path), "merges.txt"))
		if err != nil {
			return nil, err
		}
		return ParseVocabMerges(data, merges)
	case ext == ".tiktoken" || ext != ".json" && looksLikeRanks(data):
		o, err := tiktokenConfig(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		return ParseTiktoken(data, o)
	case ext == ".json" || len(data) > 0 && data[0] == '{':
		return Parse(data)
	}
	return ParseSentencePiece(data)
}
