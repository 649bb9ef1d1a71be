// Matrix-unit machinery of attention: a workgroup of SUBS subgroups, each with F rows of its own; columns come in tiles of
// COLS through shared memory. A subgroup's products [F x COLS] go through its own slab of shared memory, where lanes see
// rows and columns, and go back to fragments as 16-bit weights. Rows are an odd number of 16-byte words apart.
layout(constant_id = 0) const uint LANES = 128;         // of the workgroup: SUBS subgroups
layout(constant_id = 5) const uint COLS = 64;           // columns of a tile, at least ROWS / 2
layout(constant_id = 6) const uint F = 16;              // a fragment is F x F x F
layout(constant_id = 7) const uint WIDTH = 32;          // of a subgroup
const uint SUBS = LANES / WIDTH, ROWS = SUBS * F;       // rows of a workgroup
const uint ES = E / 8 + 1, VS = V / 8 + 1, SS = COLS / 4 + 2, PS = COLS / 8 + 1;   // rows in octets; in quads, in octets
const uint STAGE = COLS * (ES + VS), OWN = ROWS * (ES > VS ? ES : VS);
shared uvec4 stage[STAGE > OWN ? STAGE : OWN];
shared uvec4 slab[SUBS * F * SS];
#define SUB gl_SubgroupID
#define LANE gl_SubgroupInvocationID
#define SLAB (SUB * F * SS)
#define ALL(i, n) [[unroll]] for (uint i = 0; i < n; i++)
#define ROWMAJOR gl_CooperativeMatrixLayoutRowMajor
#define COLMAJOR gl_CooperativeMatrixLayoutColumnMajor
#define FragA coopmat<ELEMENT, gl_ScopeSubgroup, F, F, gl_MatrixUseA>
#define FragB coopmat<ELEMENT, gl_ScopeSubgroup, F, F, gl_MatrixUseB>
#define FragC coopmat<float, gl_ScopeSubgroup, F, F, gl_MatrixUseAccumulator>
const uint KIND = {{if .BF}}BF16{{else}}F16{{end}};

// Copies rows of a tensor to shared memory: n rows of octets 16-byte words, PLACE(i) the row of the tensor, zeros where OUTSIDE.
#define FILL(at, stride, n, octets, QUADS, OUTSIDE, PLACE) \
    ALL(z, ((n) * (octets) + LANES - 1) / LANES) { \
        const uint x = gl_LocalInvocationIndex + z * LANES, i = x / (octets), o = x % (octets); \
        if (x < (n) * (octets)) stage[(at) + i * (stride) + o] = OUTSIDE ? uvec4(0) : QUADS[(PLACE) * (octets) + o]; \
    }
// Loads the subgroup's own F rows of a staged tensor as fragments.
#define LOAD_OWN(frag, width, stride) \
    ALL(e, (width) / F) coopMatLoad(frag[e], stage, SUB * F * (stride) + e * F / 8, stride, ROWMAJOR);
// slab = own rows times the staged rows at AT: F x COLS sums.
#define PRODUCT(frag, width, at, stride) \
    ALL(c, COLS / F) { \
        FragC s = FragC(0.0); \
        ALL(e, (width) / F) { \
            FragB y; \
            coopMatLoad(y, stage, (at) + c * F * (stride) + e * F / 8, stride, COLMAJOR); \
            s = coopMatMulAdd(frag[e], y, s); \
        } \
        coopMatStore(s, slab, SLAB + c * F / 4, SS, ROWMAJOR); \
    }
// acc += the slab's weights times the staged rows at AT.
#define WEIGH(acc, width, at, stride) { \
    FragA w[COLS / F]; \
    ALL(c, COLS / F) coopMatLoad(w[c], slab, SLAB + c * F / 8, PS, ROWMAJOR); \
    ALL(v, (width) / F) ALL(c, COLS / F) { \
        FragB y; \
        coopMatLoad(y, stage, (at) + c * F * (stride) + v * F / 8, stride, ROWMAJOR); \
        acc[v] = coopMatMulAdd(w[c], y, acc[v]); \
    } }
// Writes the sums of the subgroup's rows, COLS features at a time, as 16-bit rows: OK and PLACE for row i of F.
#define WRITE_OUT(acc, width, OK, PLACE, QUADS, FACTOR) \
    for (uint f0 = 0; f0 < (width); f0 += COLS) { \
        const uint wide = min(COLS, (width) - f0); \
        ALL(v, (width) / F) if (v * F >= f0 && v * F < f0 + COLS) \
            coopMatStore(acc[v], slab, SLAB + (v * F - f0) / 4, SS, ROWMAJOR); \
        subgroupBarrier(); \
        for (uint x = LANE; x < F * wide / 8; x += WIDTH) { \
            const uint i = x / (wide / 8), o = x % (wide / 8); \
            const vec4 low = uintBitsToFloat(slab[SLAB + i * SS + 2 * o]) * FACTOR; \
            const vec4 high = uintBitsToFloat(slab[SLAB + i * SS + 2 * o + 1]) * FACTOR; \
            if (OK) QUADS[(PLACE) * ((width) / 8) + f0 / 8 + o] = \
                uvec4(pack2(KIND, low.xy), pack2(KIND, low.zw), pack2(KIND, high.xy), pack2(KIND, high.zw)); \
        } \
        subgroupBarrier(); \
    }

// Lanes of a row: PER of them share row LANE / PER; lane part p has the quads p, p + PER, ...
const uint PER = WIDTH / F, MINE = COLS / 4 / PER;
float rowMost(float v) { ALL(d, 3) if ((1u << d) < PER) v = max(v, subgroupShuffleXor(v, 1u << d)); return v; }
float rowTotal(float v) { ALL(d, 3) if ((1u << d) < PER) v += subgroupShuffleXor(v, 1u << d); return v; }

// putWeights stores quad q of the subgroup's row i.
void putWeights(uint i, uint q, vec4 w) {
    const uvec2 x = uvec2(pack2(KIND, w.xy), pack2(KIND, w.zw));
    const uint at = SLAB + i * PS + q / 2;
    if ((q & 1u) == 0u) slab[at].xy = x;
    else slab[at].zw = x;
}

// softExp is exp(x) for x <= 0 to what 16-bit weights can tell; NaN (no key at all) gives 0.
float softExp(float x) { return exp2(max(x * LOG2_E, -300.0)); }

// The sequences of a tile's keys, for the mask.
shared int tileSeg[COLS];
#define FILL_SEG(s0) \
    if (KEYSEG && gl_LocalInvocationIndex < COLS) \
        tileSeg[gl_LocalInvocationIndex] = keySeg[b * S + min((s0) + gl_LocalInvocationIndex, S - 1)];

// allSeen tells whether every row of the subgroup sees every key of a tile that ends at key end: lanes hold their rows'
// sequence and position (base added).
bool allSeen(uint s0, uint end, int qSeg, int t) {
    bool yes = s0 + COLS <= end;
    if (CAUSAL) yes = yes && int(s0 + COLS) - 1 <= t;
    if (WINDOW) yes = yes && t - int(s0) < int(window) && int(s0 + COLS) - 1 - t < int(ahead);
    if (CHUNKS) yes = yes && t / int(window) == int(s0) / int(window) && t / int(window) == int(s0 + COLS - 1) / int(window);
    if (KEYSEG) {
        const int one = tileSeg[0];
        for (uint c = LANE; c < COLS; c += WIDTH) yes = yes && tileSeg[c] == one;
        yes = yes && one != 0 && (qSeg == 0 || qSeg == one);
    }
    return subgroupAll(yes);
}
