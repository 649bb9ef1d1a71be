// {{.name}}At is features 4i .. 4i+3 of {{.name}} at place n of the {{.kind}}; 0 outside.
vec4 {{.name}}At(uint b, uint j, uint n, uint i) {
    if (4 * i >= {{.width}} || n >= {{.limit}}) return vec4(0.0);
    return {{.name}}Row({{.place}}(b, j, n), i);
}
