package tokenizer

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// The fields of a sentencepiece .model file that matter for encoding and decoding.
// Source: https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
type spmFile struct {
	pieces  []spmPiece
	trainer struct {
		kind         uint64 // spmUnigram ... spmChar
		suffixSpace  bool   // spaces stand at the ends of words
		byteFallback bool
		unkSurface   string
	}
	norm, denorm spmRules
}

type spmPiece struct {
	piece string
	score float32
	kind  uint64
}

// spmRules is NormalizerSpec.
type spmRules struct {
	charsmap                          []byte
	dummyPrefix, removeExtra, escapes bool
}

const (
	spmUnigram = 1
	spmBPE     = 2
	spmWord    = 3
	spmChar    = 4

	pieceNormal  = 1
	pieceUnknown = 2
	pieceControl = 3
	pieceUser    = 4
	pieceUnused  = 5
	pieceByte    = 6
)

// maxPieces bounds the vocabulary of a .model file.
const maxPieces = 1 << 24

func parseSPMFile(data []byte) (*spmFile, error) {
	f := &spmFile{norm: spmRules{nil, true, true, true}, denorm: spmRules{nil, true, true, true}}
	f.trainer.kind = spmUnigram
	f.trainer.unkSurface = " \u2047 "
	err := protoFields(data, 0, func(p protoField) error {
		if p.num >= 1 && p.num <= 5 && !p.delim {
			return fmt.Errorf("byte %d: field %d is not a message", p.at, p.num)
		}
		switch p.num {
		case 1:
			return f.readPiece(p)
		case 2:
			return protoFields(p.bytes, p.at, f.trainerField)
		case 3:
			return protoFields(p.bytes, p.at, f.norm.field)
		case 5:
			return protoFields(p.bytes, p.at, f.denorm.field)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(f.pieces) == 0 {
		return nil, fmt.Errorf("the file has no pieces: it is not a sentencepiece model")
	}
	return f, nil
}

func (f *spmFile) readPiece(p protoField) error {
	piece := spmPiece{kind: pieceNormal}
	err := protoFields(p.bytes, p.at, func(q protoField) error {
		switch q.num {
		case 1:
			piece.piece = q.str()
		case 2:
			piece.score = q.float()
		case 3:
			piece.kind = q.value
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := len(f.pieces)
	switch {
	case piece.piece == "" || !utf8.ValidString(piece.piece):
		return fmt.Errorf("byte %d: piece %d is %q, wanted UTF-8 that is not empty", p.at, n, piece.piece)
	case piece.kind < pieceNormal || piece.kind > pieceByte:
		return fmt.Errorf("byte %d: piece %d has the unknown type %d", p.at, n, piece.kind)
	case math.IsNaN(float64(piece.score)) || math.IsInf(float64(piece.score), 0):
		return fmt.Errorf("byte %d: piece %d has the score %v", p.at, n, piece.score)
	case n >= maxPieces:
		return fmt.Errorf("byte %d: there are more than %d pieces", p.at, maxPieces)
	}
	f.pieces = append(f.pieces, piece)
	return nil
}

func (f *spmFile) trainerField(p protoField) error {
	switch p.num {
	case 3:
		if f.trainer.kind = p.value; p.value < spmUnigram || p.value > spmChar {
			return fmt.Errorf("byte %d: model type %d is not known", p.at, p.value)
		}
	case 24:
		f.trainer.suffixSpace = p.bool()
	case 35:
		f.trainer.byteFallback = p.bool()
	case 44:
		f.trainer.unkSurface = clean(p.str())
	}
	return nil
}

func (r *spmRules) field(p protoField) error {
	switch p.num {
	case 2:
		r.charsmap = p.bytes
	case 3:
		r.dummyPrefix = p.bool()
	case 4:
		r.removeExtra = p.bool()
	case 5:
		r.escapes = p.bool()
	}
	return nil
}
