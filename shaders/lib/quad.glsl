vec4 {{.}}At(uint base, uint i) { // elements base + 4i .. of a row of N, zero past its end
    if (WHOLE) return {{.}}4(base / 4 + i);
    const uint left = N - 4 * i, at = base + 4 * i;
    return vec4({{.}}(at), left > 1 ? {{.}}(at + 1) : 0.0, left > 2 ? {{.}}(at + 2) : 0.0, left > 3 ? {{.}}(at + 3) : 0.0);
}
