package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkEncode measures bytes of text a second: -tokenizers FOLDER names the tokenizers.
func BenchmarkEncode(b *testing.B) {
	text := benchText(b)
	eachPublished(b, func(b *testing.B, path string) {
		tok, err := Load(path)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			tok.Encode(text, false)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	eachPublished(b, func(b *testing.B, path string) {
		for b.Loop() {
			if _, err := Load(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchText is the source of this package.
func benchText(b *testing.B) string {
	var out strings.Builder
	files, _ := filepath.Glob("*.go")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		out.Write(data)
	}
	return out.String()
}

func eachPublished(b *testing.B, f func(b *testing.B, path string)) {
	if *tokenizersDir == "" {
		b.Skip("needs published tokenizers: -tokenizers FOLDER")
	}
	files, err := filepath.Glob(filepath.Join(*tokenizersDir, "*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range files {
		b.Run(filepath.Base(path), func(b *testing.B) { f(b, path) })
	}
}
