// Loads and sums of recurrences. A state is [loop, lane]: an invocation owns one column of the lane dimension and loops over the
// other in quads; past the end of a loop dimension that is no multiple of four the operands read as zero.
bool starts(uint row, uint t) { // of a packed sequence: the state before it does not count
    return t > 0 && seg[row] != 0 && seg[row - 1] != 0 && seg[row] != seg[row - 1];
}
vec4 expQuad(vec4 x) { return vec4(exp_(x.x), exp_(x.y), exp_(x.z), exp_(x.w)); }
float total(vec4 v) { return (v.x + v.y) + (v.z + v.w); }
// Products with the state take the present token apart, as (q . k) u: a norm behind the recurrence divides by what may be a
// small q . k, and rounding each k u before the sum would turn the direction of the result.
