package gguf

import (
	"encoding/binary"
	"math"
)

// The types with blocks of 256 values, cut into groups with small integer scales of their own. d and dmin are
// the block's scales, binary16 (float32 in Q8_K).
//
// Source: ggml-quants.c, dequantize_row_*; ggml-common.h, block_*.

// decodeQ2K: scales[16] (scale low, minimum high nibble), qs[64], d, dmin; groups of 16;
// y = (d*scale) * q - (dmin*min).
func decodeQ2K(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[84:], dst[256:] {
		scales, qs, d, dmin := src[:16], src[16:80], half(src[80:]), half(src[82:])
		for g, s := range scales {
			dl, ml := d*float32(s&15), dmin*float32(s>>4)
			part, shift := qs[g/8*32+g%2*16:][:16], g%8/2*2
			for i, q := range part {
				dst[g*16+i] = float32(dl*float32(q>>shift&3)) - ml
			}
		}
	}
}

// decodeQ3K: hmask[32] (third bits), qs[64], scales[12] (sixteen of 6 bits), d; groups of 16;
// y = (d*(scale-32)) * (q - 4).
func decodeQ3K(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[110:], dst[256:] {
		hmask, qs, scales, d := src[:32], src[32:96], src[96:108], half(src[108:])
		for g := range 16 {
			low := scales[g%8] >> (g / 8 * 4) & 15
			high := scales[8+g%4] >> (g / 4 * 2) & 3
			dl := d * float32(int(low|high<<4)-32)
			part, shift := qs[g/8*32+g%2*16:][:16], g%8/2*2
			mask, bit := hmask[g%2*16:][:16], g/2
			for i, q := range part {
				dst[g*16+i] = dl * float32(int(q>>shift&3|mask[i]>>bit&1<<2)-4)
			}
		}
	}
}

// scaleMin unpacks group g of 8 from the 12 bytes that Q4_K and Q5_K keep: 6-bit scale and 6-bit minimum.
func scaleMin(s []byte, g int) (scale, minimum float32) {
	if g < 4 {
		return float32(s[g] & 63), float32(s[g+4] & 63)
	}
	return float32(s[g+4]&15 | s[g-4]>>6<<4), float32(s[g+4]>>4 | s[g]>>6<<4)
}

// decodeQ4K: d, dmin, scales[12], qs[128]; groups of 32; y = (d*scale) * q - (dmin*min).
func decodeQ4K(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[144:], dst[256:] {
		d, dmin, scales, qs := half(src), half(src[2:]), src[4:16], src[16:144]
		for g := range 8 {
			scale, minimum := scaleMin(scales, g)
			dl, ml := d*scale, dmin*minimum
			part, shift, out := qs[g/2*32:][:32], g%2*4, dst[g*32:][:32]
			for i, q := range part {
				out[i] = float32(dl*float32(q>>shift&15)) - ml
			}
		}
	}
}

// decodeQ5K: d, dmin, scales[12], qh[32] (fifth bits), qs[128]; groups of 32; y = (d*scale) * q - (dmin*min).
func decodeQ5K(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[176:], dst[256:] {
		d, dmin, scales, qh, qs := half(src), half(src[2:]), src[4:16], src[16:48], src[48:176]
		for g := range 8 {
			scale, minimum := scaleMin(scales, g)
			dl, ml := d*scale, dmin*minimum
			part, shift, out := qs[g/2*32:][:32], g%2*4, dst[g*32:][:32]
			for i, q := range part {
				out[i] = float32(dl*float32(q>>shift&15|qh[i]>>g&1<<4)) - ml
			}
		}
	}
}

// decodeQ6K: ql[128] (low nibbles), qh[64] (high pairs), scales[16] int8, d; groups of 16;
// y = (d*scale) * (q - 32).
func decodeQ6K(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[210:], dst[256:] {
		ql, qh, scales, d := src[:128], src[128:192], src[192:208], half(src[208:])
		for g, s := range scales {
			dl := d * float32(int8(s))
			half, quarter, odd := g/8, g%8/2, g%2 // of 128 values, of 32, of 16
			low := ql[half*64+quarter%2*32+odd*16:][:16]
			high := qh[half*32+odd*16:][:16]
			lowShift, highShift := quarter/2*4, quarter*2
			for i, q := range low {
				dst[g*16+i] = dl * float32(int(q>>lowShift&15|high[i]>>highShift&3<<4)-32)
			}
		}
	}
}

// decodeQ8K: d float32, qs[256] int8, sums[16] int16 (for products only); y = d * q.
func decodeQ8K(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[292:], dst[256:] {
		d, qs := math.Float32frombits(binary.LittleEndian.Uint32(src)), src[4:260]
		for i, q := range qs {
			dst[i] = d * float32(int8(q))
		}
	}
}

// decodeIQ4XS: d, scales_h uint16 (high pairs), scales_l[4] (low nibbles), qs[128]; groups of 32;
// y = (d*(scale-32)) * iq4Level(q).
func decodeIQ4XS(src []byte, dst []float32) {
	levels := iq4Levels()
	for ; len(dst) > 0; src, dst = src[136:], dst[256:] {
		d, high, low, qs := half(src), int(binary.LittleEndian.Uint16(src[2:])), src[4:8], src[8:136]
		for g := range 8 {
			scale := int(low[g/2]>>(g%2*4)&15) | high>>(2*g)&3<<4
			dl, out := d*float32(scale-32), dst[g*32:][:32]
			for i, q := range qs[g*16:][:16] {
				out[i] = dl * levels[q&15]
				out[i+16] = dl * levels[q>>4]
			}
		}
	}
}

// decodeTQ1: qs[48] (five base-3 digits a byte), qh[4] (four), d; y = d * (digit - 1). A byte is the fraction
// digits/3^5 scaled to 256, so that a digit comes out of a product's high byte.
func decodeTQ1(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[54:], dst[256:] {
		d, out := half(src[52:]), dst[:256]
		for _, part := range [...]struct{ first, bytes, digits int }{{0, 32, 5}, {32, 16, 5}, {48, 4, 4}} {
			power := byte(1)
			for range part.digits {
				for i, q := range src[part.first:][:part.bytes] {
					out[i] = d * float32(int(uint16(q*power)*3>>8)-1)
				}
				power, out = power*3, out[part.bytes:]
			}
		}
	}
}

// decodeTQ2: qs[64] (four values a byte), d; y = d * (q - 1).
func decodeTQ2(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[66:], dst[256:] {
		d, qs := half(src[64:]), src[:64]
		for i := range 256 {
			dst[i] = d * float32(int(qs[i/128*32+i%32]>>(i%128/32*2)&3)-1)
		}
	}
}
