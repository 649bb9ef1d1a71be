#version 450
// y = scale * a + b over n elements, one per invocation, in a folded grid.
layout(local_size_x_id = 0) in;
layout(push_constant) uniform Push { uint n; float scale; };
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer Y { float y[]; };
void main() {
	uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
	uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
	if (i < n) y[i] = scale * a[i] + b[i];
}
