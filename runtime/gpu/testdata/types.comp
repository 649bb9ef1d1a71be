#version 450
// Writes what the runtime filled in: the storage types of bindings 0 and 1, and the first word of binding 1,
// which is optional.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint own = 7;
layout(constant_id = 100) const uint type0 = 99;
layout(constant_id = 101) const uint type1 = 99;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) readonly buffer Optional { uint o[]; };
layout(set = 0, binding = 2) writeonly buffer Out { uint y[]; };
void main() {
	y[0] = own;
	y[1] = type0;
	y[2] = type1;
	y[3] = x[0];
	y[4] = o[0];
}
