#version 450
#extension GL_EXT_buffer_reference : require
// y = a + b over n elements through buffer addresses; b may be absent (address 0).
layout(local_size_x_id = 0) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer In { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { float v[]; };
layout(push_constant) uniform Push { In a; In b; Out y; uint n; uint second; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i >= n) return;
	float s = a.v[i];
	if (second != 0) s += b.v[i];
	y.v[i] = s;
}
