// Elementary functions from + - * /, floor, sqrt and bit patterns alone, so that every driver gives the same
// 1-2 ulp: the built-in exp, log, pow, tanh and sin of Vulkan drivers may be far looser. Coefficients: own
// minimax fits. `precise` guards what a compiler must not reassociate or contract. Results below 2^-126 may
// be flushed to zero.
#define INF uintBitsToFloat(0x7f800000u)
#define NAN uintBitsToFloat(0x7fc00000u)
const float LN2_HI = 0.693359375, LN2_LO = -2.1219444e-4; // the high part has 9 bits: n * LN2_HI is exact
const float LOG2_E = 1.44269504, SQRT_HALF = 0.70710678, SQRT_2_PI = 0.7978845608, INV_SQRT_2PI = 0.39894228;

bool nan_(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
float exp2i(int n) { return uintBitsToFloat(uint(n + 127) << 23); } // 2^n, -126 <= n <= 127

// expPoly is exp(r) - 1 for |r| <= ln(2)/2, relative error 3e-9 before rounding.
float expPoly(float r) {
    float p = 1.3814170e-3;
    p = p * r + 8.3689215e-3;
    p = p * r + 4.1668408e-2;
    p = p * r + 1.6666520e-1;
    p = p * r + 4.9999994e-1;
    return r + r * r * p;
}

// expSum is exp(hi + lo) for |lo| far below |hi|; hi + lo may overflow or underflow.
float expSum(float hi, float lo) {
    const float x = min(max(hi, -104.0), 89.0);
    const float n = floor(x * LOG2_E + 0.5);
    precise float r = x - n * LN2_HI;
    r = r - n * LN2_LO;
    r = r + lo;
    const int k = int(n), half_ = k >> 1;
    precise float y = 1.0 + expPoly(r);
    y = y * exp2i(half_);
    y = y * exp2i(k - half_);
    return y;
}

float exp_(float x) { return nan_(x) ? x : expSum(x, 0.0); }

// expNeg is exp(x) for x <= 0 (-inf included), 0 below exp(-87): the softmax numerator, without the slow
// cases.
float expNeg(float x) {
    const float t = max(x, -87.0);
    const float n = floor(t * LOG2_E + 0.5);
    precise float r = t - n * LN2_HI;
    r = r - n * LN2_LO;
    precise float y = 1.0 + expPoly(r);
    return x < -87.0 ? 0.0 : y * exp2i(int(n));
}

float expm1_(float x) {
    if (nan_(x)) return x;
    if (x > 20.0) return expSum(x, 0.0);
    if (x < -20.0) return -1.0;
    const float n = floor(x * LOG2_E + 0.5);
    precise float r = x - n * LN2_HI;
    r = r - n * LN2_LO;
    const float scale = exp2i(int(n));
    precise float y = expPoly(r) * scale;
    y = y + (scale - 1.0);
    return abs(x) < 1.0e-7 ? x : y;
}

// logSum is log(x) + c for a positive x and a small c.
float logSum(float x, float c) {
    uint u = floatBitsToUint(x);
    int k = 0;
    if (u < 0x00800000u) { // subnormal
        u = floatBitsToUint(x * 16777216.0);
        k = -24;
    }
    u += 0x3f800000u - 0x3f3504f3u; // mantissa to [sqrt(1/2), sqrt(2))
    k += int(u >> 23) - 127;
    precise float f = uintBitsToFloat((u & 0x007fffffu) + 0x3f3504f3u) - 1.0;
    const float s = f / (2.0 + f), z = s * s;
    float p = 2.3594773e-1;
    p = p * z + 2.8536680e-1;
    p = p * z + 4.0000343e-1;
    p = p * z + 6.6666663e-1;
    const float kf = float(k);
    precise float h = 0.5 * f * f;
    precise float low = s * (h + p * z);
    low = low + (kf * LN2_LO + c);
    precise float y = h - low;
    y = y - f;
    y = kf * LN2_HI - y;
    return y;
}

float log_(float x) {
    if (nan_(x) || x == INF) return x;
    if (x < 0.0) return NAN;
    return x == 0.0 ? -INF : logSum(x, 0.0);
}

float log1p_(float x) {
    if (nan_(x) || x == INF || abs(x) < 2.0e-8) return x;
    if (x <= -1.0) return x == -1.0 ? -INF : NAN;
    precise float u = 1.0 + x;
    precise float c = u - 1.0;
    c = x >= 1.0 ? 1.0 - (u - x) : x - c;
    return logSum(u, c / u);
}

// sigmoid_ keeps its relative accuracy in both tails.
float sigmoid_(float x) {
    const float e = exp_(-abs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

float softplus_(float x) { return max(x, 0.0) + log1p_(exp_(-abs(x))); }

float tanh_(float x) {
    const float a = abs(x), z = x * x;
    if (a < 0.6) {
        float p = 2.1597184e-3;
        p = p * z - 8.1949802e-3;
        p = p * z + 2.1707512e-2;
        p = p * z - 5.3947948e-2;
        p = p * z + 1.3333215e-1;
        p = p * z - 3.3333331e-1;
        return x + x * z * p;
    }
    const float y = 1.0 - 2.0 / (exp_(2.0 * a) + 1.0);
    return x < 0.0 ? -y : y;
}

// erfPoly is erf(x) for |x| <= 1.
float erfPoly(float x) {
    const float z = x * x;
    float p = -9.6415124e-6;
    p = p * z + 1.1256946e-4;
    p = p * z - 8.4828283e-4;
    p = p * z + 5.2209455e-3;
    p = p * z - 2.6865401e-2;
    p = p * z + 1.1283782e-1;
    p = p * z - 3.7612638e-1;
    p = p * z + 1.2837917e-1;
    return x + x * p;
}

// erfcScaled is exp(x*x) * erfc(x) for x >= 0.45.
float erfcScaled(float x) {
    const float t = (x - 3.0) / (x + 3.0);
    float p = -5.0158071e-4;
    p = p * t + 1.8490108e-3;
    p = p * t + 2.3708052e-3;
    p = p * t - 2.3771619e-2;
    p = p * t + 6.8343259e-2;
    p = p * t - 1.1927219e-1;
    p = p * t + 1.2964208e-1;
    p = p * t - 4.7562398e-2;
    p = p * t - 1.3562103e-1;
    p = p * t + 1.2530080;
    return p / (1.0 + 2.0 * x);
}

// expSquare is exp(scale * x * x), scale <= 0 a power of two: the square is carried in two parts.
float expSquare(float x, float scale) {
    const float a = min(abs(x), 16.0);
    const float head = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    precise float square = a * a;
    precise float rest = head * head - square;
    precise float tail = (a - head) * (a + head);
    rest = rest + tail;
    return expSum(scale * square, scale * rest);
}

float erfc_(float x) {
    if (nan_(x)) return x;
    if (abs(x) < 0.5) return 1.0 - erfPoly(x);
    const float tail = erfcScaled(abs(x)) * expSquare(x, -1.0);
    return x < 0.0 ? 2.0 - tail : tail;
}

float erf_(float x) {
    if (nan_(x)) return x;
    const float a = abs(x);
    if (a < 1.0) return erfPoly(x);
    const float y = 1.0 - erfcScaled(a) * expSquare(a, -1.0);
    return x < 0.0 ? -y : y;
}

// normalCDF is the standard normal distribution function, accurate in the left tail too.
float normalCDF(float x) {
    if (nan_(x)) return x;
    const float a = abs(x) * SQRT_HALF;
    if (a < 0.5) return 0.5 + 0.5 * erfPoly(x * SQRT_HALF);
    const float tail = 0.5 * erfcScaled(min(a, 1.0e4)) * expSquare(x, -0.5);
    return x < 0.0 ? tail : 1.0 - tail;
}

float normalPDF(float x) { return INV_SQRT_2PI * expSquare(x, -0.5); }

// Sums and products in two parts (x the rounded result, y the exact rest). Sources: Knuth's TwoSum, Dekker's
// product.
vec2 twoSum(float a, float b) {
    precise float s = a + b;
    precise float t = s - a;
    precise float e = s - t;
    e = a - e;
    t = b - t;
    e = e + t;
    return vec2(s, e);
}
vec2 twoProduct(float a, float b) {
    precise float p = a * b;
    precise float ca = 4097.0 * a;
    precise float ah = ca - a;
    ah = ca - ah;
    precise float al = a - ah;
    precise float cb = 4097.0 * b;
    precise float bh = cb - b;
    bh = cb - bh;
    precise float bl = b - bh;
    precise float e = ah * bh - p;
    e = e + ah * bl;
    e = e + al * bh;
    e = e + al * bl;
    return vec2(p, e);
}

// pow_ is x^y for x >= 0 (NaN for a negative x): the logarithm is carried in two parts.
float pow_(float x, float y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (nan_(x) || nan_(y) || x < 0.0) return NAN;
    if (x == 0.0 || x == INF) return (x == 0.0) == (y > 0.0) ? 0.0 : INF;
    uint u = floatBitsToUint(x);
    int k = 0;
    if (u < 0x00800000u) {
        u = floatBitsToUint(x * 16777216.0);
        k = -24;
    }
    u += 0x3f800000u - 0x3f3504f3u;
    k += int(u >> 23) - 127;
    const float m = uintBitsToFloat((u & 0x007fffffu) + 0x3f3504f3u), kf = float(k);
    precise float f = m - 1.0;
    const vec2 d = twoSum(m, 1.0);
    const float s = f / d.x;
    const vec2 sd = twoProduct(s, d.x);
    precise float rest = (f - sd.x) - sd.y;
    rest = (rest - s * d.y) / d.x;
    const float z = s * s;
    float p = 1.9479591e-1;
    p = p * z + 2.2184344e-1;
    p = p * z + 2.8571886e-1;
    p = p * z + 3.9999998e-1;
    p = p * z + 6.6666667e-1;
    const vec2 sum = twoSum(kf * LN2_HI, 2.0 * s);
    precise float low = s * z * p + 2.0 * rest;
    low = low + kf * LN2_LO;
    low = low + sum.y;
    const vec2 lg = twoSum(sum.x, low);
    const float q = lg.x * y;
    if (q > 89.0) return INF;
    if (q < -104.0) return 0.0;
    vec2 w = twoProduct(lg.x, y);
    return expSum(w.x, w.y + lg.y * y);
}

// quarterTurns reduces x by multiples of pi/2: x part of the result in [-pi/4, pi/4], y the multiple. For |x|
// <= 5e4.
vec2 quarterTurns(float x) {
    const float n = floor(x * 0.63661977 + 0.5);
    precise float r = x - n * 1.5703125;
    r = r - n * 4.8351287841796875e-4;
    r = r - n * 3.1385570764541626e-7;
    r = r - n * 6.077100506e-11;
    return vec2(r, n);
}
float sinPoly(float r) {
    const float z = r * r;
    return r + r * z * (-1.6666667e-1 + z * (8.3333291e-3 + z * (-1.9839319e-4 + z * 2.7181627e-6)));
}
float cosPoly(float r) {
    const float z = r * r;
    return 1.0 - (0.5 * z - z * z * (4.1666646e-2 + z * (-1.3887355e-3 + z * 2.4437009e-5)));
}
float sin_(float x) {
    const vec2 t = quarterTurns(x);
    const int q = int(t.y);
    const float y = (q & 1) == 0 ? sinPoly(t.x) : cosPoly(t.x);
    return (q & 2) == 0 ? y : -y;
}
float cos_(float x) {
    const vec2 t = quarterTurns(x);
    const int q = int(t.y) + 1;
    const float y = (q & 1) == 0 ? sinPoly(t.x) : cosPoly(t.x);
    return (q & 2) == 0 ? y : -y;
}
