// Activations by number, the constant ACT that the kernel declares (numbers: runtime/nn/activation.go). Needs
// lib/math. Formulas: transformers activations.py ACT2FN. actGrad is the derivative; at a kink it is the one
// PyTorch takes.
float geluTanhArg2(float x) { return 2.0 * SQRT_2_PI * (x + 0.044715 * x * x * x); }

float act(float x) {
    switch (int(ACT)) {
    case 0: return x;                                             // linear
    case 1: return x * normalCDF(x);                              // gelu
    case 2: return x * sigmoid_(geluTanhArg2(x));                 // gelu, tanh form: (1+tanh u)/2 = sigmoid(2u)
    case 3: return clamp(x * normalCDF(x), -10.0, 10.0);          // gelu_10
    case 4: return x * sigmoid_(x);                               // silu
    case 5: return x * sigmoid_(1.702 * x);                       // quick_gelu
    case 6: return max(x, 0.0);                                   // relu
    case 7: return max(x, 0.0) * max(x, 0.0);                     // relu2
    case 8: return clamp(x, 0.0, 6.0);                            // relu6
    case 9: return x >= 0.0 ? x : 0.01 * x;                       // leaky_relu
    case 10: return sigmoid_(x);
    case 11: return tanh_(x);
    case 12: {                                                    // mish: tanh(log(1+e)) = n/(n+2), n = e(e+2)
        const float e = exp_(min(x, 20.0)), n = e * (e + 2.0);
        return x * (n / (n + 2.0));
    }
    case 13: return normalCDF((x - 0.707107) * 3.5449051);        // laplace: sigma 0.282095
    case 14: return x * clamp(x + 3.0, 0.0, 6.0) * (1.0 / 6.0);   // hardswish
    case 15: return sqrt(softplus_(x));                           // sqrtsoftplus
    case 16: return softplus_(x);
    case 17: return exp_(x);
    }
    return x;
}

float actGrad(float x) {
    switch (int(ACT)) {
    case 1: case 3: {
        const float cdf = normalCDF(x);
        if (ACT == 3 && abs(x * cdf) > 10.0) return 0.0;
        return cdf + x * normalPDF(x);
    }
    case 2: {
        const float c = clamp(x, -20.0, 20.0), u = geluTanhArg2(c), s = sigmoid_(u); // beyond, s is 0 or 1
        return s + c * (s * sigmoid_(-u)) * (2.0 * SQRT_2_PI * (1.0 + 0.134145 * c * c));
    }
    case 4: {
        const float s = sigmoid_(x);
        return s + x * (s * sigmoid_(-x));
    }
    case 5: {
        const float u = 1.702 * x, s = sigmoid_(u);
        return s + u * (s * sigmoid_(-u));
    }
    case 6: return x > 0.0 ? 1.0 : 0.0;
    case 7: return 2.0 * max(x, 0.0);
    case 8: return x > 0.0 && x < 6.0 ? 1.0 : 0.0;
    case 9: return x > 0.0 ? 1.0 : 0.01;
    case 10: return sigmoid_(x) * sigmoid_(-x);
    case 11: {
        const float e = exp_(-2.0 * abs(x)), d = 1.0 + e;
        return 4.0 * e / (d * d);
    }
    case 12: {
        const float c = min(x, 20.0), e = exp_(c), n = e * (e + 2.0), d = n + 2.0;
        return n / d + c * sigmoid_(c) * (4.0 * (n + 1.0) / d / d);
    }
    case 13: return 3.5449051 * normalPDF((x - 0.707107) * 3.5449051);
    case 14: return x <= -3.0 ? 0.0 : x < 3.0 ? x * (1.0 / 3.0) + 0.5 : 1.0;
    case 15: return 0.5 * sigmoid_(x) / sqrt(softplus_(x));
    case 16: return sigmoid_(x);
    case 17: return exp_(x);
    }
    return 1.0;
}
