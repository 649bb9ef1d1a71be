-- act --
void main() {
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint at0 = W * (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
    if (at0 >= rows * D) return;
    const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
    vec4 y4;
    [[unroll]] for (uint k = 0; k < W; k++) {
        const float x = x4[k];
        const float y = act(x);
        y4[k] = y;
    }
    if (W == 4) setYs4(at0 / 4, y4);
    else setYs(at0, y4.x);
}
-- act_grad_944078 --
void main() {
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint at0 = W * (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
    if (at0 >= rows * D) return;
    const vec4 dy4 = W == 4 ? dys4(at0 / 4) : vec4(dys(at0));
    const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
    vec4 dx4;
    [[unroll]] for (uint k = 0; k < W; k++) {
        const float dy = dy4[k];
        const float x = x4[k];
        const float dx = dy * actGrad(x);
        dx4[k] = dx;
    }
    if (W == 4) setDxs4(at0 / 4, dx4);
    else setDxs(at0, dx4.x);
}
-- add --
void main() {
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint at0 = W * (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
    if (at0 >= rows * D) return;
    const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
    const vec4 u4 = W == 4 ? us4(at0 / 4) : vec4(us(at0));
    vec4 y4;
    [[unroll]] for (uint k = 0; k < W; k++) {
        const float x = x4[k];
        const float u = u4[k];
        const float y = x + u;
        y4[k] = y;
    }
    if (W == 4) setYs4(at0 / 4, y4);
    else setYs(at0, y4.x);
}
-- add_ac19c1 --
void main() {
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint at0 = W * (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
    if (at0 >= rows * D) return;
    const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
    const vec4 u4 = W == 4 ? us4(at0 / 4) : vec4(us(at0));
    vec4 y4;
    [[unroll]] for (uint k = 0; k < W; k++) {
        const float x = x4[k];
        const float u = u4[k];
        const float y = x + u;
        y4[k] = y;
    }
    if (W == 4) setYs4(at0 / 4, y4);
    else setYs(at0, y4.x);
}
-- glu --
void main() {
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint at0 = W * (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
    if (at0 >= rows * D) return;
    const vec4 gate4 = W == 4 ? gates4(at0 / 4) : vec4(gates(at0));
    const vec4 up4 = W == 4 ? ups4(at0 / 4) : vec4(ups(at0));
    vec4 y4;
    [[unroll]] for (uint k = 0; k < W; k++) {
        const float gate = gate4[k];
        const float up = up4[k];
        const float y = act(gate) * up;
        y4[k] = y;
    }
    if (W == 4) setYs4(at0 / 4, y4);
    else setYs(at0, y4.x);
}
-- glu_grad_f18837 --
void main() {
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    const uint at0 = W * (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
    if (at0 >= rows * D) return;
    const vec4 dy4 = W == 4 ? dys4(at0 / 4) : vec4(dys(at0));
    const vec4 gate4 = W == 4 ? gates4(at0 / 4) : vec4(gates(at0));
    const vec4 up4 = W == 4 ? ups4(at0 / 4) : vec4(ups(at0));
    vec4 dgate4;
    vec4 dup4;
    [[unroll]] for (uint k = 0; k < W; k++) {
        const float dy = dy4[k];
        const float gate = gate4[k];
        const float up = up4[k];
        const float dgate = dy * up * actGrad(gate);
        const float dup = dy * act(gate);
        dgate4[k] = dgate;
        dup4[k] = dup;
    }
    if (W == 4) setDgates4(at0 / 4, dgate4);
    else setDgates(at0, dgate4.x);
    if (W == 4) setDups4(at0 / 4, dup4);
    else setDups(at0, dup4.x);
}
-- rms_norm --
void main() {
    const uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (group >= groups) return;
    for (uint row = group; row < rows; row += groups) {
        float mean1 = 0.0;
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float x = x4[k];
                mean1 += x * x;
            }
        }
        mean1 = rowSum(mean1) / float(D);
        const float r = 1.0 / sqrt(mean1 + eps);
        if (lane == 0) rs[row] = r;
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            const vec4 weight4 = W == 4 ? weights4(i0 / 4) : vec4(weights(i0));
            vec4 y4;
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float x = x4[k];
                const float weight = weight4[k];
                const float y = x * r * weight;
                y4[k] = y;
            }
            if (W == 4) setYs4(at0 / 4, y4);
            else setYs(at0, y4.x);
        }
    }
}
-- rms_norm_9b22b4 --
void main() {
    const uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (group >= groups) return;
    for (uint row = group; row < rows; row += groups) {
        float mean1 = 0.0;
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float x = x4[k];
                mean1 += x * x;
            }
        }
        mean1 = rowSum(mean1) / float(D);
        const float r = 1.0 / sqrt(mean1 + eps);
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            const vec4 weight4 = W == 4 ? weights4(i0 / 4) : vec4(weights(i0));
            vec4 y4;
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float x = x4[k];
                const float weight = weight4[k];
                const float y = x * r * weight;
                y4[k] = y;
            }
            if (W == 4) setYs4(at0 / 4, y4);
            else setYs(at0, y4.x);
        }
    }
}
-- rms_norm_grad_44277a --
void main() {
    const uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (group >= groups) return;
    for (uint row = group; row < rows; row += groups) {
        const float r = rs[row];
        float mean1 = 0.0;
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const uint column = group * D + i0;
            const vec4 dy4 = W == 4 ? dys4(at0 / 4) : vec4(dys(at0));
            const vec4 weight4 = W == 4 ? weights4(i0 / 4) : vec4(weights(i0));
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float dy = dy4[k];
                const float weight = weight4[k];
                const float x = x4[k];
                const float dweight = dy * x * r;
                dweights[column + k] = row == group ? dweight : dweights[column + k] + dweight;
                mean1 += dy * weight * x;
            }
        }
        mean1 = rowSum(mean1) / float(D);
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const vec4 dy4 = W == 4 ? dys4(at0 / 4) : vec4(dys(at0));
            const vec4 weight4 = W == 4 ? weights4(i0 / 4) : vec4(weights(i0));
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            vec4 dx4;
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float dy = dy4[k];
                const float weight = weight4[k];
                const float x = x4[k];
                const float dx = r * (dy * weight - x * r * r * mean1);
                dx4[k] = dx;
            }
            if (W == 4) setDxs4(at0 / 4, dx4);
            else setDxs(at0, dx4.x);
        }
    }
}
-- rms_norm_grad_add_b5a933 --
void main() {
    const uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (group >= groups) return;
    for (uint row = group; row < rows; row += groups) {
        const float r = rs[row];
        float mean1 = 0.0;
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const uint column = group * D + i0;
            const vec4 dy4 = W == 4 ? dys4(at0 / 4) : vec4(dys(at0));
            const vec4 weight4 = W == 4 ? weights4(i0 / 4) : vec4(weights(i0));
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float dy = dy4[k];
                const float weight = weight4[k];
                const float x = x4[k];
                const float dweight = dy * x * r;
                dweights[column + k] = row == group ? dweight : dweights[column + k] + dweight;
                mean1 += dy * weight * x;
            }
        }
        mean1 = rowSum(mean1) / float(D);
        for (uint i0 = W * lane; i0 < D; i0 += W * lanes) {
            const uint at0 = row * D + i0;
            const vec4 dy4 = W == 4 ? dys4(at0 / 4) : vec4(dys(at0));
            const vec4 weight4 = W == 4 ? weights4(i0 / 4) : vec4(weights(i0));
            const vec4 x4 = W == 4 ? xs4(at0 / 4) : vec4(xs(at0));
            const vec4 x24 = W == 4 ? x2s4(at0 / 4) : vec4(x2s(at0));
            vec4 y4;
            [[unroll]] for (uint k = 0; k < W; k++) {
                const float dy = dy4[k];
                const float weight = weight4[k];
                const float x = x4[k];
                const float x2 = x24[k];
                const float dx = r * (dy * weight - x * r * r * mean1);
                const float y = x2 + dx;
                y4[k] = y;
            }
            if (W == 4) setYs4(at0 / 4, y4);
            else setYs(at0, y4.x);
        }
    }
}
