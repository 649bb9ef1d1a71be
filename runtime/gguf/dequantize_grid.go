package gguf

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
)

// The types of about 1 to 3 bits, which store indices into a codebook of vectors of 8 or 4 values, with signs
// and small scales apart. Blocks have 256 values.
//
// Source: ggml-quants.c, dequantize_row_iq*; ggml-common.h, iq*_grid.

// codebooks holds the vectors, one int8 a value, a codebook after the other (testdata/make_fixtures.py).
//
//go:embed codebooks.bin
var codebooks string

// The codebooks: where each starts, by the number of its vectors times their length.
const (
	grid2XXS = 0
	grid2XS  = grid2XXS + 256*8
	grid2S   = grid2XS + 512*8
	grid3XXS = grid2S + 1024*8
	grid3S   = grid3XXS + 256*4
	grid1    = grid3S + 512*4
	gridEnd  = grid1 + 2048*8
)

// signed writes d times the len(out) values of a codebook from at on, negated where signs has a bit.
func signed(out []float32, d float32, at int, signs byte) {
	for i := range out {
		y := d * float32(int8(codebooks[at+i]))
		if signs>>i&1 == 1 {
			y = -y
		}
		out[i] = y
	}
}

// evenSigns completes 7 signs by an eighth that makes their number even.
func evenSigns(s uint32) byte {
	s &= 127
	return byte(s | uint32(bits.OnesCount32(s)&1)<<7)
}

// decodeIQ2XXS: d, then for each 32 values 4 indices and a uint32 of 4 times 7 signs and a scale;
// y = d * (0.5 + scale) / 4 * vector.
func decodeIQ2XXS(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[66:], dst[256:] {
		d := half(src)
		for g := range 8 {
			indices, word := src[2+8*g:][:4], binary.LittleEndian.Uint32(src[6+8*g:])
			dl := d * (0.5 + float32(word>>28)) * 0.25
			for v, index := range indices {
				signed(dst[g*32+v*8:][:8], dl, grid2XXS+8*int(index), evenSigns(word>>(7*v)))
			}
		}
	}
}

// decodeIQ2XS: d, qs[32] uint16 (9 bits of index, 7 signs), scales[8] (nibbles, one for 16 values);
// y = d * (0.5 + scale) / 4 * vector.
func decodeIQ2XS(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[74:], dst[256:] {
		d, scales := half(src), src[66:74]
		for v := range 32 {
			q := binary.LittleEndian.Uint16(src[2+2*v:])
			dl := d * (0.5 + nibble(scales, v/2)) * 0.25
			signed(dst[v*8:][:8], dl, grid2XS+8*int(q&511), evenSigns(uint32(q>>9)))
		}
	}
}

// nibble returns nibble i of b, low ones first.
func nibble(b []byte, i int) float32 { return float32(b[i/2] >> (i % 2 * 4) & 15) }

// decodeIQ2S: d, qs[32] (low bits of the indices), signs[32], qh[8] (high pairs), scales[8] (nibbles, one for
// 16 values); y = d * (0.5 + scale) / 4 * vector.
func decodeIQ2S(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[82:], dst[256:] {
		d, qs, signs, qh, scales := half(src), src[2:34], src[34:66], src[66:74], src[74:82]
		for v, q := range qs {
			index := int(q) | int(qh[v/4]>>(v%4*2)&3)<<8
			dl := d * (0.5 + nibble(scales, v/2)) * 0.25
			signed(dst[v*8:][:8], dl, grid2S+8*index, signs[v])
		}
	}
}

// decodeIQ3XXS: d, qs[64] indices of vectors of 4, then for each 32 values a uint32 of 4 times 7 signs and a
// scale; y = d * (0.5 + scale) / 2 * vector.
func decodeIQ3XXS(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[98:], dst[256:] {
		d, qs := half(src), src[2:66]
		for v, q := range qs {
			word := binary.LittleEndian.Uint32(src[66+v/8*4:])
			dl := d * (0.5 + float32(word>>28)) * 0.5
			signs := evenSigns(word>>(v%8/2*7)) >> (v % 2 * 4)
			signed(dst[v*4:][:4], dl, grid3XXS+4*int(q), signs)
		}
	}
}

// decodeIQ3S: d, qs[64] (low bits of indices of vectors of 4), qh[8] (ninth bits), signs[32], scales[4]
// (nibbles, one for 32 values); y = d * (1 + 2*scale) * vector.
func decodeIQ3S(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[110:], dst[256:] {
		d, qs, qh, signs, scales := half(src), src[2:66], src[66:74], src[74:106], src[106:110]
		for v, q := range qs {
			index := int(q) | int(qh[v/8]>>(v%8)&1)<<8
			dl := d * (1 + 2*nibble(scales, v/8))
			signed(dst[v*4:][:4], dl, grid3S+4*index, signs[v/2]>>(v%2*4))
		}
	}
}

// shifted writes d times the sum of a codebook vector and delta.
func shifted(out []float32, d float32, at int, delta float32) {
	for i := range out {
		out[i] = d * (float32(int8(codebooks[at+i])) + delta)
	}
}

// decodeIQ1S: d, qs[32] (low bits of the indices), qh[8] uint16 (4 times 3 high bits, scale, sign of delta);
// y = d * (2*scale + 1) * (vector +- 1/8).
func decodeIQ1S(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[50:], dst[256:] {
		d, qs := half(src), src[2:34]
		for v, q := range qs {
			h := binary.LittleEndian.Uint16(src[34+v/4*2:])
			delta := float32(0.125)
			if h>>15 == 1 {
				delta = -delta
			}
			index := int(q) | int(h>>(v%4*3)&7)<<8
			shifted(dst[v*8:][:8], d*float32(2*(h>>12&7)+1), grid1+8*index, delta)
		}
	}
}

// decodeIQ1M: qs[32] (low bits of the indices), qh[16] (nibbles: 3 high bits, sign of delta), scales[4] uint16
// (4 times 3 bits, one for 16 values, and a nibble of d); y = d * (2*scale + 1) * (vector +- 1/8).
func decodeIQ1M(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[56:], dst[256:] {
		qs, qh, scales := src[:32], src[32:48], src[48:56]
		d := half([]byte{scales[1]>>4 | scales[3]&0xf0, scales[5]>>4 | scales[7]&0xf0})
		for v, q := range qs {
			h := qh[v/2] >> (v % 2 * 4)
			delta := float32(0.125)
			if h>>3&1 == 1 {
				delta = -delta
			}
			scale := binary.LittleEndian.Uint16(scales[v/8*2:]) >> (v % 8 / 2 * 3) & 7
			shifted(dst[v*8:][:8], d*float32(2*scale+1), grid1+8*(int(q)|int(h&7)<<8), delta)
		}
	}
}
