// 64-bit words as values.
vec4 floats(u64vec2 w) { return uintBitsToFloat(uvec4(unpack32(w.x), unpack32(w.y))); }
vec4 widen(uint type, uint64_t w) {
    const uvec2 h = unpack32(w);
    return vec4(unpack2(type, h.x), unpack2(type, h.y));
}
