package model

import (
	"hash/fnv"
	"math"
)

// Philox is the counter-based generator Philox4x32-10: the same key and counter give the same four words on
// every machine and in any order, so that random values depend on a seed and a position alone.
//
// Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC11); Random123 philox.h.
func Philox(key [2]uint32, counter [4]uint32) [4]uint32 {
	k0, k1 := key[0], key[1]
	c := counter
	for range 10 {
		a := uint64(0xD2511F53) * uint64(c[0])
		b := uint64(0xCD9E8D57) * uint64(c[2])
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k0, uint32(b), uint32(a>>32) ^ c[3] ^ k1, uint32(a)}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

// stream is the random numbers that belong to a name under a seed.
type stream struct {
	key  [2]uint32
	high [2]uint32
}

// newStream keys a stream by seed and name.
func newStream(seed uint64, name string) stream {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	n := h.Sum64()
	return stream{[2]uint32{uint32(seed), uint32(seed >> 32)}, [2]uint32{uint32(n), uint32(n >> 32)}}
}

// block returns words 4*i to 4*i+3 of the stream.
func (s stream) block(i uint64) [4]uint32 {
	return Philox(s.key, [4]uint32{uint32(i), uint32(i >> 32), s.high[0], s.high[1]})
}

// normals fills dst with standard normal values, elements from*4 on of the stream, by the Box-Muller
// transform.
func (s stream) normals(from uint64, dst []float32) {
	for i := 0; i < len(dst); i += 4 {
		w := s.block(from + uint64(i/4))
		for j := 0; j < 4; j += 2 {
			// (w+1)/2^32 is in (0,1], so its logarithm is finite.
			r := math.Sqrt(-2 * math.Log((float64(w[j])+1)*0x1p-32))
			sin, cos := math.Sincos(2 * math.Pi * float64(w[j+1]) * 0x1p-32)
			for k, v := range [2]float64{r * cos, r * sin} {
				if i+j+k < len(dst) {
					dst[i+j+k] = float32(v)
				}
			}
		}
	}
}

// Signs returns words of fair random bits of a named stream, 32 signs a word: word i is block i/4's word i%4.
func Signs(seed uint64, name string, words int) []uint32 {
	s := newStream(seed, name)
	out := make([]uint32, words)
	for i := 0; i < words; i += 4 {
		w := s.block(uint64(i / 4))
		copy(out[i:], w[:])
	}
	return out
}
