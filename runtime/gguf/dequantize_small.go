package gguf

import (
	"encoding/binary"
	"math"
)

// The types with blocks of 32 values. d is the block's scale and m its offset, both binary16; the nibbles of
// qs[i] are the values i (low) and i+16 (high).
//
// Source: ggml-quants.c, dequantize_row_*.

// decodeQ4_0: d, qs[16]; y = d * (q - 8).
func decodeQ4_0(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[18:], dst[32:] {
		d, qs := half(src), src[2:18]
		for i, q := range qs {
			dst[i] = d * float32(int(q&15)-8)
			dst[i+16] = d * float32(int(q>>4)-8)
		}
	}
}

// decodeQ4_1: d, m, qs[16]; y = d * q + m.
func decodeQ4_1(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[20:], dst[32:] {
		d, m, qs := half(src), half(src[2:]), src[4:20]
		for i, q := range qs {
			dst[i] = float32(d*float32(q&15)) + m
			dst[i+16] = float32(d*float32(q>>4)) + m
		}
	}
}

// decodeQ5_0: d, qh uint32 (fifth bits), qs[16]; y = d * (q - 16).
func decodeQ5_0(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[22:], dst[32:] {
		d, qh, qs := half(src), binary.LittleEndian.Uint32(src[2:]), src[6:22]
		for i, q := range qs {
			dst[i] = d * float32(int(uint32(q&15)|qh>>i&1<<4)-16)
			dst[i+16] = d * float32(int(uint32(q>>4)|qh>>(i+16)&1<<4)-16)
		}
	}
}

// decodeQ5_1: d, m, qh uint32 (fifth bits), qs[16]; y = d * q + m.
func decodeQ5_1(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[24:], dst[32:] {
		d, m, qh, qs := half(src), half(src[2:]), binary.LittleEndian.Uint32(src[4:]), src[8:24]
		for i, q := range qs {
			dst[i] = float32(d*float32(uint32(q&15)|qh>>i&1<<4)) + m
			dst[i+16] = float32(d*float32(uint32(q>>4)|qh>>(i+16)&1<<4)) + m
		}
	}
}

// decodeQ8_0: d, qs[32] int8; y = d * q.
func decodeQ8_0(src []byte, dst []float32) {
	for ; len(dst) > 0; src, dst = src[34:], dst[32:] {
		d, qs := half(src), src[2:34]
		for i, q := range qs {
			dst[i] = d * float32(int8(q))
		}
	}
}

// decodeIQ4NL: d, qs[16]; y = d * iq4Level(q).
func decodeIQ4NL(src []byte, dst []float32) {
	levels := iq4Levels()
	for ; len(dst) > 0; src, dst = src[18:], dst[32:] {
		d, qs := half(src), src[2:18]
		for i, q := range qs {
			dst[i] = d * levels[q&15]
			dst[i+16] = d * levels[q>>4]
		}
	}
}

// iq4Levels are the unevenly spaced values of the IQ4 types.
//
// Source: ggml-common.h, kvalues_iq4nl.
func iq4Levels() [16]float32 {
	return [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
}

// decodeMXFP4: e (a power of two, E8M0), qs[16] E2M1; y = 2^(e-128) * (2 * q).
//
// Source: OCP Microscaling Formats v1.0; ggml-common.h, kvalues_mxfp4 (E2M1 doubled, hence the halved scale).
func decodeMXFP4(src []byte, dst []float32) {
	levels := [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
	for ; len(dst) > 0; src, dst = src[17:], dst[32:] {
		d, qs := halvedE8M0(src[0]), src[1:17]
		for i, q := range qs {
			dst[i] = d * levels[q&15]
			dst[i+16] = d * levels[q>>4]
		}
	}
}

// decodeNVFP4: four scales (E4M3 without sign), qs[32] E2M1; groups of 16 in 8 bytes, low nibbles first;
// y = scale/2 * (2 * q). A file's further scale for the whole tensor is a tensor of its own.
func decodeNVFP4(src []byte, dst []float32) {
	levels := [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
	for ; len(dst) > 0; src, dst = src[36:], dst[64:] {
		for g, s := range src[:4] {
			d, out := halvedUE4M3(s), dst[g*16:][:16]
			for i, q := range src[4+g*8:][:8] {
				out[i] = d * levels[q&15]
				out[i+8] = d * levels[q>>4]
			}
		}
	}
}

// halvedUE4M3 returns half of an E4M3 number (bias 7), whose sign bit is ignored; 127, its NaN, counts as 0.
func halvedUE4M3(x byte) float32 {
	exp, frac := uint32(x>>3&15), float32(x&7)
	switch {
	case x == 127:
		return 0
	case exp == 0:
		return frac * 0x1p-10
	}
	return math.Float32frombits((exp+119)<<23) * (1 + frac/8)
}

// halvedE8M0 returns 2^(e-128), whose two smallest values are float32 subnormals.
func halvedE8M0(e byte) float32 {
	if e < 2 {
		return math.Float32frombits(0x00200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}
