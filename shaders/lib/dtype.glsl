// Storage types: 0 f32, 1 bf16, 2 f16. Everything is computed in f32; 16-bit values live in pairs in 32-bit words,
// the element of even index in the low half, so no 16-bit feature of the device is needed.
const uint F32 = 0, BF16 = 1, F16 = 2;

// unpack2 widens the two 16-bit values of word w.
vec2 unpack2(uint type, uint w) {
    return type == BF16 ? uintBitsToFloat(uvec2(w << 16, w & 0xffff0000u)) : unpackHalf2x16(w);
}

// bf16Bits rounds v to the nearest bf16, ties to even; a NaN stays one.
uint bf16Bits(float v) {
    const uint u = floatBitsToUint(v);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (u >> 16) | 0x40u;
    return (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
}

// pack2 rounds v to two 16-bit values in one word.
uint pack2(uint type, vec2 v) {
    return type == BF16 ? bf16Bits(v.x) | (bf16Bits(v.y) << 16) : packHalf2x16(v);
}
