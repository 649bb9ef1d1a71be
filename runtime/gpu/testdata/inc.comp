#version 450
// x += step in place; one invocation walks over `each` elements.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint each = 1;
layout(push_constant) uniform Push { uint n; uint step; };
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() {
	uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
	uint from = (group * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * each;
	for (uint i = from; i < min(n, from + each); i++) x[i] += step;
}
