// Compiles wherever the other kernels do: subgroups, 16-bit storage, buffer addresses, integer dot products.
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_integer_dot_product : require

layout(local_size_x_id = 0) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Words { uvec4 v[]; };
layout(push_constant) uniform Push { Words words; uint n; };
layout(binding = 0) writeonly buffer Y { float16_t y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint sum = i < n ? dotEXT(unpack8(words.v[i].x), unpack8(words.v[i].y)) : 0u;
    y[i] = float16_t(subgroupAdd(float(sum)));
}
