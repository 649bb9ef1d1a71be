// {{.name}}Row reads elements 4i .. 4i+3 of a row of {{.width}}; those beyond the row are 0.
vec4 {{.name}}Row(uint row, uint i) {
    if (WIDE) return {{.name}}4(row * ({{.width}} / 4u) + i);
    vec4 x = vec4(0.0);
    for (uint n = 0; n < 4; n++) if (4 * i + n < {{.width}}) x[n] = {{.name}}(row * {{.width}} + 4 * i + n);
    return x;
}
