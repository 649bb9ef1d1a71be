// Tile machinery: a workgroup holds a tile of ROWS x COLS logits, lane (ty, tx) the 4 * HIGH rows from 4 *
// HIGH * ty and the 4 columns from 4 * tx. Operands pass through shared memory in chunks of DEPTH; at most 31
// KiB for HIGH * lanes = 256.
layout(constant_id = 0) const uint LANES = 128;
layout(constant_id = 5) const uint HIGH = 1;            // vec4s of rows per lane
const uint ROWS = LANES / 16 * 4 * HIGH, COLS = 64, DEPTH = 16, RS = ROWS / 4 + 1, CS = COLS / 4 + 1;
shared vec4 rowStage[DEPTH * RS];                       // [depth][row], padded against bank conflicts
shared vec4 colStage[DEPTH * CS];                       // [depth][column], or [depth][64 features]
shared vec4 weights[COLS * RS];                         // [column][row]
#define TX (gl_LocalInvocationID.x % 16)
#define TY (gl_LocalInvocationID.x / 16)
#define ROW(i) (TY * 4 * HIGH + (i))                    // of the lane's i-th row in the tile
const uint E64 = (E + 63) / 64, V64 = (V + 63) / 64; // a lane has 4 of each 64 features
