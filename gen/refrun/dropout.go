package refrun

import "math/bits"

// dropout draws which weights are kept, as the kernels do. The zero dropout keeps all.
type dropout struct {
	p    float64
	seed [2]uint32
	key  uint32
}

// newDropout reads the attributes dropout (float64), seed0, seed1 and key (int).
func newDropout(c *Call) (d dropout) {
	d.p, _ = c.Attr["dropout"].(float64)
	seed0, _ := c.Attr["seed0"].(int)
	seed1, _ := c.Attr["seed1"].(int)
	key, _ := c.Attr["key"].(int)
	d.seed, d.key = [2]uint32{uint32(seed0), uint32(seed1)}, uint32(key)
	return d
}

// factor is 0 or 1/(1-p) for draw n (0 to 7, 16 bits each) of a place.
func (d dropout) factor(x, y, z uint32, n int) float64 {
	if d.p == 0 {
		return 1
	}
	words := philox([4]uint32{x, y, z, d.key}, d.seed)
	if words[n/2]>>(16*(n%2))&0xffff < uint32((1-d.p)*65536) {
		return 1 / (1 - d.p)
	}
	return 0
}

// philox is Philox4x32-10. Source: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}
