#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// y[0] = subgroup size, y[1] = sum of 1 over the subgroup, through shared memory of 4 * shared words.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint words = 16;
shared uint tmp[words * 4];
layout(set = 0, binding = 0) writeonly buffer Y { uint y[]; };
void main() {
	uint one = subgroupAdd(1u);
	tmp[gl_LocalInvocationID.x] = one;
	barrier();
	if (gl_LocalInvocationID.x == 0) {
		y[0] = gl_SubgroupSize;
		y[1] = tmp[1];
	}
}
