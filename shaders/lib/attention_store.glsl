// {{.name}}Store writes elements 4i .. 4i+3 of a row of {{.width}}, as many as the row has. An odd row is f32.
void {{.name}}Store(uint row, uint i, vec4 x) {
    if (WIDE) {{.set}}4(row * ({{.width}} / 4u) + i, x);
    else for (uint n = 0; n < 4; n++) if (4 * i + n < {{.width}}) {{.set}}(row * {{.width}} + 4 * i + n, x[n]);
}
