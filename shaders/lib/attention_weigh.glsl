// {{.into}} += {{.what}}: the tile {{.tile}}, laid out by column in shared memory, times 64 features at a time
    barrier();
    [[unroll]] for (uint g = 0; g < HIGH; g++) {
        [[unroll]] for (uint c = 0; c < 4; c++) {
            weights[(TX * 4 + c) * RS + TY * HIGH + g] =
                vec4({{.tile}}[4 * g][c], {{.tile}}[4 * g + 1][c], {{.tile}}[4 * g + 2][c], {{.tile}}[4 * g + 3][c]);
        }
    }
    for (uint c0 = 0; c0 < COLS; c0 += DEPTH) {
        [[unroll]] for (uint n = 0; n < {{.width}}64; n++) {
            barrier();
            for (uint i = gl_LocalInvocationID.x; i < DEPTH * 16; i += LANES) {
                colStage[i] = {{.col}}At(b, j, {{.col0}} + c0 + i / 16, 16 * n + i % 16);
            }
            barrier();
            for (uint c = 0; c < DEPTH; c++) {
                const vec4 y = colStage[c * 16 + TX];
                [[unroll]] for (uint g = 0; g < HIGH; g++) {
                    const vec4 w = weights[(c0 + c) * RS + TY * HIGH + g];
                    [[unroll]] for (uint i = 0; i < 4; i++) {
                        {{.into}}[(n * HIGH + g) * 4 + i] = fma(vec4(w[i]), y, {{.into}}[(n * HIGH + g) * 4 + i]);
                    }
                }
            }
        }
    }
