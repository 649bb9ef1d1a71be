// {{.into}} += {{.what}}: the tile's products over {{.width}} features, staged by chunks of DEPTH
    for (uint d0 = 0; d0 < {{.width}}; d0 += DEPTH) {
        barrier();
        for (uint i = gl_LocalInvocationID.x; i < ROWS * (DEPTH / 4); i += LANES) {
            const uint row = i / (DEPTH / 4), d = i % (DEPTH / 4);
            const vec4 x = {{.row}}At(b, j, {{.row0}} + row, d0 / 4 + d);
            [[unroll]] for (uint n = 0; n < 4; n++) rowStage[(4 * d + n) * RS + row / 4][row % 4] = x[n];
        }
        for (uint i = gl_LocalInvocationID.x; i < COLS * (DEPTH / 4); i += LANES) {
            const uint col = i / (DEPTH / 4), d = i % (DEPTH / 4);
            const vec4 x = {{.col}}At(b, j, {{.col0}} + col, d0 / 4 + d);
            [[unroll]] for (uint n = 0; n < 4; n++) colStage[(4 * d + n) * CS + col / 4][col % 4] = x[n];
        }
        barrier();
        for (uint d = 0; d < DEPTH; d++) {
            const vec4 y = colStage[d * CS + TX];
            [[unroll]] for (uint g = 0; g < HIGH; g++) {
                const vec4 x = rowStage[d * RS + TY * HIGH + g];
                [[unroll]] for (uint n = 0; n < 4; n++) {
                    {{.into}}[4 * g + n] = fma(vec4(x[n]), y, {{.into}}[4 * g + n]);
                }
            }
        }
    }
