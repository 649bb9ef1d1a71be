// What all attention kernels share: sizes, the mask rule and the logit. Query heads that share a kv head are
// packed as rows of one matrix: row r of kv head j is token r / GROUP, head j * GROUP + r % GROUP.
layout(constant_id = 1) const uint E = 64;      // width of q and k
layout(constant_id = 2) const uint V = 64;      // width of v and y
layout(constant_id = 3) const uint GROUP = 1;   // query heads per kv head
layout(constant_id = 4) const uint FLAGS = 0;   // what the logit and the mask contain
const bool CAUSAL = (FLAGS & 1u) != 0u, WINDOW = (FLAGS & 2u) != 0u, SOFTCAP = (FLAGS & 4u) != 0u;
const bool BIAS = (FLAGS & 8u) != 0u, SLOPES = (FLAGS & 16u) != 0u, SINKS = (FLAGS & 32u) != 0u;
const bool BASE = (FLAGS & 64u) != 0u, SEG = (FLAGS & 128u) != 0u, KEYSEG = (FLAGS & 256u) != 0u;
const bool DROPOUT = (FLAGS & 512u) != 0u, CHOSEN = (FLAGS & 1024u) != 0u;
const bool CHUNKS = (FLAGS & 2048u) != 0u;
const bool WIDE = ((E | V) & 3u) == 0u; // rows can be read and written by four elements

layout(push_constant) uniform Push {
    uint T, S, K;          // queries, keys, kv heads
    uint batch;            // first row of the batch that this dispatch does
    uint groups;           // workgroups that have work
    uint window;           // positions seen, counting the query's own; with CHUNKS the length of a chunk
    uint biasBatches;      // 1: the bias is shared by the batch
    uint splits;           // parts of the keys, each done by another workgroup
    float scale, softcap;
    uint dropKey, keep;    // dropout: number of the op; weights kept of 65536
    uint chunk;            // dropout: index in the whole batch of the bound tensors' first row
    float boost;           // dropout: factor of kept weights
    uint ahead;            // window among later positions, counting the query's own
};

uint workgroup() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint head(uint j, uint r) { return j * GROUP + r % GROUP; }
uint queryRow(uint b, uint j, uint r) { return (b * T + r / GROUP) * (K * GROUP) + head(j, r); }
uint keyRow(uint b, uint j, uint s) { return (b * S + s) * K + j; }
uint statRow(uint b, uint j, uint r) { return (b * K * GROUP + head(j, r)) * T + r / GROUP; }
int baseOf() { return BASE ? int(base[0]) : 0; }
int segOf(uint b, uint t) { return SEG ? seg[b * T + t] : 1; }
int keySegOf(uint b, uint s) { return KEYSEG ? keySeg[b * S + s] : 1; }

// seen tells whether the query at position t (base added) of sequence qSeg sees key s of sequence kSeg.
bool seen(int t, int s, int qSeg, int kSeg) {
    bool yes = kSeg != 0 && (qSeg == 0 || qSeg == kSeg);
    if (CAUSAL) yes = yes && s <= t;
    if (WINDOW) yes = yes && t - s < int(window) && s - t < int(ahead);
    if (CHUNKS) yes = yes && t / int(window) == s / int(window);
    return yes;
}

// keyRange returns the first key and the one after the last that queries at positions first .. last may see.
uvec2 keyRange(int first, int last) {
    int from = 0, to = int(S);
    if (CAUSAL) to = min(to, last + 1);
    if (WINDOW) {
        from = max(from, first - int(window) + 1);
        to = min(to, last + int(ahead));
    }
    if (CHUNKS) {
        from = max(from, first / int(window) * int(window));
        to = min(to, (last / int(window) + 1) * int(window));
    }
    return uvec2(from, max(from, to));
}

// queryRange returns the first packed row and the one after the last that may see a key in first .. last.
uvec2 queryRange(int first, int last, int base) {
    int from = 0, to = int(T);
    if (CAUSAL) from = max(from, first - base);
    if (WINDOW) {
        from = max(from, first - int(ahead) + 1 - base);
        to = min(to, last + int(window) - base);
    }
    if (CHUNKS) {
        from = max(from, first / int(window) * int(window) - base);
        to = min(to, (last / int(window) + 1) * int(window) - base);
    }
    from = max(from, 0);
    to = max(to, 0);
    from = min(from, int(T));
    return uvec2(from, max(from, to)) * GROUP;
}

// capped scales a product of q and k and bounds it to +-softcap; capSlope is its derivative by the scaled
// product.
float capped(float dotted) {
    const float x = dotted * scale;
    return SOFTCAP ? softcap * tanh_(x / softcap) : x;
}
float capSlope(float x) {
    const float y = x / softcap;
    return SOFTCAP ? 1.0 - y * y : 1.0;
}

uint biasAt(uint b, uint h, uint t, uint s) {
    return (((biasBatches == 1 ? 0 : b) * K * GROUP + h) * T + t) * S + s;
}

// isChosen reads the bit of a key in the choice [B T words] of its query, which stands at the place of the bias.
bool isChosen(uint b, uint t, uint s) {
    return (uint(chosen[(b * T + t) * ((S + 31) / 32) + s / 32]) >> (s % 32) & 1u) != 0u;
}

// logit adds what depends on the place: the bias, and ALiBi's slope times the distance; -INF where the key is not chosen.
float logit(float x, uint b, uint h, uint t, uint s, int base) {
    if (BIAS) x += bias[biasAt(b, h, t, s)];
    if (CHOSEN && !isChosen(b, t, s)) return -INF;
    if (SLOPES) x -= slopes[h] * float(abs(int(t) + base - int(s)));
    return x;
}

{{template "philox"}}

// kept is the dropout factor of the weights of keys 4i .. 4i+3: Philox of (place, seed), the same in every
// kernel.
vec4 kept(uint b, uint h, uint t, uint i) {
    if (!DROPOUT) return vec4(1.0);
    const uvec4 w = philox(uvec4(i / 2, t, (chunk + b) * K * GROUP + h, dropKey), uvec2(seed[0], seed[1]));
    const uvec2 v = (i & 1u) == 0u ? w.xy : w.zw;
    const uvec4 draws = uvec4(v.x & 0xffffu, v.x >> 16, v.y & 0xffffu, v.y >> 16);
    return mix(vec4(0.0), vec4(boost), lessThan(draws, uvec4(keep)));
}
