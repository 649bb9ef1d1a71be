// Compiles where GL_KHR_cooperative_matrix and GL_EXT_bfloat16 are known.
#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { bfloat16_t a[]; };
layout(binding = 1) readonly buffer B { bfloat16_t b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };

void main() {
    coopmat<bfloat16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
    coopmat<bfloat16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(y, b, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
    sum = coopMatMulAdd(x, y, sum);
    coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
