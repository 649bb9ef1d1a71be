// philox is Philox4x32-10: four random words for a counter and a key.
// Source: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3.
uvec4 philox(uvec4 counter, uvec2 k) {
    for (int round = 0; round < 10; round++) {
        uint hi0, lo0, hi1, lo1;
        umulExtended(0xD2511F53u, counter.x, hi0, lo0);
        umulExtended(0xCD9E8D57u, counter.z, hi1, lo1);
        counter = uvec4(hi1 ^ counter.y ^ k.x, lo1, hi0 ^ counter.w ^ k.y, lo0);
        k += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}
